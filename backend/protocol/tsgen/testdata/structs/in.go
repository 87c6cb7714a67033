package protocol

import "encoding/json"

// RunID names one execution.
type RunID string

// Old has one constant, so it is an identity still.
type Old string

// First is the only one.
const First Old = "first"

// Limits of things.
const (
	// MaxFrameBeforeAuth is in bytes.
	MaxFrameBeforeAuth = 65_536
	CapChanges         = "our-changes"
	hidden             = 3
)

// Row has every kind of field. It says */ in the middle
// of its second line.
type Row struct {
	Plain
	ID       RunID             `json:"id"`
	Name     *string           `json:"name,omitempty"`
	Parent   *Row              `json:"parent"`
	Numbers  []int64           `json:"numbers,omitempty"`
	Matrix   [][]float64       `json:"matrix"`
	Bytes    []byte            `json:"bytes"`
	Raw      json.RawMessage   `json:"raw"`
	Any      any               `json:"any,omitempty"`
	Map      map[string]Plain  `json:"map"`
	ByRun    map[RunID][]Plain `json:"by-run"`
	AsString int64             `json:"asString,string"`
	Optional []*Plain          `json:"optional,omitempty"`
	Skipped  string            `json:"-"`
	Untagged bool
	private  int
}

// Plain is small.
type Plain struct {
	// OK has a comment above.
	OK bool `json:"ok"`
	At int  `json:"at"` // at has one beside
}

// Rows is a list.
type Rows []Row

// Empty has nothing.
type Empty struct{}

// Internal never goes over the wire.
type Internal struct{ Value int }
