//go:build peers

package peers_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// The weights of this model are a script: each token's embedding is a unit vector
// of its own, attention and feed-forward are zero, and the output matrix is the
// table of which token follows which. A real engine tokenises, evaluates, samples
// and stops; what it says is certain at any temperature. It proves the engine's
// wire, and nothing about the quality of answers.

// Kinds of tokens and of metadata values in the GGUF format, version 3.
const (
	tokenNormal, tokenUnknown, tokenControl, tokenByte = int32(1), int32(2), int32(3), int32(6)

	kindUint32, kindInt32, kindFloat32, kindBool, kindString, kindArray = uint32(4), uint32(5), uint32(6), uint32(7), uint32(8), uint32(9)
)

const (
	unknown, begin, end = 0, 1, 2
	align               = 32
)

type vocabulary struct {
	tokens [][]byte
	kinds  []int32
	follow map[int]int
	known  map[string]bool
}

func (v *vocabulary) add(token string, kind int32) int {
	v.tokens, v.kinds = append(v.tokens, []byte(token)), append(v.kinds, kind)
	v.known[token] = true
	return len(v.tokens) - 1
}

// script makes a control token that starts a text, cut into pieces that no other
// place uses, for a token can be followed by one other only.
func (v *vocabulary) script(start, text string) error {
	at := v.add(start, tokenControl)
	for len(text) > 0 {
		piece := ""
		for _, n := range []int{3, 4, 5, 2, 6, 7, 8, 1, 9, 10, len(text)} {
			if n > len(text) {
				continue
			}
			if p := strings.ReplaceAll(text[:n], " ", "\u2581"); !v.known[p] {
				piece, text = p, text[n:]
				break
			}
		}
		if piece == "" {
			return fmt.Errorf("cut script %s: every beginning of %q is used", start, text)
		}
		next := v.add(piece, tokenNormal)
		v.follow[at], at = next, next
	}
	v.follow[at] = end
	return nil
}

// scripted writes a model that says each text after its start token.
func scripted(scripts map[string]string, order ...string) ([]byte, error) {
	v := &vocabulary{follow: map[int]int{}, known: map[string]bool{}}
	v.add("<unk>", tokenUnknown)
	v.add("<s>", tokenControl)
	v.add("</s>", tokenControl)
	for b := range 256 {
		v.add(fmt.Sprintf("<0x%02X>", b), tokenByte)
	}
	for _, start := range order {
		if err := v.script(start, scripts[start]); err != nil {
			return nil, err
		}
	}
	return v.write(), nil
}

type tensor struct {
	name string
	dims []int
	at   func(row, column int) float32
}

func (v *vocabulary) tensors(width int) []tensor {
	const inner = 32
	count := len(v.tokens)
	zero := func(int, int) float32 { return 0 }
	one := func(int, int) float32 { return 1 }
	leads := make([]int, count) // a token without successor leads to the end
	for t := range leads {
		leads[t] = end
	}
	for t, next := range v.follow {
		leads[t] = next
	}
	out := []tensor{{"token_embd.weight", []int{width, count}, func(row, column int) float32 {
		if row == column {
			return 1
		}
		return 0
	}}, {"blk.0.attn_norm.weight", []int{width}, one}}
	for _, name := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
		out = append(out, tensor{"blk.0." + name + ".weight", []int{width, width}, zero})
	}
	return append(out,
		tensor{"blk.0.ffn_norm.weight", []int{width}, one},
		tensor{"blk.0.ffn_gate.weight", []int{width, inner}, zero},
		tensor{"blk.0.ffn_up.weight", []int{width, inner}, zero},
		tensor{"blk.0.ffn_down.weight", []int{inner, width}, zero},
		tensor{"output_norm.weight", []int{width}, one},
		tensor{"output.weight", []int{width, count}, func(row, column int) float32 {
			if column < count && leads[column] == row {
				return 10
			}
			return 0
		}})
}

func (v *vocabulary) write() []byte {
	width := (len(v.tokens) + align - 1) / align * align
	tensors := v.tensors(width)
	var head, data bytes.Buffer
	head.WriteString("GGUF")
	meta, count := v.meta(width)
	put(&head, uint32(3), uint64(len(tensors)), uint64(count))
	head.Write(meta)
	for _, t := range tensors {
		pad(&data)
		text(&head, t.name)
		put(&head, uint32(len(t.dims)))
		for _, d := range t.dims {
			put(&head, uint64(d))
		}
		put(&head, uint32(0), uint64(data.Len())) // kind 0 is float32
		columns, rows := t.dims[0], 1
		if len(t.dims) > 1 {
			rows = t.dims[1]
		}
		var number [4]byte
		for row := range rows {
			for column := range columns {
				binary.LittleEndian.PutUint32(number[:], math.Float32bits(t.at(row, column)))
				data.Write(number[:])
			}
		}
	}
	pad(&head)
	return append(head.Bytes(), data.Bytes()...)
}

func (v *vocabulary) meta(width int) (raw []byte, count int) {
	var b bytes.Buffer
	key := func(name string, kind uint32) {
		count++
		text(&b, name)
		put(&b, kind)
	}
	str := func(name, value string) { key(name, kindString); text(&b, value) }
	num := func(name string, value int) { key(name, kindUint32); put(&b, uint32(value)) }
	list := func(name string, kind uint32) { key(name, kindArray); put(&b, kind, uint64(len(v.tokens))) }
	const heads = 4
	str("general.architecture", "llama")
	str("general.name", "scripted")
	num("general.file_type", 0)
	num("llama.context_length", 8192)
	num("llama.embedding_length", width)
	num("llama.block_count", 1)
	num("llama.feed_forward_length", 32)
	num("llama.attention.head_count", heads)
	num("llama.attention.head_count_kv", heads)
	key("llama.attention.layer_norm_rms_epsilon", kindFloat32)
	put(&b, float32(1e-6))
	num("llama.rope.dimension_count", width/heads)
	num("llama.vocab_size", len(v.tokens))
	str("tokenizer.ggml.model", "llama")
	list("tokenizer.ggml.tokens", kindString)
	for _, t := range v.tokens {
		text(&b, string(t))
	}
	list("tokenizer.ggml.scores", kindFloat32)
	for range v.tokens {
		put(&b, float32(-1000))
	}
	list("tokenizer.ggml.token_type", kindInt32)
	put(&b, v.kinds)
	num("tokenizer.ggml.bos_token_id", begin)
	num("tokenizer.ggml.eos_token_id", end)
	num("tokenizer.ggml.unknown_token_id", unknown)
	key("tokenizer.ggml.add_space_prefix", kindBool)
	b.WriteByte(0)
	return b.Bytes(), count
}

func put(b *bytes.Buffer, values ...any) {
	for _, value := range values {
		if err := binary.Write(b, binary.LittleEndian, value); err != nil {
			panic(err) // a buffer takes all numbers
		}
	}
}

func text(b *bytes.Buffer, s string) {
	put(b, uint64(len(s)))
	b.WriteString(s)
}

func pad(b *bytes.Buffer) {
	for b.Len()%align != 0 {
		b.WriteByte(0)
	}
}
