package notify_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"countersign/app/notify"
	"countersign/app/windowtest/screen"
)

func start(t *testing.T, capabilities ...string) (notify.Notifier, *screen.Notes, chan string) {
	t.Helper()
	bus := screen.StartBus(t)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", bus)
	service := screen.StartNotes(t, bus, capabilities...)
	opened := make(chan string, 10)
	n := notify.New(slog.New(slog.DiscardHandler), func(key string) { opened <- key })
	t.Cleanup(n.Stop)
	return n, service, opened
}

func show(t *testing.T, n notify.Notifier, note notify.Notification) {
	t.Helper()
	if err := n.Show(t.Context(), note); err != nil {
		t.Fatal(err)
	}
}

func TestApprovalStaysUntilItIsClosed(t *testing.T) {
	n, service, _ := start(t, "actions", "body")
	show(t, n, notify.Notification{Key: "a", Title: "Your agent asks", Body: "rm <b>x</b> & y", Stay: true})
	shown := service.Shown()
	if len(shown) != 1 {
		t.Fatalf("%d on screen, want 1", len(shown))
	}
	got := shown[0]
	if got.Urgency != 2 || got.Expiry != 0 || got.Body != "rm <b>x</b> & y" || strings.Join(got.Actions, ",") != "default,Show,show,Show" {
		t.Errorf("%+v", got)
	}
	for range 2 { // closing what is gone is fine
		if err := n.Close(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	}
	if left := service.Shown(); len(left) != 0 {
		t.Errorf("still on screen: %+v", left)
	}
}

func TestSameKeyReplacesAndOthersStandBeside(t *testing.T) {
	n, service, _ := start(t)
	show(t, n, notify.Notification{Key: "a", Body: "one"})
	show(t, n, notify.Notification{Key: "a", Body: "two"})
	show(t, n, notify.Notification{Key: "b", Body: "three"})
	if got := len(service.Shown()); got != 2 {
		t.Errorf("%d on screen, want 2", got)
	}
	if got := service.Shown()[0].Actions; len(got) != 0 {
		t.Errorf("actions %v for a service without them", got)
	}
	n.Stop()
	if left := service.Shown(); len(left) != 0 {
		t.Errorf("left after Stop: %+v", left)
	}
}

func TestTextIsNeverMarkup(t *testing.T) {
	n, service, _ := start(t, "body-markup")
	show(t, n, notify.Notification{Key: "a", Body: `<img src="x"> & y`})
	if got, want := service.Shown()[0].Body, "&lt;img src=&#34;x&#34;&gt; &amp; y"; got != want {
		t.Errorf("body %q, want %q", got, want)
	}
}

func TestActionOpensItsApproval(t *testing.T) {
	n, service, opened := start(t, "actions")
	show(t, n, notify.Notification{Key: "a"})
	show(t, n, notify.Notification{Key: "b"})
	for _, note := range service.Shown() {
		service.Invoke(note.ID, "show")
	}
	got := map[string]bool{}
	for range 2 {
		select {
		case key := <-opened:
			got[key] = true
		case <-time.After(10 * time.Second):
			t.Fatalf("only %v was opened", got)
		}
	}
	if !got["a"] || !got["b"] {
		t.Errorf("opened %v", got)
	}
}

func TestNobodyToShowIt(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", screen.StartBus(t))
	silent := notify.New(slog.New(slog.DiscardHandler), func(string) {})
	defer silent.Stop()
	if err := silent.Show(t.Context(), notify.Notification{Key: "a"}); !errors.Is(err, notify.ErrUnavailable) {
		t.Errorf("without a service: %v, want ErrUnavailable", err)
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "disabled:")
	busless := notify.New(slog.New(slog.DiscardHandler), func(string) {})
	defer busless.Stop()
	if err := busless.Show(t.Context(), notify.Notification{Key: "a"}); !errors.Is(err, notify.ErrUnavailable) {
		t.Errorf("without a bus: %v, want ErrUnavailable", err)
	}
}
