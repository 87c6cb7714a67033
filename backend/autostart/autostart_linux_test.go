package autostart

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"countersign/backend/config"
)

func testSwitch(t *testing.T, programs string) (*Switch, string) {
	t.Helper()
	dir := t.TempDir()
	return &Switch{dirs: folders{config: dir, systemd: true}, programs: folder(programs)}, dir
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, p)
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSwitchingOnAndOffLeavesNothing(t *testing.T) {
	w, dir := testSwitch(t, "/usr/bin")
	on := Settings{Window: true, Serve: true, Restart: true}
	for range 2 {
		if err := w.Apply(on); err != nil {
			t.Fatal(err)
		}
	}
	want := "autostart/countersign.desktop systemd/user/countersign-login.service systemd/user/default.target.wants/countersign-login.service"
	if got := strings.Join(files(t, dir), " "); got != want {
		t.Errorf("entries: %s", got)
	}
	for range 2 {
		if err := w.Apply(Settings{Restart: true}); err != nil {
			t.Fatal(err)
		}
	}
	if left := files(t, dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestEntriesAreWhatTheNextLoginReads(t *testing.T) {
	for name, c := range map[string]struct {
		s             Settings
		systemd       bool
		window, serve string
	}{
		"nothing":                        {Settings{}, true, "", ""},
		"the window":                     {Settings{Window: true}, true, "autostart/countersign.desktop", ""},
		"the host":                       {Settings{Serve: true}, true, "", "systemd/user/default.target.wants/countersign-login.service"},
		"the host where systemd is not":  {Settings{Serve: true}, false, "", "autostart/countersign-serve.desktop"},
		"both, where systemd is not":     {Settings{Window: true, Serve: true}, false, "autostart/countersign.desktop", "autostart/countersign-serve.desktop"},
		"nothing, where systemd is not ": {Settings{}, false, "", ""},
	} {
		w, dir := testSwitch(t, "/usr/bin")
		// A login before had it the other way.
		w.dirs.systemd = !c.systemd
		if err := w.Apply(Settings{Window: true, Serve: true}); err != nil {
			t.Fatal(err)
		}
		w.dirs.systemd = c.systemd
		if err := w.Apply(c.s); err != nil {
			t.Fatal(err)
		}
		at := func(rel string) string {
			if rel == "" {
				return ""
			}
			return filepath.Join(dir, rel)
		}
		got, err := w.Entries()
		if want := (Entries{Window: at(c.window), Serve: at(c.serve)}); err != nil || got != want {
			t.Errorf("%s: %+v (%v), want %+v", name, got, err, want)
		}
		for _, left := range files(t, dir) {
			if left != c.window && left != c.serve && (c.serve == "" || left != "systemd/user/countersign-login.service" || !c.systemd) {
				t.Errorf("%s: %s is left behind", name, left)
			}
		}
	}
}

func TestTheUsualDataFolderIsNotNamed(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", "/data")
	s := config.Startup{ServeAtLogin: true, RestartAfterCrash: true}
	if got, want := For(s, "/data/countersign"), (Settings{Serve: true, Restart: true}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := For(s, "/elsewhere"), (Settings{Serve: true, Restart: true, Home: "/elsewhere"}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Only the desktop program has the guard; one that is not there must not keep the
// host from starting.
func TestTheGuardIsUsedOnlyWhereItIs(t *testing.T) {
	dir := t.TempDir()
	w, _ := testSwitch(t, dir)
	w.dirs.systemd = false
	for _, there := range []bool{false, true} {
		if there {
			if err := os.WriteFile(filepath.Join(dir, "countersign-desktop"), nil, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Apply(Settings{Serve: true, Restart: true}); err != nil {
			t.Fatal(err)
		}
		entry, err := os.ReadFile(w.dirs.serveEntry())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(entry), "--guard"); got != there {
			t.Errorf("guard there %t: the entry is\n%s", there, entry)
		}
	}
}

func TestRestartIsInBothEntriesOnlyWhenAskedFor(t *testing.T) {
	for _, restart := range []bool{true, false} {
		w, _ := testSwitch(t, "/usr/bin")
		if err := w.Apply(Settings{Window: true, Serve: true, Restart: restart}); err != nil {
			t.Fatal(err)
		}
		entry, err := os.ReadFile(w.dirs.entry())
		if err != nil {
			t.Fatal(err)
		}
		unit, err := os.ReadFile(w.dirs.unit())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(entry), "--guard"); got != restart {
			t.Errorf("restart %t: the desktop entry is\n%s", restart, entry)
		}
		if got := strings.Contains(string(unit), "Restart=on-failure"); got != restart {
			t.Errorf("restart %t: the unit is\n%s", restart, unit)
		}
	}
}

func TestPathsThatCannotBeWrittenAreRefused(t *testing.T) {
	w, dir := testSwitch(t, "/usr/bin")
	if err := w.Apply(Settings{Window: true, Serve: true, Home: "/a\nExec=/bin/evil"}); err == nil {
		t.Error("a path with a line break is accepted")
	}
	if left := files(t, dir); len(left) > 0 {
		t.Errorf("written all the same: %v", left)
	}
}

// The entry must start the program at any path; the desktop's own reader of such files is asked where there is one.
func TestQuotingSurvivesStrangePaths(t *testing.T) {
	argv := []string{`/opt/my "app"/50% $HOME/back\slash`, "--home", "/with space"}
	if got, want := desktopExec(argv), `"/opt/my \\"app\\"/50%% \\$HOME/back\\\\slash" "--home" "/with space"`; got != want {
		t.Errorf("desktop entry: %s\nwant:          %s", got, want)
	}
	if got, want := unitExec(argv), `"/opt/my \"app\"/50%% $$HOME/back\\slash" "--home" "/with space"`; got != want {
		t.Errorf("unit: %s\nwant: %s", got, want)
	}
	validate, err := exec.LookPath("desktop-file-validate")
	if err != nil {
		t.Log("desktop-file-validate is not here; the strings above are checked alone")
		return
	}
	w, _ := testSwitch(t, argv[0])
	if err := w.Apply(Settings{Window: true, Home: "/with space"}); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), validate, w.dirs.entry()).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}
