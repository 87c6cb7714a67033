package protocol

import "time"

// Row holds a time, whose JSON is not ours to guess.
type Row struct {
	At time.Time `json:"at"`
}
