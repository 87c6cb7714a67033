package protocol_test

import (
	"errors"
	"strings"
	"testing"

	"countersign/backend/protocol"
)

func TestSessionKeysAreNormalised(t *testing.T) {
	for _, row := range []struct {
		raw   string
		owner protocol.AgentID
		want  protocol.SessionKey
	}{
		{"main", "", "agent:main:main"},
		{" MAIN ", "", "agent:main:main"},
		{"Notes", "", "agent:main:notes"},
		{"notes.2026-12", "", "agent:main:notes.2026-12"},
		{"AGENT:Main:Notes", "", "agent:main:notes"},
		{"notes", "helper", "agent:helper:notes"},
		{"notes", "Helper", "agent:helper:notes"},
		{"agent:helper:notes", "helper", "agent:helper:notes"},
		{"agent:main:main:thread:42", "", "agent:main:main:thread:42"},
		{"telegram:direct:+491", "", "agent:main:telegram:direct:+491"},
		{"agent:main:matrix:channel:!room:example.org", "", "agent:main:matrix:channel:!room:example.org"},
		{"agent:main:whatsapp:group:1203@g.us", "", "agent:main:whatsapp:group:1203@g.us"},
		{"tui-0b9f7c1e-6f0a-4f0e-9b1e-111111111111", "", "agent:main:tui-0b9f7c1e-6f0a-4f0e-9b1e-111111111111"},
		{strings.Repeat("x", 500), "", protocol.SessionKey("agent:main:" + strings.Repeat("x", 500))},
	} {
		got, err := protocol.ParseSessionKey(row.raw, row.owner)
		if err != nil || got != row.want {
			t.Errorf("%q of %q is %q (%v), not %q", row.raw, row.owner, got, err, row.want)
		}
	}
}

func TestWhatIsNoSessionKeyIsRefused(t *testing.T) {
	for _, raw := range []string{
		"", " ", "../../x", "..", ".", ".hidden", "a/b", `a\b`, "a b", "a\tb", "a\nb", "a\x00b", "ä", "\u212a", "notes:", ":notes", "a::b", "a:.:b", "a:..",
		"agent:", "agent:main", "agent:main:", "agent::main", "agent:-x:main", "agent:ma in:x", "agent:main:main:evil", "main:evil", "main:thread",
		"main:thread:", "main:thread:1:2", "agent:main:agent:other:main", "agent:main:agent", "agent:../x:main", "a\u202eb", "m\u0430in", "a;b", "a'b", "a$b",
		strings.Repeat("x", 512), "agent:" + strings.Repeat("x", 65) + ":main", "\xff",
	} {
		if key, err := protocol.ParseSessionKey(raw, ""); !errors.Is(err, protocol.ErrBadSessionKey) {
			t.Errorf("%q is taken for %q (%v)", raw, key, err)
		}
	}
	if key, err := protocol.ParseSessionKey("agent:main:notes", "helper"); err == nil {
		t.Errorf("another agent's key is taken for %q", key)
	}
	if key, err := protocol.ParseSessionKey("notes", "../x"); err == nil {
		t.Errorf("a wrong agent's key is taken for %q", key)
	}
}

// Whatever comes, what is accepted is one key with one spelling.
func FuzzParseSessionKey(f *testing.F) {
	for _, raw := range []string{"main", "Agent:MAIN:Main:thread:1", "../../x", "agent:main:a:b", "agent:a:agent:b", "K", "a\x00", "main:main"} {
		f.Add(raw, "")
		f.Add(raw, "helper")
	}
	f.Fuzz(func(t *testing.T, raw, owner string) {
		key, err := protocol.ParseSessionKey(raw, protocol.AgentID(owner))
		if err != nil {
			if key != "" || !errors.Is(err, protocol.ErrBadSessionKey) {
				t.Fatalf("%q was refused with %q and %v", raw, key, err)
			}
			return
		}
		again, err := protocol.ParseSessionKey(string(key), key.Agent())
		if err != nil || again != key {
			t.Fatalf("%q became %q, and that %q (%v)", raw, key, again, err)
		}
		if upper, err := protocol.ParseSessionKey(strings.ToUpper(string(key)), ""); err != nil || upper != key {
			t.Fatalf("%q is another key in upper case: %q (%v)", key, upper, err)
		}
		scope, full := strings.CutPrefix(string(key), "agent:"+string(key.Agent())+":")
		if !full || !protocol.ValidAgentID(key.Agent()) || len(key) > protocol.MaxSessionKey || scope == "" {
			t.Fatalf("%q became %q", raw, key)
		}
		for _, segment := range strings.Split(scope, ":") {
			if segment == "" || segment[0] == '.' || strings.ContainsFunc(segment, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '/' || r == '\\' }) {
				t.Fatalf("%q became %q", raw, key)
			}
		}
		if strings.HasPrefix(scope, "agent:") || strings.HasPrefix(scope, "main:") && !strings.HasPrefix(scope, "main:thread:") {
			t.Fatalf("%q became %q", raw, key)
		}
	})
}
