package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"countersign/backend/host"
)

// A host that starts by itself is found where the settings say, and a flag goes
// before them.
func TestThePortOfTheSettingsStaysWithoutAFlag(t *testing.T) {
	home := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "config.json"), []byte(`{"gateway": {"listen": "127.0.0.1:0"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(t.Context(), host.Options{Home: home, Version: "test", Logger: slog.New(slog.DiscardHandler), Frontend: fstest.MapFS{"index.html": {}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := closeHost(h); err != nil {
			t.Error(err)
		}
	}()
	of := func(listen string) string {
		if err := listenOn(h, listen); err != nil {
			t.Fatal(err)
		}
		return h.Server().URL()
	}
	settings := h.Server().URL()
	if got := of(""); got != settings {
		t.Errorf("without a flag it is at %s, and the settings put it at %s", got, settings)
	}
	if got := of(anyPort); got == settings {
		t.Errorf("with a flag it is still at %s", got)
	}
	h.StopListening()
	if of("") == "" {
		t.Error("without settings it is nowhere")
	}
}
