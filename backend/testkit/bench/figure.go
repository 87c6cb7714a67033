package main

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// figure is one measured value. Value has fixed decimals: three for times and
// ratios, one for sizes.
type figure struct {
	Name  string      `json:"name"`
	Value json.Number `json:"value"`
	Unit  string      `json:"unit"`
}

func number(v float64, decimals int) json.Number {
	return json.Number(strconv.FormatFloat(v, 'f', decimals, 64))
}

func duration(name string, d time.Duration) figure { return figure{name, number(ms(d), 3), "ms"} }

// ratio says how often b goes into a.
func ratio(name string, a, b time.Duration) figure {
	if b <= 0 {
		return figure{name, number(0, 3), "x"}
	}
	return figure{name, number(float64(a)/float64(b), 3), "x"}
}

func megabytes(name string, bytes int64) figure {
	return figure{name, number(float64(bytes)/1e6, 1), "MB"}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// samples are times of one thing.
type samples []time.Duration

// at is the smallest time that at least percent of the samples do not exceed, 0
// when there are none.
func (s samples) at(percent int) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[max((len(sorted)*percent+99)/100, 1)-1]
}

func (s samples) median() time.Duration { return s.at(50) }

func (s samples) p99() time.Duration { return s.at(99) }
