package protocol

// Kind decides.
type Kind string

// Kinds.
const (
	KindText Kind = "text"
	KindFile Kind = "file"
)

// Block is a part.
//
//tsgen:union type text=Text file=File
type Block interface{ kind() Kind }

// Text is a part.
type Text struct {
	Text string `json:"text"`
}

// File is a part.
type File struct {
	Name string `json:"name"`
}

// Blocks is all parts.
type Blocks []Block

// Event is decided by its stream.
//
//tsgen:discriminate stream data a=Text b=File
type Event struct {
	Seq    int64 `json:"seq"`
	Stream Kind  `json:"stream"`
	Data   any   `json:"data"`
}
