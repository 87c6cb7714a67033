package wire

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longestAfter bounds what is believed of a Retry-After.
const longestAfter = 30 * 24 * time.Hour

// RetryAfter reads how long a provider asks us to wait: retry-after-ms, or
// Retry-After in seconds or as a date. Zero means that it did not say, or
// nothing one can believe.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil {
		return believed(ms / 1000)
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return believed(seconds)
	}
	if when, err := http.ParseTime(value); err == nil {
		return believed(math.Ceil(when.Sub(now).Seconds()))
	}
	return 0
}

func believed(seconds float64) time.Duration {
	if math.IsNaN(seconds) || seconds <= 0 {
		return 0
	}
	if seconds >= longestAfter.Seconds() {
		return longestAfter
	}
	return time.Duration(seconds * float64(time.Second))
}
