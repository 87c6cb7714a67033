package sandbox

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

const mixed = "a\x00é漢🐴\xff\xfe\xe6\xbc b\xf0\x9f\x90 \xed\xa0\x80 z🐴\xf0\x9f"

func TestTextCutAtEachByteIsTheSameText(t *testing.T) {
	whole := clean([]byte(mixed))
	if !utf8.ValidString(whole) || strings.ContainsRune(whole, 0) || !strings.Contains(whole, "é漢🐴") {
		t.Fatalf("%q", whole)
	}
	for i := range len(mixed) + 1 {
		for j := i; j <= len(mixed); j++ {
			var d decoder
			pieces := []string{d.write([]byte(mixed[:i])), d.write([]byte(mixed[i:j])), d.write([]byte(mixed[j:])), d.close()}
			for _, p := range pieces {
				if !utf8.ValidString(p) {
					t.Fatalf("cut at %d and %d: invalid piece %q", i, j, p)
				}
			}
			if got := strings.Join(pieces, ""); got != whole {
				t.Fatalf("cut at %d and %d: %q, want %q", i, j, got, whole)
			}
		}
	}
}

func TestByteWiseOutputIsTheSameText(t *testing.T) {
	var d decoder
	var got strings.Builder
	for i := range len(mixed) {
		got.WriteString(d.write([]byte{mixed[i]}))
	}
	got.WriteString(d.close())
	if got.String() != clean([]byte(mixed)) {
		t.Fatalf("%q", got.String())
	}
}

func TestCaptureKeepsHeadAndTail(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 500 {
		limit := 2 + rng.IntN(40)
		data := make([]byte, rng.IntN(120))
		for i := range data {
			data[i] = byte('a' + rng.IntN(26))
		}
		c := newCapture(int64(limit))
		for rest := data; len(rest) > 0; {
			n := 1 + rng.IntN(len(rest))
			c.write(rest[:n])
			rest = rest[n:]
		}
		text, cut := c.text()
		if len(data) <= limit {
			if text != string(data) || cut != 0 {
				t.Fatalf("limit %d: %q became %q, %d cut", limit, data, text, cut)
			}
			continue
		}
		head, tail := data[:limit/2], data[len(data)-(limit-limit/2):]
		if !strings.HasPrefix(text, string(head)+"\n[… ") || !strings.HasSuffix(text, " …]\n"+string(tail)) || cut != int64(len(data)-limit) {
			t.Fatalf("limit %d: %q became %q, %d cut", limit, data, text, cut)
		}
	}
}

func TestCaptureNeverCutsACharacter(t *testing.T) {
	text := strings.Repeat("漢🐴é", 50)
	for limit := 2; limit < len(text); limit++ {
		c := newCapture(int64(limit))
		c.write([]byte(text))
		got, cut := c.text()
		if !utf8.ValidString(got) || strings.ContainsRune(got, utf8.RuneError) {
			t.Fatalf("limit %d: %q", limit, got)
		}
		if cut <= 0 || cut > int64(len(text)) {
			t.Fatalf("limit %d: %d cut", limit, cut)
		}
	}
}

func TestLiveOutputStopsAtItsLimitAndSaysSo(t *testing.T) {
	var got []Chunk
	l := live{stream: Stdout, out: func(c Chunk) { got = append(got, c) }, left: 10}
	for range 10 {
		l.write(bytes.Repeat([]byte("é"), 2))
	}
	l.close()
	var text strings.Builder
	for _, c := range got {
		if c.Stream != Stdout || !utf8.ValidString(c.Text) {
			t.Fatalf("%+v", c)
		}
		text.WriteString(c.Text)
	}
	if !strings.HasPrefix(text.String(), "ééééé\n[…") || strings.Count(text.String(), "more output") != 1 {
		t.Fatalf("%q", text.String())
	}
}

func TestProfileEndsWithTheInnerRule(t *testing.T) {
	text := profile([]mount{{path: "/Users/a/ws", writable: true}, {path: `/Users/a/ws/da"ta`, hidden: true}}, []string{"/Users/a/tool/bin"}, "/private/tmp/run", false)
	for _, want := range []string{
		"(deny default)", `(allow file-read* file-write* (subpath "/Users/a/ws"))`, `(deny file-read* file-write* (subpath "/Users/a/ws/da\"ta"))`,
		`(allow file-read* (subpath "/Users/a/tool/bin"))`, `(deny file-read* (subpath "/Library/Keychains"))`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing from\n%s", want, text)
		}
	}
	if strings.Contains(text, "network") || strings.Contains(text, "securityd") {
		t.Errorf("too much is allowed:\n%s", text)
	}
	if !strings.Contains(profile(nil, nil, "/p", true), "(allow network-outbound") {
		t.Error("the network is not allowed")
	}
	if strings.Index(text, `da\"ta`) < strings.Index(text, `"/Users/a/ws")`) {
		t.Error("the inner rule does not come last")
	}
}
