package files

import (
	"fmt"
	"strings"
)

const (
	// maxDiff bounds a card's diff in bytes; a longer one is cut, and a plan whose
	// card is cut cannot be allowed.
	maxDiff = 256 << 10
	// contextLines stand around each change.
	contextLines = 3
	// maxEdits bounds the search for the shortest diff; beyond, the changed middle
	// is shown as removed and added whole, which is as true and only longer.
	maxEdits = 1000
)

// span is one change: lines a[a0:a1] become b[b0:b1].
type span struct{ a0, a1, b0, b1 int }

// diffLines returns the changes from a to b in order.
func diffLines(a, b []string) []span {
	x, y := number(a, b)
	start := 0
	for start < len(x) && start < len(y) && x[start] == y[start] {
		start++
	}
	end := 0
	for end < len(x)-start && end < len(y)-start && x[len(x)-1-end] == y[len(y)-1-end] {
		end++
	}
	mx, my := x[start:len(x)-end], y[start:len(y)-end]
	if len(mx) == 0 && len(my) == 0 {
		return nil
	}
	spans, ok := myers(mx, my)
	if !ok {
		spans = []span{{0, len(mx), 0, len(my)}}
	}
	for i := range spans {
		s := &spans[i]
		s.a0, s.a1, s.b0, s.b1 = s.a0+start, s.a1+start, s.b0+start, s.b1+start
	}
	return spans
}

// number gives equal lines equal numbers, so that the search compares integers.
func number(a, b []string) (x, y []int) {
	known := make(map[string]int, len(a)+len(b))
	of := func(lines []string) []int {
		out := make([]int, len(lines))
		for i, line := range lines {
			n, ok := known[line]
			if !ok {
				n = len(known)
				known[line] = n
			}
			out[i] = n
		}
		return out
	}
	return of(a), of(b)
}

// myers finds a shortest edit script by the greedy O(ND) search, keeping one
// frontier for each number of edits.
func myers(a, b []int) ([]span, bool) {
	limit := min(len(a)+len(b), maxEdits)
	v := make([]int, 2*limit+3)
	mid := limit + 1
	var trace [][]int
	for d := 0; d <= limit; d++ {
		trace = append(trace, append([]int(nil), v[mid-d-1:mid+d+2]...))
		for k := -d; k <= d; k += 2 {
			x := v[mid+k-1] + 1
			if k == -d || k != d && v[mid+k-1] < v[mid+k+1] {
				x = v[mid+k+1]
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			v[mid+k] = x
			if x >= len(a) && x-k >= len(b) {
				return walkBack(trace, len(a), len(b)), true
			}
		}
	}
	return nil, false
}

// walkBack reads the script from the frontiers, last edit first, and joins
// neighbouring edits to spans.
func walkBack(trace [][]int, x, y int) []span {
	var back []span
	for d := len(trace) - 1; d > 0; d-- {
		v := trace[d]
		at := func(k int) int { return v[k+d+1] }
		k := x - y
		px, py := 0, 0
		if k == -d || k != d && at(k-1) < at(k+1) {
			px = at(k + 1)
			py = px - (k + 1)
		} else {
			px = at(k - 1)
			py = px - (k - 1)
		}
		edit := span{px, px, py, py + 1}
		if px-py < k {
			edit = span{px, px + 1, py, py}
		}
		if n := len(back); n > 0 && back[n-1].a0 == edit.a1 && back[n-1].b0 == edit.b1 {
			back[n-1].a0, back[n-1].b0 = edit.a0, edit.b0
		} else {
			back = append(back, edit)
		}
		x, y = px, py
	}
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	return back
}

// unified writes the changes as a unified diff. Line ends are marked when more
// than one kind occurs, so that a change of them is seen. cut says that it is
// not whole.
func unified(from, to string, a, b []string, spans []span) (text string, cut bool) {
	w := &diffWriter{mark: len(endings(append(append([]string(nil), a...), b...))) > 1}
	fmt.Fprintf(&w.out, "--- %s\n+++ %s\n", from, to)
	for i := 0; i < len(spans) && !w.cut; {
		j := i + 1
		for j < len(spans) && spans[j].a0-spans[j-1].a1 <= 2*contextLines {
			j++
		}
		w.hunk(a, b, spans[i:j])
		i = j
	}
	if w.cut {
		w.out.WriteString("… the rest is not shown\n")
	}
	return w.out.String(), w.cut
}

type diffWriter struct {
	out  strings.Builder
	mark bool
	cut  bool
}

func (w *diffWriter) hunk(a, b []string, spans []span) {
	first, last := spans[0], spans[len(spans)-1]
	lead := min(contextLines, first.a0)
	trail := min(contextLines, len(a)-last.a1)
	fmt.Fprintf(&w.out, "@@ -%s +%s @@\n", region(first.a0-lead, last.a1+trail), region(first.b0-lead, last.b1+trail))
	at := first.a0 - lead
	for _, s := range spans {
		w.lines(" ", a[at:s.a0])
		w.lines("-", a[s.a0:s.a1])
		w.lines("+", b[s.b0:s.b1])
		at = s.a1
	}
	w.lines(" ", a[at:last.a1+trail])
}

// region is "start,length"; an empty region names the line before it.
func region(from, to int) string {
	switch to - from {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprint(from + 1)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

var endingMarks = map[string]string{"\n": "", "\r\n": "␍␊", "\r": "␍"}

func (w *diffWriter) lines(sign string, lines []string) {
	for _, line := range lines {
		body, end := cutEnd(line)
		if w.cut || w.out.Len()+len(body) > maxDiff {
			w.cut = true
			return
		}
		w.out.WriteString(sign)
		w.out.WriteString(visible(body))
		if w.mark {
			w.out.WriteString(endingMarks[end])
		}
		w.out.WriteString("\n")
		if end == "" {
			w.out.WriteString("\\ No newline at end of file\n")
		}
	}
}
