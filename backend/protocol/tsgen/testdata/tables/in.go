package protocol

// Method names a call.
type Method string

// Methods.
const (
	MethodSend Method = "chat.send"
	MethodList Method = "list"
)

// EventName names an event.
type EventName string

// Events.
const (
	EventTick EventName = "tick"
	EventChat EventName = "chat"
)

// Scope is a permission.
type Scope string

// Scopes.
const (
	ScopeRead  Scope = "read"
	ScopeWrite Scope = "write"
)

// MethodScopes gives the scope.
var MethodScopes = map[Method]Scope{MethodSend: ScopeWrite, MethodList: ScopeRead}

// Thing is a thing.
type Thing struct {
	ID string `json:"id"`
}

// StateVersion is used by every event frame.
type StateVersion struct {
	Presence int64 `json:"presence"`
}

// Call is a row; it never goes over the wire.
type Call struct {
	Method Method
}

// Calls is the table.
func Calls() []Call {
	return []Call{
		call[Thing, []Thing](MethodSend),
		call[Thing, Thing](MethodList),
	}
}

// EventPayloads is the table.
func EventPayloads() []Call {
	return []Call{event[Thing](EventTick), event[[]Thing](EventChat)}
}

func call[P, R any](m Method) Call    { return Call{m} }
func event[P any](EventName) (_ Call) { return }
