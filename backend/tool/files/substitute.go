package files

import "slices"

// unit is one element of a text: a byte, or a UTF-16 code unit.
type unit interface{ byte | uint16 }

// substitute replaces old by now in text. at holds where old was found, as
// indexes into text, overlapping finds included. Without all, exactly one find is
// replaced; out is nil when nothing was.
//
// A passage that names a carriage return itself is first taken literally. Else,
// and where that finds nothing, every line end counts as "\n" for finding, and
// what is put in gets the line ends of its surroundings.
func substitute[U unit](text, old, now []U, all bool) (out []U, at []int) {
	if slices.Contains(old, '\r') || slices.Contains(now, '\r') {
		if at = find(text, old); len(at) > 0 {
			return literal(text, old, now, at, all), at
		}
	}
	flat := flatten(text)
	want, _ := flatText(old)
	put, _ := flatText(now)
	found := find(flat.units, want)
	at = make([]int, len(found))
	for i, f := range found {
		at[i] = flat.raw(f)
	}
	if len(found) == 0 || len(found) > 1 && !all {
		return nil, at
	}
	// What both passages begin and end with is not touched at all.
	head := 0
	for head < len(want) && head < len(put) && want[head] == put[head] {
		head++
	}
	tail := 0
	for tail < len(want)-head && tail < len(put)-head && want[len(want)-1-tail] == put[len(put)-1-tail] {
		tail++
	}
	out = make([]U, 0, len(text)+len(now))
	done := 0
	for _, f := range apart(found, len(want)) {
		from, to := flat.raw(f+head), flat.raw(f+len(want)-tail)
		out = append(out, text[done:from]...)
		out = append(out, withEnds(put[head:len(put)-tail], text, from, to)...)
		done = to
	}
	return append(out, text[done:]...), at
}

func literal[U unit](text, old, now []U, at []int, all bool) []U {
	if len(at) > 1 && !all {
		return nil
	}
	out := make([]U, 0, len(text)+len(now))
	done := 0
	for _, from := range apart(at, len(old)) {
		out = append(append(out, text[done:from]...), now...)
		done = from + len(old)
	}
	return append(out, text[done:]...)
}

// apart leaves out finds that overlap an earlier one.
func apart(at []int, length int) []int {
	var out []int
	end := 0
	for _, f := range at {
		if f >= end {
			out = append(out, f)
			end = f + length
		}
	}
	return out
}

// flat is a text in which every line end is "\n".
type flat[U unit] struct {
	units []U
	// pairs are the indexes in units of line ends that are two units in the text.
	pairs []int
}

func flatten[U unit](text []U) flat[U] {
	units, pairs := flatText(text)
	return flat[U]{units, pairs}
}

func flatText[U unit](text []U) (units []U, pairs []int) {
	if !slices.Contains(text, '\r') {
		return text, nil
	}
	units = make([]U, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\r' {
			units = append(units, text[i])
			continue
		}
		if i+1 < len(text) && text[i+1] == '\n' {
			pairs = append(pairs, len(units))
			i++
		}
		units = append(units, '\n')
	}
	return units, pairs
}

// raw is the index in the text of an index in units; it never falls inside a
// pair.
func (f flat[U]) raw(i int) int {
	before, _ := slices.BinarySearch(f.pairs, i)
	return i + before
}

// withEnds gives each "\n" of what is put in the line end that stood at its
// place in text[from:to], and further ones that of the line before, else of the
// line after.
func withEnds[U unit](put, text []U, from, to int) []U {
	if !slices.Contains(put, '\n') {
		return put
	}
	var had [][]U
	for i := from; i < to; {
		if end := endAt(text, i); len(end) > 0 {
			had = append(had, end)
			i += len(end)
			continue
		}
		i++
	}
	var out []U
	for _, u := range put {
		if u != '\n' {
			out = append(out, u)
			continue
		}
		end := near(text, from)
		if len(had) > 0 {
			end, had = had[0], had[1:]
		}
		out = append(out, end...)
	}
	return out
}

func near[U unit](text []U, from int) []U {
	for i := from - 1; i >= 0; i-- {
		if text[i] == '\n' && i > 0 && text[i-1] == '\r' {
			return text[i-1 : i+1]
		}
		if text[i] == '\n' || text[i] == '\r' {
			return text[i : i+1]
		}
	}
	for i := from; i < len(text); i++ {
		if end := endAt(text, i); len(end) > 0 {
			return end
		}
	}
	return []U{'\n'}
}

// endAt is the line end that begins at i, empty when none does.
func endAt[U unit](text []U, i int) []U {
	switch {
	case text[i] == '\n':
		return text[i : i+1]
	case text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n':
		return text[i : i+2]
	case text[i] == '\r':
		return text[i : i+1]
	}
	return nil
}

// find returns where want stands in text, overlapping finds included, in time
// that grows with their lengths only (Knuth, Morris, Pratt).
func find[U unit](text, want []U) []int {
	if len(want) == 0 || len(want) > len(text) {
		return nil
	}
	back := make([]int, len(want))
	for i, k := 1, 0; i < len(want); i++ {
		for k > 0 && want[i] != want[k] {
			k = back[k-1]
		}
		if want[i] == want[k] {
			k++
		}
		back[i] = k
	}
	var at []int
	k := 0
	for i, u := range text {
		for k > 0 && u != want[k] {
			k = back[k-1]
		}
		if u == want[k] {
			k++
		}
		if k == len(want) {
			at = append(at, i-k+1)
			k = back[k-1]
		}
	}
	return at
}
