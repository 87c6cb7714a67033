package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	ossignal "os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/app/traymsg"
)

// The test binary plays the helper when this variable names a part.
const playHelper = "COUNTERSIGN_TEST_HELPER"

func TestMain(m *testing.M) {
	if part := os.Getenv(playHelper); part != "" {
		os.Exit(helper(part))
	}
	os.Exit(m.Run())
}

// helper answers each menu line with a click that names the first waiting approval and this process, so that the test
// sees what arrived and where.
func helper(part string) int {
	out := traymsg.NewWriter(os.Stdout)
	in := traymsg.NewReader(os.Stdin)
	say := func(l traymsg.Line) {
		if err := out.Write(l); err != nil {
			os.Exit(1)
		}
	}
	if part == "babble" {
		fmt.Println("this is no line")
		hang()
	}
	say(traymsg.Line{Ready: &traymsg.Ready{Watcher: true}})
	for {
		line, err := in.Read()
		if err != nil {
			if part == "stubborn" {
				hang()
			}
			return 0
		}
		if line.Menu != nil && len(line.Menu.Waiting) > 0 {
			say(traymsg.Line{Click: &traymsg.Click{
				Kind: traymsg.Show, ID: line.Menu.Waiting[0].ID, Nonce: fmt.Sprint(os.Getpid()),
			}})
		}
	}
}

// hang waits for ever. An empty select would not: the runtime ends a program in which nothing can happen any more.
func hang() {
	never := make(chan os.Signal, 1)
	ossignal.Notify(never, os.Interrupt)
	<-never
}

type trayProbe struct {
	clicks   chan traymsg.Click
	watching chan bool
	tray     *tray
	stopped  chan struct{}
	stop     context.CancelFunc
}

func startTray(t *testing.T, part string) *trayProbe {
	t.Helper()
	t.Setenv(playHelper, part)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &trayProbe{clicks: make(chan traymsg.Click, 100), watching: make(chan bool, 100), stopped: make(chan struct{})}
	p.tray = newTray(self, slog.New(slog.DiscardHandler),
		func(c traymsg.Click) { p.clicks <- c }, func(on bool) { p.watching <- on })
	ctx, cancel := context.WithCancel(t.Context())
	p.stop = cancel
	go func() { p.tray.run(ctx); close(p.stopped) }()
	t.Cleanup(func() { cancel(); <-p.stopped })
	return p
}

func within[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("no %s within 20 s", what)
		panic("unreachable")
	}
}

func waitingFor(id string) View {
	return View{Menu: traymsg.Menu{Waiting: []traymsg.Waiting{{ID: id, What: "ls"}}}}
}

func TestKilledHelperComesBackAndKnowsWhatWaits(t *testing.T) {
	p := startTray(t, "good")
	if !within(t, p.watching, "word of the tray") {
		t.Fatal("the helper says there is no tray")
	}
	p.tray.update(waitingFor("a1"))
	first := within(t, p.clicks, "click")
	if first.ID != "a1" {
		t.Errorf("the helper was told of %q", first.ID)
	}
	var pid int
	if _, err := fmt.Sscan(first.Nonce, &pid); err != nil {
		t.Fatal(err)
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	if within(t, p.watching, "word that the tray is down") {
		t.Error("a killed helper still watches")
	}
	if !within(t, p.watching, "word of the new tray") {
		t.Error("the new helper says there is no tray")
	}
	second := within(t, p.clicks, "click of the new helper")
	if second.ID != "a1" || second.Nonce == first.Nonce {
		t.Errorf("new helper: %+v, killed one: %+v", second, first)
	}
}

func TestStopEndsTheHelperEvenAStubbornOne(t *testing.T) {
	for _, part := range []string{"good", "stubborn"} {
		t.Run(part, func(t *testing.T) {
			p := startTray(t, part)
			p.tray.update(waitingFor("a1"))
			pid := within(t, p.clicks, "click").Nonce
			began := time.Now()
			p.stop()
			<-p.stopped
			if took := time.Since(began); took > 2*trayGrace+time.Second {
				t.Errorf("stopping took %s", took)
			}
			if _, err := os.Stat(filepath.Join("/proc", pid)); err == nil {
				t.Errorf("process %s is still there", pid)
			}
		})
	}
}

func TestBabblingHelperIsReplaced(t *testing.T) {
	p := startTray(t, "babble")
	if within(t, p.watching, "word that the tray is down") {
		t.Error("a helper that makes no sense is believed")
	}
	within(t, p.watching, "second end")
}

func TestHelperLiesBesideTheProgram(t *testing.T) {
	got, err := trayProgram()
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(got) != filepath.Dir(self) || !strings.HasPrefix(filepath.Base(got), "countersign-tray") {
		t.Errorf("the helper is looked for at %s", got)
	}
}
