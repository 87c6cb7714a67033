package wire_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"countersign/backend/model/internal/wire"
	"countersign/backend/protocol"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second},
		{"Retry-After", " 1.5 ", 1500 * time.Millisecond},
		{"Retry-After", "Tue, 01 Dec 2026 10:02:00 GMT", 2 * time.Minute},
		{"Retry-After", "Tue, 01 Dec 2026 09:00:00 GMT", 0},
		{"Retry-After", "-1", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "+Inf", 30 * 24 * time.Hour},
		{"Retry-After", "tomorrow", 0},
		{"Retry-After-Ms", "250", 250 * time.Millisecond},
		{"X", "7", 0},
	} {
		h := http.Header{}
		h.Set(row.name, row.value)
		if got := wire.RetryAfter(h, now); got != row.want {
			t.Errorf("%s %q: %s, want %s", row.name, row.value, got, row.want)
		}
	}
}

func TestBaseURL(t *testing.T) {
	for typed, want := range map[string]string{
		"": "std/", "http://localhost:11434": "http://localhost:11434/v1/", "http://localhost:11434/": "http://localhost:11434/v1/",
		" https://openrouter.ai/api/v1 ": "https://openrouter.ai/api/v1/", "https://x/y/": "https://x/y/", "http://[::1]:80": "http://[::1]:80/v1/",
	} {
		if got, err := wire.BaseURL(typed, "std/", "/v1"); got != want || err != nil {
			t.Errorf("%q: %q, %v", typed, got, err)
		}
	}
	for local, want := range map[string]bool{"http://localhost:1/": true, "http://127.0.0.1/": true, "http://[::1]/": true, "http://localhost.example/": false, "http://10.0.0.1/": false} {
		if wire.Local(local) != want {
			t.Errorf("%s", local)
		}
	}
}

func TestTheKeyIsMaskedWhereverItIs(t *testing.T) {
	p := wire.Provider{Name: "X", Kind: protocol.ProviderOpenAI, Key: "sk-secret-value"}
	errs := []error{
		p.Refused(wire.Answer{Status: 400, Message: "bad sk-secret-value", Type: "sk-secret-value", Code: "sk-secret-value"}),
		p.Cut(errors.New("read sk-secret-value")),
		p.Broken(t.Context(), t.Context(), errors.New("dial sk-secret-value"), false),
	}
	for _, err := range errs {
		if strings.Contains(err.Error(), "secret") {
			t.Error(err)
		}
	}
}

func TestCallIDsStayApart(t *testing.T) {
	seen := make(map[string]string)
	for _, id := range []string{"a", "toolu_01", "functions.list:0", "functions.list:1", "长", "", strings.Repeat("x", 41), strings.Repeat("x", 42), "a b", "a_b"} {
		got := wire.CallID(id)
		if other, ok := seen[got]; ok || len(got) > 40 || wire.CallID(got) != got {
			t.Errorf("%q became %q, like %q", id, got, other)
		}
		seen[got] = id
	}
}

func TestFreshIDs(t *testing.T) {
	n := 0
	calls := []protocol.ToolCallBlock{{ID: "a"}, {ID: ""}, {ID: "b"}, {ID: "b"}, {ID: "c"}}
	history := []protocol.Message{{Content: protocol.Blocks{protocol.ToolCallBlock{ID: "a"}}}}
	wire.FreshIDs(history, calls, func() string { n++; return strings.Repeat("n", n) })
	var ids []string
	for _, c := range calls {
		ids = append(ids, c.ID)
	}
	if got := strings.Join(ids, " "); got != "call_n call_nn b call_nnn c" {
		t.Error(got)
	}
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{"", "{}", "[]", `"x"`, "1", "null", `{"a":`, "\xff", `"{\"a\":1}"`, strings.Repeat("🦀\"", 600)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, written string) {
		got := wire.Arguments(written)
		if !json.Valid(got) || !utf8.Valid(got) {
			t.Fatalf("%q became %q", written, got)
		}
		if got[0] != '{' && (got[0] != '"' || len(got) > 1<<10) {
			t.Fatalf("%q became %d bytes: %.60s", written, len(got), got)
		}
		if back := wire.Object(got); !json.Valid(back) || back[0] != '{' {
			t.Fatalf("%q is sent back as %q", written, back)
		}
	})
}
