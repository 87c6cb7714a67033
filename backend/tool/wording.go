package tool

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// preview is the start of what came, as one quoted line of at most maxPreview
// bytes.
func preview(raw []byte) string {
	head := string(raw[:min(len(raw), maxPreview/2)])
	quoted := fmt.Sprintf("%q", strings.ToValidUTF8(head, "?"))
	if len(quoted) > maxPreview-8 {
		quoted = cutText(quoted, maxPreview-8) + `"`
	}
	if len(raw) > maxPreview/2 {
		quoted += " …"
	}
	return quoted
}

// quote shows a name the model made up, shortened when it is absurd.
func quote(name string) string {
	const most = 80
	if len(name) > most {
		return fmt.Sprintf("%q…", cutText(name, most))
	}
	return fmt.Sprintf("%q", name)
}

func clip(sentence string) string {
	if len(sentence) <= maxPreview {
		return sentence
	}
	return cutText(sentence, maxPreview) + "…"
}

// cutText shortens s to at most n bytes without splitting a character.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// didYouMean names the nearest of known, or nothing when none is near.
func didYouMean(name string, known []string) string {
	if len(name) > 64 {
		return ""
	}
	best, distance := "", len(name)/2+2
	for _, k := range known {
		d := editDistance(strings.ToLower(name), strings.ToLower(k))
		if strings.HasPrefix(strings.ToLower(name), k) || strings.HasPrefix(k, strings.ToLower(name)) && name != "" {
			d = min(d, 1)
		}
		if d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" Did you mean %q?", best)
}

func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = min(diagonal, row[j], row[j+1]) + 1
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
