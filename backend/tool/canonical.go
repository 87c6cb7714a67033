package tool

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// PlanHash is the lower-case hex SHA-256 of the canonical JSON of the hashed
// part of a plan. An approval is bound to it, so it is the same in every process
// and after a plan was stored and read back.
func PlanHash(p Plan) string {
	raw, err := json.Marshal(p)
	if err == nil {
		raw, err = Canonical(raw)
	}
	if err != nil {
		// A plan with broken JSON in Args or Detail has no identity. Hashing the
		// fault keeps it apart from every valid plan, whose input starts with "{".
		raw = []byte("broken plan: " + err.Error())
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// Canonical rewrites one JSON value so that equal values have equal bytes: keys
// sorted, no spaces, no HTML escapes, whole numbers as integers.
func Canonical(raw []byte) (json.RawMessage, error) {
	value, err := decodeOne(raw)
	if err != nil {
		return nil, err
	}
	return encode(value)
}

func encode(value any) (json.RawMessage, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, fmt.Errorf("encode canonical json: %w", err)
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}

// decodeOne reads exactly one JSON value, with numbers in canonical form.
func decodeOne(raw []byte) (any, error) {
	if !utf8.Valid(raw) {
		return nil, errors.New("it is not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, fmt.Errorf("decode json: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON value")
	}
	return plainNumbers(value), nil
}

// plainNumbers turns 5.0 and 5e0 into 5: models write all three for an integer,
// and Go's decoder takes only the last for an int.
func plainNumbers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			v[key] = plainNumbers(item)
		}
	case []any:
		for i, item := range v {
			v[i] = plainNumbers(item)
		}
	case json.Number:
		return plainNumber(v)
	}
	return value
}

// Bounds of what is worked out exactly: 1e-999999999 is nine digits to write and
// hours to compute.
const (
	maxNumber   = 32
	maxExponent = 40
)

func plainNumber(n json.Number) json.Number {
	s := string(n)
	if !strings.ContainsAny(s, ".eE") || len(s) > maxNumber {
		return n
	}
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		exponent, err := strconv.Atoi(s[at+1:])
		if err != nil || exponent > maxExponent || exponent < -maxExponent {
			return n
		}
	}
	exact, ok := new(big.Rat).SetString(s)
	if !ok || !exact.IsInt() || exact.Num().BitLen() > 53 {
		return n
	}
	return json.Number(exact.Num().String())
}

// Decode reads checked arguments into a tool's own struct. A mismatch, which
// Registry.Check has excluded unless it was passed by, is an *ArgumentError.
func Decode(args json.RawMessage, into any) error {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return &ArgumentError{Sentence: "The arguments could not be read: " + strings.TrimPrefix(err.Error(), "json: ") + "."}
	}
	return nil
}

// Encode writes a tool's own struct as canonical JSON, for Plan.Args and
// Plan.Detail.
func Encode(from any) (json.RawMessage, error) {
	raw, err := json.Marshal(from)
	if err != nil {
		return nil, fmt.Errorf("encode plan: %w", err)
	}
	return Canonical(raw)
}
