package tooltest

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"countersign/backend/protocol"
	"countersign/backend/tool"
)

// shapes are paths that lead out of the folders, or to what is no file, each on
// a ground where prepare has put its links.
func shapes(g *Ground) []string {
	out := []string{
		"..", "../", "../outside", "../outside/in.txt", "./../outside/in.txt", "sub/../../outside/in.txt", "sub/deep/../../../outside/in.txt",
		"//../outside/in.txt", "sub//..//..//outside/in.txt", "/", "/etc/passwd", "/etc", "/root", "/tmp", g.Base, g.Outside, g.Secret,
		g.Workspace + "/../outside/in.txt", g.Workspace + "/sub/../../outside/in.txt", g.Workspace + "x/in.txt", g.Workspace + "-old/in.txt",
		filepath.Dir(g.Base), "/proc/self/environ", "/proc/self/root/etc/passwd", "/proc/self/cwd", "/dev/null", "/dev/stdin", "/dev/fd/0",
		"/sys/kernel", g.Added + "/../outside/in.txt", g.Data, g.Data + "/state.db", "data", "data/state.db", "data/../data/state.db",
		"sub/../data/state.db", "~", "~/in.txt", "~root/.bashrc", "$HOME/../in.txt/..", "\\..\\outside\\in.txt/../../../outside/in.txt",
		"a\x00b", "in\n.txt", "\u202e", "", " ", "..\x00/outside", strings.Repeat("../", 200) + "etc/passwd",
		strings.Repeat("a/", 3000), strings.Repeat("n", 300),
	}
	for name := range links(g) {
		out = append(out, name, name+"/in.txt", name+"/sub/in.txt", name+"/../outside/in.txt", name+"/new.txt")
	}
	return append(out, "fifo", "socket", "fifo/in.txt", "socket/x")
}

// links leave in every way a link can.
func links(g *Ground) map[string]string {
	return map[string]string{
		"l-abs": g.Outside, "l-rel": "../outside", "l-file": g.Secret, "l-relfile": "../outside/in.txt", "l-up": "..", "l-root": "/",
		"l-proc": "/proc/self", "l-dev": "/dev", "l-chain": "l-chain2", "l-chain2": "l-abs", "l-dangling": "../outside/none",
		"l-loop": "l-loop", "l-data": "data", "l-dots": "sub/../../outside", "l-null": "/dev/null", "sub/l-deep": "../../outside",
	}
}

func prepare(t testing.TB, g *Ground) {
	for name, target := range links(g) {
		g.Link(target, name)
	}
	if err := makeFifo(filepath.Join(g.Workspace, "fifo")); err != nil {
		t.Logf("no pipe here: %v", err)
	}
	// The path of a socket is short on every system, so it is made by its name.
	t.Chdir(g.Workspace)
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", "socket")
	if err != nil {
		t.Logf("no socket here: %v", err)
		return
	}
	t.Cleanup(func() { _ = l.Close() })
}

// lawful are shapes that stay inside after all: "l-up/ws"-like detours do not
// occur among them, only links and dots whose end is within the workspace.
func lawful(g *Ground, path string) bool {
	clean := filepath.Clean(path)
	return clean == "." || strings.HasPrefix(clean, g.Workspace+"/sub")
}

func checkShapes(t testing.TB, s Subject) {
	if s.PathArgs == nil {
		return
	}
	g := NewGround(t)
	prepare(t, g)
	before, tried := g.Tree(), 0
	for _, path := range shapes(g) {
		if lawful(g, path) {
			continue
		}
		if path == "" && s.Folder {
			continue // means the workspace
		}
		tried++
		one, p, err := plan(s, g, s.PathArgs(path))
		if err != nil {
			var argument *tool.ArgumentError
			var denied *tool.DeniedError
			if !errors.As(err, &argument) && !errors.As(err, &denied) {
				t.Errorf("%q: a fault instead of a refusal: %v", path, err)
			}
			if strings.Contains(err.Error(), Canary) {
				t.Errorf("%q: the refusal tells what is outside: %v", path, err)
			}
			continue
		}
		t.Errorf("%q was planned: %+v", path, p.Paths)
		r, _ := one.Do(context.Background(), g.Env, p, nil)
		if strings.Contains(r.Content, Canary) {
			t.Errorf("%q shows what is outside", path)
		}
	}
	if diff := before.Diff(g.Tree()); diff != "" {
		t.Errorf("the disk changed: %s", diff)
	}
	const fewest = 40
	if tried < fewest {
		t.Errorf("only %d shapes were tried", tried)
	}
	checkReadOnly(t, s)
}

// checkReadOnly demands that a folder that may only be read stays so.
func checkReadOnly(t testing.TB, s Subject) {
	if !s.Writes {
		return
	}
	g := NewGround(t)
	for _, path := range []string{g.Shelf + "/book.txt", g.Shelf + "/new.txt"} {
		_, _, err := plan(s, g, s.PathArgs(path))
		var denied *tool.DeniedError
		if !errors.As(err, &denied) || denied.Clause != tool.ClauseReadOnlyFolder {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// rounds is how often a link is swapped in between Plan and Do.
const rounds = 500

// raceRounds is how often it is swapped at any moment.
const raceRounds = 150

// checkSwaps swaps a folder, or the file in it, for a link to the outside: first
// exactly between Plan and Do, then at any moment from another goroutine.
func checkSwaps(t testing.TB, s Subject) {
	if s.PathArgs == nil {
		return
	}
	g := NewGround(t)
	before := g.OutsideTree()
	swaps := []swap{{g: g, name: "swap", target: g.Outside + "/swap"}}
	if !s.Folder {
		swaps = append(swaps, swap{g: g, name: "swap/in.txt", target: g.Secret})
	}
	for round := range rounds {
		w := swaps[round%len(swaps)]
		one, p, err := plan(s, g, s.PathArgs(s.swapPath()))
		if err != nil {
			t.Errorf("round %d: %v", round, err)
			return
		}
		w.out()
		r, err := one.Do(context.Background(), g.Env, p, nil)
		w.back()
		if !errors.Is(err, tool.ErrPlanChanged) {
			t.Errorf("round %d: %q %v", round, r.Content, err)
			return
		}
	}
	done := 0
	for _, w := range swaps {
		done += race(t, s, g, w)
	}
	if done == 0 {
		t.Errorf("no call came through between the swaps, so the race proves nothing")
	}
	if diff := before.Diff(g.OutsideTree()); diff != "" {
		t.Errorf("something was written outside: %s", diff)
	}
}

// race runs Plan and Do while the swap goes on, and returns how many calls came
// through.
func race(t testing.TB, s Subject, g *Ground, w swap) (done int) {
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for pause := 0; ; pause = (pause + 1) % 64 {
			select {
			case <-stop:
				return
			default:
			}
			w.out()
			w.back()
			// Looking takes as long as a step of the tool does, so that the exchange
			// falls between different steps each time.
			for range pause {
				_, _ = os.Lstat(w.path())
			}
		}
	})
	defer swapper.Wait()
	defer close(stop)
	for round := 0; round < raceRounds || done == 0 && round < 50*raceRounds; round++ {
		one, p, err := plan(s, g, s.PathArgs(s.swapPath()))
		if err != nil {
			continue
		}
		r, err := one.Do(context.Background(), g.Env, p, nil)
		if strings.Contains(r.Content, Canary) {
			t.Errorf("round %d shows what is outside: %q", round, r.Content)
		}
		if err == nil && (r.Outcome == protocol.OutcomeDone || r.Outcome == "") {
			done++
		}
	}
	return done
}

// swap exchanges a name of the workspace for a link and back.
type swap struct {
	g      *Ground
	name   string
	target string
}

func (w swap) path() string { return filepath.Join(w.g.Workspace, w.name) }

// out and back go on after an error: a writer may have put a new file in place
// in between, which is what the race is about.
func (w swap) out() {
	_ = os.Rename(w.path(), w.path()+".kept")
	_ = os.Symlink(w.target, w.path())
}

func (w swap) back() {
	if info, err := os.Lstat(w.path()); err == nil && info.Mode()&os.ModeSymlink != 0 {
		_ = os.Remove(w.path())
	}
	_ = os.Rename(w.path()+".kept", w.path())
}

// Args writes JSON arguments from names and values.
func Args(pairs ...any) string {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
