package files

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func apply(a, b []string, spans []span) []string {
	var out []string
	at := 0
	for _, s := range spans {
		out = append(out, a[at:s.a0]...)
		out = append(out, b[s.b0:s.b1]...)
		at = s.a1
	}
	return append(out, a[at:]...)
}

// lcs is the textbook answer to compare with.
func lcs(a, b []string) int {
	row := make([]int, len(b)+1)
	for i := range a {
		diagonal := 0
		for j := range b {
			keep := row[j+1]
			if a[i] == b[j] {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(row[j], row[j+1])
			}
			diagonal = keep
		}
	}
	return row[len(b)]
}

func TestDiffIsRightAndShortest(t *testing.T) {
	const seed = 7
	r := rand.New(rand.NewPCG(seed, seed))
	random := func() []string {
		out := make([]string, r.IntN(30))
		for i := range out {
			out[i] = string(rune('a'+r.IntN(5))) + "\n"
		}
		return out
	}
	for i := range 5000 {
		a, b := random(), random()
		spans := diffLines(a, b)
		if got := strings.Join(apply(a, b, spans), ""); got != strings.Join(b, "") {
			t.Fatalf("seed %d round %d: %q to %q gives %q", seed, i, a, b, got)
		}
		edits := 0
		for _, s := range spans {
			edits += s.a1 - s.a0 + s.b1 - s.b0
		}
		if want := len(a) + len(b) - 2*lcs(a, b); edits != want {
			t.Fatalf("seed %d round %d: %d edits, the shortest has %d: %q %q", seed, i, edits, want, a, b)
		}
	}
}

func TestDiffOfVeryDifferentFilesStaysRight(t *testing.T) {
	var a, b []string
	for i := range 5000 {
		a = append(a, strings.Repeat("a", i%97)+"\n")
		b = append(b, strings.Repeat("b", i%89)+"\n")
	}
	a, b = append(a, "same\n"), append(b, "same\n")
	spans := diffLines(a, b)
	if strings.Join(apply(a, b, spans), "") != strings.Join(b, "") {
		t.Fatal("the diff does not lead from one to the other")
	}
}

func TestUnifiedText(t *testing.T) {
	ten := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	for _, c := range []struct{ name, a, b, want string }{
		{"one line", ten, strings.Replace(ten, "5\n", "five\n", 1), "--- f\n+++ f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"},
		{"new file", "", "a\nb\n", "--- f\n+++ f\n@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"emptied", "a\n", "", "--- f\n+++ f\n@@ -1 +0,0 @@\n-a\n"},
		{"no final newline", "a\nb", "a\nc", "--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"},
		{"line end seen", "a\r\nb\n", "a\nb\n", "--- f\n+++ f\n@@ -1,2 +1,2 @@\n-a␍␊\n+a\n b\n"},
		{"all crlf unmarked", "a\r\nb\r\n", "a\r\nc\r\n", "--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"},
		{"override shown", "a\n", "a\u202eb\x07\n", "--- f\n+++ f\n@@ -1 +1 @@\n-a\n+a<U+202E>b<U+0007>\n"},
		{"two hunks", ten, strings.NewReplacer("1\n2", "one\n2", "9", "nine").Replace(ten),
			"--- f\n+++ f\n@@ -1,4 +1,4 @@\n-1\n+one\n 2\n 3\n 4\n@@ -6,5 +6,5 @@\n 6\n 7\n 8\n-9\n+nine\n 10\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := splitLines(c.a), splitLines(c.b)
			got, cut := unified("f", "f", a, b, diffLines(a, b))
			if got != c.want || cut {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestLongDiffSaysThatItIsCut(t *testing.T) {
	b := splitLines(strings.Repeat("some line of text\n", 40000))
	got, cut := unified("f", "f", nil, b, diffLines(nil, b))
	if !cut || len(got) > maxDiff+100 || !strings.Contains(got, "not shown") {
		t.Errorf("cut %v, %d bytes", cut, len(got))
	}
}
