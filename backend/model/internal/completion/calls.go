package completion

import (
	"encoding/json"
	"strings"

	"countersign/backend/model/internal/wire"
	"countersign/backend/protocol"
)

// call is one tool call that is being written.
type call struct {
	index string
	id    string
	name  string
	args  strings.Builder
	// again says that the name came once more after the whole arguments: either the
	// server repeats itself, or a second call of the same name begins.
	again bool
}

// whole reports whether the arguments are a complete object.
func (c *call) whole() bool {
	args := strings.TrimSpace(c.args.String())
	return strings.HasPrefix(args, "{") && json.Valid([]byte(args))
}

// calls gathers parallel calls from their pieces. Servers disagree on what tells
// two calls apart: the index, the identifier, or only that a name comes anew.
type calls struct {
	list []*call
	// begun is told the name of each new call.
	begun func(name string)
}

func (cs *calls) add(d toolDelta) {
	args, name, id := d.Function.arguments(), string(d.Function.Name), string(d.ID)
	if args == "null" {
		args = ""
	}
	c := cs.find(string(d.Index), id, name, args)
	if c != nil && c.again && args != "" && c.whole() {
		name, c = c.name, nil
	}
	if c == nil {
		if id == "" && name == "" && strings.TrimSpace(args) == "" {
			return
		}
		c = &call{index: string(d.Index)}
		cs.list = append(cs.list, c)
	}
	if c.id == "" {
		c.id = id
	}
	if c.name == "" && name != "" {
		c.name = name
		cs.begun(name)
	}
	if c.whole() && (args == "" || args == c.args.String()) {
		// Some servers repeat the whole arguments at the end.
		c.again = c.again || args == "" && name != ""
		return
	}
	c.args.WriteString(args)
}

// find returns the call that a piece belongs to, nil for a new one.
func (cs *calls) find(index, id, name, args string) *call {
	var c *call
	for i := len(cs.list) - 1; i >= 0 && c == nil; i-- {
		switch l := cs.list[i]; {
		case id != "" && l.id == id && (l.index == index || name == "" || name == l.name):
			return l
		case l.index == index:
			c = l
		}
	}
	if c == nil {
		if id == "" && name == "" && len(cs.list) > 0 {
			return cs.list[len(cs.list)-1] // a piece that only says where it thinks it is
		}
		return nil
	}
	switch {
	case id != "" && c.id != "" && id != c.id:
		return nil
	case name != "" && c.name != "" && name != c.name:
		return nil
	case name != "" && c.name == name && id == "" && c.whole() && args != "" && args != c.args.String():
		return nil
	}
	return c
}

// blocks are the calls with arguments as the contract wants them. A call without
// a name cannot be one.
func (cs *calls) blocks(history []protocol.Message) []protocol.ToolCallBlock {
	var out []protocol.ToolCallBlock
	for _, c := range cs.list {
		if c.name == "" {
			continue
		}
		out = append(out, protocol.ToolCallBlock{ID: c.id, Name: c.name, Arguments: wire.Arguments(c.args.String())})
	}
	wire.FreshIDs(history, out, newID)
	return out
}
