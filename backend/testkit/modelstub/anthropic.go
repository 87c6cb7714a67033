package modelstub

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
)

// signingKey signs thinking; it is no secret.
const signingKey = "model stub"

// Sign is the signature of a thinking block with this text.
func Sign(thinking string) string {
	mac := hmac.New(sha256.New, []byte(signingKey))
	mac.Write([]byte(thinking))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil)) + "/signed<&>=="
}

// Seal is the data of a redacted thinking block.
func Seal(thinking string) string {
	return base64.StdEncoding.EncodeToString([]byte(thinking)) + "." + Sign("sealed "+thinking)
}

func sealed(data string) bool {
	encoded, _, ok := strings.Cut(data, ".")
	if !ok {
		return false
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	return err == nil && Seal(string(raw)) == data
}

func encode(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("modelstub: encode an event: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

type object = map[string]any

func anthropicEvent(kind string, fields object) string {
	fields["type"] = kind
	return "event: " + kind + "\ndata: " + encode(fields) + "\n\n"
}

// anthropicEvents are the events of a reply in the Messages API.
func anthropicEvents(r Reply) []string {
	start := object{"id": "msg_stub", "type": "message", "role": "assistant", "model": "stub-small", "content": []any{}, "stop_reason": nil, "stop_sequence": nil}
	if !r.NoUsage {
		start["usage"] = object{"input_tokens": r.Input, "output_tokens": 1, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2}
	}
	events := []string{anthropicEvent("message_start", object{"message": start}), anthropicEvent("ping", object{})}
	for i, b := range r.Blocks {
		events = append(events, blockEvents(i, b, r.Piece)...)
	}
	stop := r.Stop
	if stop == "" {
		stop = "end_turn"
		if r.hasCalls() {
			stop = "tool_use"
		}
	}
	end := object{"delta": object{"stop_reason": stop, "stop_sequence": nil}}
	if !r.NoUsage {
		end["usage"] = object{"output_tokens": r.Output}
	}
	return append(events, anthropicEvent("message_delta", end), anthropicEvent("message_stop", object{}))
}

func blockEvents(index int, b Block, piece int) []string {
	var start object
	var deltas []object
	each := func(kind, field, text string) {
		for _, p := range pieces(text, piece) {
			deltas = append(deltas, object{"type": kind, field: p})
		}
	}
	switch {
	case b.Call != nil:
		start = object{"type": "tool_use", "id": b.Call.ID, "name": b.Call.Name, "input": object{}}
		deltas = append(deltas, object{"type": "input_json_delta", "partial_json": ""})
		each("input_json_delta", "partial_json", b.Call.Args)
	case b.Redacted != "":
		start = object{"type": "redacted_thinking", "data": Seal(b.Redacted)}
	case b.Thinking != "":
		start = object{"type": "thinking", "thinking": "", "signature": ""}
		each("thinking_delta", "thinking", b.Thinking)
		deltas = append(deltas, object{"type": "signature_delta", "signature": Sign(b.Thinking)})
	default:
		start = object{"type": "text", "text": ""}
		each("text_delta", "text", b.Text)
	}
	events := []string{anthropicEvent("content_block_start", object{"index": index, "content_block": start})}
	for _, d := range deltas {
		events = append(events, anthropicEvent("content_block_delta", object{"index": index, "delta": d}))
	}
	return append(events, anthropicEvent("content_block_stop", object{"index": index}))
}

func streamError(e StreamError, d Dialect) string {
	if d == Anthropic {
		return anthropicEvent("error", object{"error": object{"type": e.Type, "message": e.Message}})
	}
	inner := object{"type": e.Type, "message": e.Message, "code": nil}
	if e.Code != "" {
		inner["code"] = json.RawMessage(e.Code)
	}
	return "data: " + encode(object{"error": inner}) + "\n\n"
}
