package workspace_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"countersign/backend/workspace"
)

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func load(t *testing.T, dir string) []workspace.File {
	t.Helper()
	files, err := workspace.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestFilesComeInTheOrderOfThePrompt(t *testing.T) {
	dir := folder(t, map[string]string{
		"MEMORY.md": "7", "BOOTSTRAP.md": "6", "TOOLS.md": "5", "USER.md": "4", "IDENTITY.md": "3", "SOUL.md": "2", "AGENTS.md": "1",
		"OTHER.md": "not read", "README.md": "nor this",
	})
	var names, texts []string
	for _, f := range load(t, dir) {
		names, texts = append(names, f.Name), append(texts, f.Text)
	}
	want := []string{"AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md", "BOOTSTRAP.md", "MEMORY.md"}
	if !slices.Equal(names, want) || !slices.Equal(texts, []string{"1", "2", "3", "4", "5", "6", "7"}) {
		t.Errorf("got %v %v", names, texts)
	}
}

func TestMissingAndEmptyFilesAreLeftOut(t *testing.T) {
	if got := load(t, folder(t, map[string]string{"SOUL.md": " \n\t\r\n", "USER.md": "", "TOOLS.md": "\n x \n"})); len(got) != 1 || got[0].Text != "x" || got[0].Cut {
		t.Errorf("got %+v", got)
	}
	if got := load(t, t.TempDir()); len(got) != 0 {
		t.Errorf("an empty folder gave %+v", got)
	}
	if _, err := workspace.Load(filepath.Join(t.TempDir(), "gone")); err == nil {
		t.Error("a folder that is not there was read")
	}
}

func TestOneFileIsCutAtACharacter(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		cut              bool
	}{
		{"exactly full", strings.Repeat("a", workspace.MaxFile), strings.Repeat("a", workspace.MaxFile), false},
		{"full, with an end of line", strings.Repeat("a", workspace.MaxFile) + "\n", strings.Repeat("a", workspace.MaxFile), false},
		{"one more", strings.Repeat("a", workspace.MaxFile+1), strings.Repeat("a", workspace.MaxFile), true},
		{"much more", strings.Repeat("a", 5*workspace.MaxFile), strings.Repeat("a", workspace.MaxFile), true},
		{"two bytes across the end", strings.Repeat("a", workspace.MaxFile-1) + "ä", strings.Repeat("a", workspace.MaxFile-1), true},
		{"three bytes across the end", strings.Repeat("a", workspace.MaxFile-2) + "€", strings.Repeat("a", workspace.MaxFile-2), true},
		{"four bytes across the end", strings.Repeat("a", workspace.MaxFile-3) + "🦊", strings.Repeat("a", workspace.MaxFile-3), true},
		{"four bytes before the end", strings.Repeat("a", workspace.MaxFile-4) + "🦊b", strings.Repeat("a", workspace.MaxFile-4) + "🦊", true},
		// A file in another encoding: one wrong byte at its beginning costs that byte.
		{"a wrong byte early", "caf\xe9 " + strings.Repeat("a", 2*workspace.MaxFile), "caf� " + strings.Repeat("a", workspace.MaxFile-7), true},
		{"a wrong byte, short", "caf\xe9", "caf�", false},
		{"a mark of byte order", "\ufeffhello", "hello", false},
	} {
		got := load(t, folder(t, map[string]string{"SOUL.md": c.text}))
		if len(got) != 1 || got[0].Text != c.want || got[0].Cut != c.cut {
			t.Errorf("%s: %d bytes, cut %v; want %d, %v", c.name, len(got[0].Text), got[0].Cut, len(c.want), c.cut)
		}
	}
}

func TestAllFilesTogetherAreCutAndNoneVanishesUnseen(t *testing.T) {
	full := strings.Repeat("ä", workspace.MaxFile)
	files := load(t, folder(t, map[string]string{
		"AGENTS.md": full, "SOUL.md": full, "IDENTITY.md": strings.Repeat("b", 19_000), "USER.md": full, "TOOLS.md": "never seen", "MEMORY.md": " ",
	}))
	all, names := 0, []string{}
	for _, f := range files {
		all += len(f.Text)
		names = append(names, f.Name)
		if !utf8.ValidString(f.Text) || f.Cut != (f.Name != "IDENTITY.md") {
			t.Errorf("%s has %d bytes, cut %v", f.Name, len(f.Text), f.Cut)
		}
	}
	if all != workspace.MaxAll || !slices.Equal(names, []string{"AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md"}) {
		t.Errorf("%v have %d bytes, want %d", names, all, workspace.MaxAll)
	}
	if last := files[len(files)-1]; last.Text != "" {
		t.Errorf("beyond the limit came %q", last.Text)
	}
}
