package modelstub

import "encoding/json"

// openaiEvents are the events of a reply in Chat Completions. Figures come only
// when the request asks for them.
func openaiEvents(r Reply, request []byte) []string {
	stop := r.Stop
	if stop == "" {
		stop = "stop"
		if r.hasCalls() {
			stop = "tool_calls"
		}
	}
	usage := object{"prompt_tokens": r.Input + 3, "completion_tokens": r.Output, "total_tokens": r.Input + r.Output + 3, "prompt_tokens_details": object{"cached_tokens": 3}}
	if r.Quirks.NoStream {
		return []string{encode(wholeAnswer(r, stop, usage))}
	}
	events := []string{openaiChunk(r, object{"role": "assistant", "content": ""}, nil)}
	for _, d := range openaiDeltas(r) {
		events = append(events, openaiChunk(r, d, nil))
	}
	if !r.Quirks.NoFinish {
		events = append(events, openaiChunk(r, object{}, stop))
	}
	if !r.NoUsage && (request == nil || asksUsage(request)) {
		events = append(events, "data: "+encode(object{"id": "chatcmpl-stub", "object": "chat.completion.chunk", "created": 1, "model": "stub-small", "choices": []any{}, "usage": usage})+"\n\n")
	}
	if !r.Quirks.NoDone {
		events = append(events, "data: [DONE]\n\n")
	}
	return events
}

func asksUsage(request []byte) bool {
	var body struct {
		Options struct {
			Usage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	return json.Unmarshal(request, &body) == nil && body.Options.Usage
}

func openaiChunk(r Reply, delta object, finish any) string {
	c := object{
		"id": "chatcmpl-stub", "object": "chat.completion.chunk", "created": 1, "model": "stub-small",
		"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}},
	}
	if r.Quirks.NullError {
		c["error"] = nil
	}
	return "data: " + encode(c) + "\n\n"
}

func openaiDeltas(r Reply) []object {
	var out []object
	field := r.Quirks.Reasoning
	if field == "" {
		field = "reasoning_content"
	}
	calls := 0
	for _, b := range r.Blocks {
		switch {
		case b.Call != nil:
			out = append(out, callDeltas(*b.Call, calls, r)...)
			calls++
		case b.Thinking != "":
			for _, p := range pieces(b.Thinking, r.Piece) {
				out = append(out, object{field: p})
			}
		default:
			for _, p := range pieces(b.Text, r.Piece) {
				if r.Quirks.PartsContent {
					out = append(out, object{"content": []any{object{"type": "text", "text": p}}})
					continue
				}
				out = append(out, object{"content": p})
			}
		}
	}
	return out
}

// callDeltas are the pieces of one call with the quirks of the script.
func callDeltas(c Call, n int, r Reply) []object {
	q := r.Quirks
	one := func(first bool, args any) object {
		fn := object{}
		if args != nil {
			fn["arguments"] = args
		}
		call := object{"function": fn}
		if !q.NoIndex {
			call["index"] = n
			if n < len(q.Indices) {
				call["index"] = q.Indices[n]
			}
		}
		if first || q.Repeat {
			fn["name"] = c.Name
			call["type"] = "function"
			if !q.NoIDs {
				call["id"] = c.ID
			}
		}
		return object{"tool_calls": []any{call}}
	}
	switch {
	case q.NoArgs:
		return []object{one(true, nil)}
	case q.NullArgs:
		return []object{one(true, json.RawMessage("null"))}
	case q.ObjectArgs:
		return []object{one(true, json.RawMessage(c.Args))}
	case q.WholeArgs:
		return []object{one(true, c.Args)}
	}
	out := []object{one(true, "")}
	for _, p := range pieces(c.Args, r.Piece) {
		out = append(out, one(false, p))
	}
	return out
}

// wholeAnswer is a reply of a server that does not stream.
func wholeAnswer(r Reply, stop string, usage object) object {
	m := object{"role": "assistant", "content": nil}
	var calls []any
	for _, b := range r.Blocks {
		switch {
		case b.Call != nil:
			calls = append(calls, object{"id": b.Call.ID, "type": "function", "function": object{"name": b.Call.Name, "arguments": b.Call.Args}})
		case b.Thinking != "":
			m["reasoning_content"] = b.Thinking
		default:
			m["content"] = b.Text
		}
	}
	if calls != nil {
		m["tool_calls"] = calls
	}
	out := object{"id": "chatcmpl-stub", "object": "chat.completion", "created": 1, "model": "stub-small", "choices": []any{object{"index": 0, "message": m, "finish_reason": stop}}}
	if !r.NoUsage {
		out["usage"] = usage
	}
	return out
}
