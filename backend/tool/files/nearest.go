package files

import (
	"fmt"
	"strings"
)

const (
	// maxCompared bounds the lines that nearest looks at.
	maxCompared = 20000
	maxShown    = 200
)

// nearest names the line of text that is most like the first line of a passage
// that was not found.
func nearest(text, passage string) string {
	want := ""
	for _, line := range splitLines(passage) {
		if want = strings.TrimSpace(line); want != "" {
			break
		}
	}
	if want == "" {
		return ""
	}
	best, bestLine, at := 0.0, "", 0
	pairs := bigrams(want)
	for i, line := range splitLines(text) {
		if i == maxCompared {
			break
		}
		body, _ := cutEnd(line)
		trimmed := strings.TrimSpace(body)
		if trimmed == want {
			if body != strings.TrimRight(passage, "\r\n") && !strings.ContainsAny(passage, "\r\n") {
				return fmt.Sprintf(" Line %d differs only in its spaces: %q.", i+1, shorten(body))
			}
			return fmt.Sprintf(" Its first line stands in line %d; what follows differs.", i+1)
		}
		if score := alike(pairs, trimmed); score > best {
			best, bestLine, at = score, body, i+1
		}
	}
	const enough = 0.4
	if best < enough {
		return " No line of the file is like its first line."
	}
	return fmt.Sprintf(" The nearest is line %d: %q.", at, shorten(bestLine))
}

func shorten(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "…"
}

func bigrams(s string) map[string]int {
	s = s[:min(len(s), maxShown)]
	out := make(map[string]int, len(s))
	for i := 0; i+2 <= len(s); i++ {
		out[s[i:i+2]]++
	}
	return out
}

// alike is the share of letter pairs that two lines have in common, 0 to 1.
func alike(want map[string]int, line string) float64 {
	have := bigrams(line)
	both, total := 0, 0
	for pair, n := range want {
		both += min(n, have[pair])
		total += n
	}
	for _, n := range have {
		total += n
	}
	if total == 0 {
		return 0
	}
	return 2 * float64(both) / float64(total)
}

// lineNumbers are the lines, from 1, in which indexes of a text lie.
func lineNumbers[U unit](text []U, at []int) []int {
	var out []int
	line, i := 1, 0
	for _, index := range at {
		for i < index {
			if end := endAt(text, i); len(end) > 0 {
				line++
				i += len(end)
				continue
			}
			i++
		}
		out = append(out, line)
	}
	return out
}

func lineList(lines []int) string {
	const most = 8
	var out []string
	for i, n := range lines {
		if i == most {
			out = append(out, "…")
			break
		}
		out = append(out, fmt.Sprint(n))
	}
	return "lines " + strings.Join(out, ", ")
}
