package modelstub

import "encoding/json"

// Reply is one answer of the script. The zero value answers with an empty turn.
type Reply struct {
	// Blocks are the answer's content in order.
	Blocks []Block `json:"blocks,omitempty"`
	// Stop is the dialect's own stop reason; empty means the one that fits.
	Stop string `json:"stop,omitempty"`
	// Input and Output are the tokens told; NoUsage leaves the figures out.
	Input   int  `json:"input,omitempty"`
	Output  int  `json:"output,omitempty"`
	NoUsage bool `json:"noUsage,omitempty"`

	// Status refuses the request with this code instead of answering.
	Status    int               `json:"status,omitempty"`
	ErrorType string            `json:"errorType,omitempty"`
	ErrorCode string            `json:"errorCode,omitempty"`
	Message   string            `json:"message,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`
	// Body replaces the body, of a refusal or an answer, as it stands.
	Body string `json:"body,omitempty"`

	// StreamError puts an error event after as many events as AfterEvents.
	StreamError *StreamError `json:"streamError,omitempty"`
	// Cut ends the connection after so many bytes of the body; CutAll at once.
	// CleanCut ends the body as if it were whole.
	Cut      int  `json:"cut,omitempty"`
	CutAll   bool `json:"cutAll,omitempty"`
	CleanCut bool `json:"cleanCut,omitempty"`
	// Chunk is how many bytes are written at a time; 0 means whole events.
	Chunk int `json:"chunk,omitempty"`
	// Piece is how many characters of text one event carries; 0 means 4.
	Piece int `json:"piece,omitempty"`
	// Hang answers nothing (or nothing more than Cut bytes) until the client
	// leaves.
	Hang bool `json:"hang,omitempty"`
	// Gate is received from once before each event.
	Gate <-chan struct{} `json:"-"`
	// Begun is sent to once for each request, when it has come.
	Begun chan<- struct{} `json:"-"`

	Quirks Quirks `json:"quirks,omitzero"`
}

// Block is one part of an answer: exactly one of its fields is set.
type Block struct {
	Text     string `json:"text,omitempty"`
	Thinking string `json:"thinking,omitempty"`
	// Redacted is thinking that comes encrypted.
	Redacted string `json:"redacted,omitempty"`
	Call     *Call  `json:"call,omitempty"`
}

// Call is one tool call. Args goes out as it stands, valid or not.
type Call struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Args string `json:"args"`
}

// StreamError is an error told after the answer has begun with status 200.
type StreamError struct {
	AfterEvents int    `json:"afterEvents"`
	Type        string `json:"type"`
	Code        string `json:"code"`
	Message     string `json:"message"`
}

// Quirks are the habits of servers that speak Chat Completions nearly.
type Quirks struct {
	// Indices are those of the calls in order; without, they count from zero.
	Indices []int `json:"indices,omitempty"`
	NoIndex bool  `json:"noIndex,omitempty"`
	NoIDs   bool  `json:"noIds,omitempty"`
	// Repeat puts the identifier and the name into every piece of a call.
	Repeat bool `json:"repeat,omitempty"`
	// WholeArgs gives a call in one piece; ObjectArgs as an object, NullArgs null.
	WholeArgs  bool `json:"wholeArgs,omitempty"`
	ObjectArgs bool `json:"objectArgs,omitempty"`
	NullArgs   bool `json:"nullArgs,omitempty"`
	NoArgs     bool `json:"noArgs,omitempty"`
	// Reasoning is the field thinking goes into: reasoning_content unless told.
	Reasoning string `json:"reasoning,omitempty"`
	NoDone    bool   `json:"noDone,omitempty"`
	NoFinish  bool   `json:"noFinish,omitempty"`
	// NoStream answers with one JSON object although a stream was asked for.
	NoStream bool `json:"noStream,omitempty"`
	// CRLF ends lines as on Windows; Comments puts keep-alive lines in between.
	CRLF     bool `json:"crlf,omitempty"`
	Comments bool `json:"comments,omitempty"`
	// NullError puts "error":null into every chunk.
	NullError bool `json:"nullError,omitempty"`
	// PartsContent gives the text as a list of parts.
	PartsContent bool `json:"partsContent,omitempty"`
	// RefuseField answers 400 as long as a request has this field.
	RefuseField string `json:"refuseField,omitempty"`
}

// Dialect is the API a request came in by.
type Dialect string

// Dialects of the server.
const (
	Anthropic Dialect = "anthropic"
	OpenAI    Dialect = "openai"
)

// Request is one request as it came.
type Request struct {
	Dialect Dialect           `json:"dialect"`
	Path    string            `json:"path"`
	Header  map[string]string `json:"header"`
	Body    json.RawMessage   `json:"body"`
	// Invalid says what strict mode found wrong.
	Invalid string `json:"invalid,omitempty"`
}

// Text is a reply of one text block.
func Text(s string) Reply { return Reply{Blocks: []Block{{Text: s}}} }

// Calls is a reply of tool calls.
func Calls(calls ...Call) Reply {
	var r Reply
	for _, c := range calls {
		r.Blocks = append(r.Blocks, Block{Call: &c})
	}
	return r
}

// Refusal is a reply with an error status; retryAfter may be empty.
func Refusal(status int, errorType, message, retryAfter string) Reply {
	r := Reply{Status: status, ErrorType: errorType, Message: message}
	if retryAfter != "" {
		r.Headers = map[string]string{"Retry-After": retryAfter}
	}
	return r
}

func (r Reply) hasCalls() bool {
	for _, b := range r.Blocks {
		if b.Call != nil {
			return true
		}
	}
	return false
}

// pieces cuts text into parts of n characters.
func pieces(text string, n int) []string {
	if n <= 0 {
		n = 4
	}
	var out []string
	for runes := []rune(text); len(runes) > 0; {
		k := min(n, len(runes))
		out = append(out, string(runes[:k]))
		runes = runes[k:]
	}
	return out
}
