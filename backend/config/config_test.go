package config_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"countersign/backend/config"
)

const annotated = `// my settings
{
  /* the one at home */
  "models": [
    // local
    {"name": "llama", "provider": "openai", "baseUrl": "http://127.0.0.1:11434/v1", "noKey": true, "colour": "blue"}, // fast
    {"name": "claude", "provider": "anthropic", "model": "m", "secretName": "model/claude"} // clever
  ],
  "ceilings": {"modelCalls": 12, "later": {"a": 1}}, // low on purpose
  "future": [1, 2, {"x": null}],
  "appearance": {"theme": "dark"}
}
`

func write(t *testing.T, dir, text string) string {
	t.Helper()
	path := filepath.Join(dir, config.FileName)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, dir string) (*config.File, config.Problems) {
	t.Helper()
	f, problems, err := config.Load(dir)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return f, problems
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestLoadWithoutAFileGivesDefaultsAndWritesNothing(t *testing.T) {
	dir := t.TempDir()
	f, problems := load(t, dir)
	if len(problems) != 0 || !reflect.DeepEqual(f.Current(), config.Default()) {
		t.Fatalf("problems %v, config %+v", problems, f.Current())
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 0 {
		t.Fatalf("boot wrote %v (%v)", entries, err)
	}
	c := f.Current().Ceilings
	if c.ModelCalls != 50 || c.ToolCalls != 200 || c.WallTime.Duration() != time.Hour {
		t.Fatalf("default ceilings %+v", c)
	}
}

func TestUpdateKeepsCommentsUnknownKeysAndOrder(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, annotated)
	f, _ := load(t, dir)
	_, err := f.Update(context.Background(), func(c *config.Config) error {
		c.Ceilings.ModelCalls = 13
		c.Ceilings.WallTime = config.Seconds(90 * time.Second)
		c.Exec.Network = true
		c.Models[1].Model = "newer"
		c.Models = append(c.Models, config.Model{Name: "practice", Provider: "practice", NoKey: true})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got := read(t, path)
	for _, want := range []string{
		"// my settings", "/* the one at home */", "// local", "// fast", "// clever", "// low on purpose",
		`"colour": "blue"`, `"later": {"a": 1}`, `"future": [1, 2, {"x": null}]`,
		`"modelCalls": 13`, `"wallTimeSeconds": 90`, `"model": "newer"`, `"name": "practice"`, `"network": true`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing from\n%s", want, got)
		}
	}
	if strings.Index(got, `"ceilings"`) > strings.Index(got, `"future"`) {
		t.Errorf("order changed:\n%s", got)
	}
	again, problems := load(t, dir)
	if !reflect.DeepEqual(again.Current(), f.Current()) {
		t.Errorf("read back %+v, want %+v", again.Current(), f.Current())
	}
	if len(problems) != 3 {
		t.Errorf("want three unknown keys, got %v", problems)
	}
}

func TestUpdateTouchesOnlyWhatChanged(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, annotated)
	f, _ := load(t, dir)
	if _, err := f.Update(context.Background(), func(c *config.Config) error { c.Ceilings.ModelCalls = 7; return nil }); err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(annotated, `"modelCalls": 12`, `"modelCalls": 7`, 1); read(t, path) != want {
		t.Fatalf("got\n%s\nwant\n%s", read(t, path), want)
	}
}

func TestModelsCanBeRemovedAndReorderedWithTheirComments(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, annotated)
	f, _ := load(t, dir)
	if _, err := f.Update(context.Background(), func(c *config.Config) error {
		c.Models[0], c.Models[1] = c.Models[1], c.Models[0]
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	got := read(t, path)
	if strings.Index(got, "claude") > strings.Index(got, "llama") || !strings.Contains(got, `"colour"`) {
		t.Fatalf("after reorder:\n%s", got)
	}
	if _, err := f.Update(context.Background(), func(c *config.Config) error { c.Models = nil; return nil }); err != nil {
		t.Fatalf("removing the owner's models: %v", err)
	}
	if got := read(t, path); strings.Contains(got, "llama") || strings.Contains(got, "claude") || !strings.Contains(got, "// low on purpose") {
		t.Fatalf("after removal:\n%s", got)
	}
}

func TestProblemsNamePathAndLine(t *testing.T) {
	cases := []struct {
		name, text, path string
		line             int
		words            string
		check            func(config.Config) bool
	}{
		{"unknown at the top", "{\n\"foo\": 1}", "foo", 2, "not known", nil},
		{"unknown in a group", "{\n\n\"ceilings\": {\n\"foo\": 1}}", "ceilings.foo", 4, "not known", nil},
		{"unknown in a model", "{\"models\": [{\"name\":\"a\",\"provider\":\"practice\",\n\"foo\": 1}]}", "models[0].foo", 2, "not known", nil},
		{"misspelt", "{\"FirstRunDone\": true}", "FirstRunDone", 1, "Did you mean \"firstRunDone\"", nil},
		{"wrong leaf", "{\"ceilings\":\n{\"modelCalls\": \"many\", \"toolCalls\": 9}}", "ceilings.modelCalls", 2, "50 is used",
			func(c config.Config) bool { return c.Ceilings.ModelCalls == 50 && c.Ceilings.ToolCalls == 9 }},
		{"wrong group", "{\n\"ceilings\": 5, \"firstRunDone\": true}", "ceilings", 2, "defaults",
			func(c config.Config) bool { return c.Ceilings == config.Default().Ceilings && c.FirstRunDone }},
		{"wrong list", "{\"models\": {}}", "models", 1, "empty list", nil},
		{"wrong root", "[]", "config.json", 1, "defaults", nil},
		{"fraction", "{\"ceilings\": {\"toolCalls\": 1.5}}", "ceilings.toolCalls", 1, "whole number", nil},
		{"out of range", "{\n\"exec\": {\"timeoutSeconds\": 0}}", "exec.timeoutSeconds", 2, "600 is used",
			func(c config.Config) bool { return c.Exec == config.Default().Exec }},
		{"open to others", "{\"gateway\": {\"listen\": \"0.0.0.0:80\"}}", "gateway.listen", 1, "Only this computer",
			func(c config.Config) bool { return c.Gateway.Listen == "" }},
		{"bad model", "{\"models\": [{\"name\":\"a\",\"provider\":\"x\"},\n{\"name\":\"b\",\"provider\":\"practice\"}]}", "models[0].provider", 1, "left out",
			func(c config.Config) bool { return len(c.Models) == 1 && c.Models[0].Name == "b" }},
		{"twice", "{\"firstRunDone\": false,\n\"firstRunDone\": true}", "firstRunDone", 2, "twice",
			func(c config.Config) bool { return c.FirstRunDone }},
		{"broken", "{\n\"a\": \n}", "config.json", 3, "defaults", nil},
		{"empty", "", "config.json", 1, "defaults", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := write(t, dir, c.text)
			f, problems := load(t, dir)
			if len(problems) != 1 {
				t.Fatalf("want one problem, got %v", problems)
			}
			p := problems[0]
			if p.Path != c.path || p.Line != c.line || !strings.Contains(p.String(), c.words) || p.Remedy == "" {
				t.Errorf("got %+v", p)
			}
			if c.check != nil && !c.check(f.Current()) {
				t.Errorf("config %+v", f.Current())
			}
			if read(t, path) != c.text {
				t.Error("loading changed the file")
			}
		})
	}
}

func TestAHundredMutatedFilesAllStart(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 400 {
		dir := t.TempDir()
		b := []byte(annotated)
		for range 1 + rng.IntN(6) {
			switch i := rng.IntN(len(b)); rng.IntN(4) {
			case 0:
				b[i] = byte(rng.IntN(256))
			case 1:
				b = append(b[:i:i], b[min(i+rng.IntN(20), len(b)):]...)
			case 2:
				b = append(b[:i:i], append([]byte(`"foo": 1,`), b[i:]...)...)
			default:
				b = append(b[:i:i], append([]byte{`{}[],:"1/`[rng.IntN(9)]}, b[i:]...)...)
			}
			if len(b) == 0 {
				b = []byte("{")
			}
		}
		path := write(t, dir, string(b))
		f, problems := load(t, dir)
		for _, p := range problems {
			if p.Path == "" || p.Line == 0 || p.Sentence == "" || p.Remedy == "" {
				t.Fatalf("incomplete problem %+v for\n%s", p, b)
			}
		}
		if read(t, path) != string(b) {
			t.Fatal("loading changed the file")
		}
		// Whatever was loaded is acceptable and can be changed and read back.
		_, err := f.Update(context.Background(), func(c *config.Config) error { c.Ceilings.ToolCalls = 77; return nil })
		if errors.Is(err, config.ErrUnreadable) {
			if read(t, path) != string(b) {
				t.Fatal("a broken file was changed")
			}
			continue
		}
		if err != nil {
			t.Fatalf("update of\n%s\n%v", b, err)
		}
		if again, _ := load(t, dir); again.Current().Ceilings.ToolCalls != 77 {
			t.Fatalf("lost the change in\n%s", read(t, path))
		}
	}
}

func TestABrokenFileIsLeftAloneAndCanBeRestored(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, annotated)
	f, _ := load(t, dir)
	ctx := context.Background()
	if _, err := f.Update(ctx, func(c *config.Config) error { c.FirstRunDone = true; return nil }); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "{ broken")
	if _, err := f.Update(ctx, func(c *config.Config) error { c.FirstRunDone = false; return nil }); !errors.Is(err, config.ErrUnreadable) {
		t.Fatalf("got %v", err)
	}
	if read(t, path) != "{ broken" {
		t.Fatal("the broken file was changed")
	}
	c, err := f.Restore(ctx, 1)
	if err != nil || c.Ceilings.ModelCalls != 12 {
		t.Fatalf("restored %+v, %v", c, err)
	}
	if read(t, path) != annotated || read(t, path+".1") != "{ broken" {
		t.Fatal("the earlier version is not back, or the broken one is lost")
	}
}

func TestReplacingAModelOfTheSameNameKeepsItsUnknownKeys(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, `{"models":[{"name":"a","provider":"practice","x1":1,"x2":1}]}`)
	f, _ := load(t, dir)
	_, err := f.Update(context.Background(), func(c *config.Config) error {
		c.Models = []config.Model{{Name: "a", Provider: "openai"}}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); !strings.Contains(got, `"x2":1`) || !strings.Contains(got, `"openai"`) {
		t.Fatalf("got %s", got)
	}
}

func TestUpdateRefusesToLoseMostKeys(t *testing.T) {
	for _, text := range []string{
		`[{"models": [], "ceilings": {"a": 1, "b": 2}, "x": {"c": 1, "d": 2, "e": 3, "f": 4}}]`,
		`{"ceilings": [{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7, "h": 8, "i": 9}]}`,
	} {
		dir := t.TempDir()
		path := write(t, dir, text)
		f, _ := load(t, dir)
		_, err := f.Update(context.Background(), func(c *config.Config) error { c.Ceilings.ModelCalls = 3; return nil })
		if !errors.Is(err, config.ErrTooMuchLost) || read(t, path) != text {
			t.Errorf("%v, file %s", err, read(t, path))
		}
	}
}

func TestUpdateValidatesAndNamesPathAndRemedy(t *testing.T) {
	dir := t.TempDir()
	f, _ := load(t, dir)
	_, err := f.Update(context.Background(), func(c *config.Config) error {
		c.Ceilings.ModelCalls = 0
		c.Models = []config.Model{{Name: "a", Provider: "openai", BaseURL: "http://user:pw@host/"}}
		return nil
	})
	var invalid *config.ValidationError
	if !errors.As(err, &invalid) || len(invalid.Problems) != 2 {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"ceilings.modelCalls", "Choose from 1", "models[0].baseUrl", "keychain"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing from %q", want, err)
		}
	}
	if _, err := os.Stat(f.Path()); !os.IsNotExist(err) {
		t.Error("an invalid configuration was written")
	}
}

func TestUpdateTakesHandMadeEditsMadeMeanwhile(t *testing.T) {
	dir := t.TempDir()
	f, _ := load(t, dir)
	write(t, dir, annotated)
	c, err := f.Update(context.Background(), func(c *config.Config) error { c.FirstRunDone = true; return nil })
	if err != nil || c.Ceilings.ModelCalls != 12 || !c.FirstRunDone {
		t.Fatalf("%+v, %v", c, err)
	}
}

func TestFiveEarlierVersionsStayAndAllArePrivate(t *testing.T) {
	dir := t.TempDir()
	f, _ := load(t, dir)
	for i := range 9 {
		if _, err := f.Update(context.Background(), func(c *config.Config) error { c.Ceilings.ToolCalls = 100 + i; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 6 {
		t.Fatalf("%v, %v", entries, err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v (%v)", e.Name(), info.Mode(), err)
		}
	}
	for n := 1; n <= 5; n++ {
		if want := fmt.Sprintf(`"toolCalls": %d`, 108-n); !strings.Contains(read(t, fmt.Sprintf("%s.%d", f.Path(), n)), want) {
			t.Errorf("version %d lacks %s", n, want)
		}
	}
}

func TestWatchersHearOfEachUpdateUntilCancelled(t *testing.T) {
	f, _ := load(t, t.TempDir())
	var heard []int
	cancel := f.Watch(func(c config.Config) { heard = append(heard, c.Ceilings.ToolCalls) })
	set := func(n int) {
		t.Helper()
		if _, err := f.Update(context.Background(), func(c *config.Config) error { c.Ceilings.ToolCalls = n; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	set(1)
	set(2)
	cancel()
	set(3)
	if !reflect.DeepEqual(heard, []int{1, 2}) {
		t.Fatalf("heard %v", heard)
	}
}

func TestALinkStaysALink(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	real := write(t, elsewhere, annotated)
	if err := os.Symlink(real, filepath.Join(dir, config.FileName)); err != nil {
		t.Fatal(err)
	}
	f, _ := load(t, dir)
	if _, err := f.Update(context.Background(), func(c *config.Config) error { c.FirstRunDone = true; return nil }); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(f.Path()); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Fatalf("%v, %v", info, err)
	}
	if !strings.Contains(read(t, real), "firstRunDone") {
		t.Fatal("the file behind the link was not changed")
	}
}
