package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"countersign/backend/protocol"
	"countersign/backend/tool"
)

// stub is a tool with a schema and nothing else.
type stub struct{ name, schema string }

func (s stub) Spec() tool.Spec {
	return tool.Spec{Name: s.name, Schema: json.RawMessage(s.schema), Effect: protocol.ClassRead}
}
func (stub) Plan(context.Context, tool.Env, json.RawMessage) (tool.Plan, error) {
	return tool.Plan{}, nil
}
func (stub) Do(context.Context, tool.Env, tool.Plan, tool.Progress) (tool.Result, error) {
	return tool.Result{}, nil
}

const openSchema = `{"type":"object","additionalProperties":false,"properties":{
	"path":{"type":"string"},"limit":{"type":"integer","minimum":1,"maximum":100},"deep":{"type":"boolean"},
	"options":{"type":"array","maxItems":2,"items":{"type":"object","additionalProperties":false,"required":["label"],"properties":{"label":{"type":"string"}}}}}}`

const needSchema = `{"type":"object","additionalProperties":false,"required":["path"],"properties":{"path":{"type":"string","minLength":1}}}`

func registry(t testing.TB) *tool.Registry {
	t.Helper()
	r, err := tool.NewRegistry(stub{"open", openSchema}, stub{"need", needSchema})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRegistryRefusesBadTools(t *testing.T) {
	for name, tools := range map[string][]tool.Tool{
		"twice":       {stub{"a", needSchema}, stub{"a", needSchema}},
		"no name":     {stub{"", needSchema}},
		"odd name":    {stub{"a b", needSchema}},
		"no schema":   {stub{"a", ""}},
		"broken":      {stub{"a", "{"}},
		"open schema": {stub{"a", `{"type":"object"}`}},
		"half open":   {stub{"a", `{"type":"object","additionalProperties":{"type":"string"}}`}},
		"no object":   {stub{"a", `{"type":"array","additionalProperties":false}`}},
		"bad type":    {stub{"a", `{"type":"object","additionalProperties":false,"properties":{"x":{"pattern":"("}}}`}},
	} {
		if _, err := tool.NewRegistry(tools...); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestRegistryKeepsTheOrder(t *testing.T) {
	r := registry(t)
	specs := r.Specs()
	if len(specs) != 2 || specs[0].Name != "open" || specs[1].Name != "need" {
		t.Errorf("specs %+v", specs)
	}
	if one, ok := r.Get("need"); !ok || one.Spec().Name != "need" {
		t.Error("need is not found")
	}
	if _, ok := r.Get("none"); ok {
		t.Error("none is found")
	}
}

func TestNothingMeansNoArguments(t *testing.T) {
	r := registry(t)
	for _, raw := range []string{"", `""`, "null", " \n\t", `"  "`, " null ", "{}", "{ }"} {
		got, err := r.Check("open", json.RawMessage(raw))
		if err != nil || string(got) != "{}" {
			t.Errorf("%q: %s %v", raw, got, err)
		}
		var argument *tool.ArgumentError
		if _, err := r.Check("need", json.RawMessage(raw)); !errors.As(err, &argument) || !strings.Contains(err.Error(), `needs the argument "path"`) {
			t.Errorf("%q: %v", raw, err)
		}
	}
	if got, err := r.Check("open", nil); err != nil || string(got) != "{}" {
		t.Errorf("missing: %s %v", got, err)
	}
}

func TestArgumentsThatDoNotFit(t *testing.T) {
	r := registry(t)
	for _, c := range []struct{ name, raw, want string }{
		{"open", `[]`, "a list came (2 bytes)"},
		{"open", `"x"`, "a string came"},
		{"open", `1`, "a number came"},
		{"open", `true`, "true or false came"},
		{"open", `{`, "not valid JSON"},
		{"open", `{} {}`, "something follows"},
		{"open", "{\"path\":\"\xff\"}", "not valid UTF-8"},
		{"open", strings.Repeat("[", 20000), "not valid JSON"},
		{"open", `{"paht":"x"}`, `open has no argument "paht". Did you mean "path"?`},
		{"open", `{"file_path":"x"}`, `no argument "file_path"`},
		{"open", `{"Path":"x"}`, `Did you mean "path"?`},
		{"open", `{"zzzzzzzz":1}`, "It takes: deep, limit, options, path."},
		{"open", `{"path":1}`, "path: type"},
		{"open", `{"limit":0}`, "limit: minimum"},
		{"open", `{"limit":1.5}`, "limit: type"},
		{"open", `{"limit":1e400}`, "out of range"},
		{"open", `{"limit":1e-999999999}`, "limit: minimum"},
		{"open", `{"limit":1e999999999}`, "out of range"},
		{"open", `{"options":[{"label":"a"},{"lable":"b"}]}`, "options[]"},
		{"need", `{"path":""}`, "path: minLength"},
		{"opne", `{}`, `There is no tool named "opne". Did you mean "open"?`},
		{strings.Repeat("x", 5000), `{}`, "There is no tool"},
	} {
		_, err := r.Check(c.name, json.RawMessage(c.raw))
		var argument *tool.ArgumentError
		if !errors.As(err, &argument) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40s: %v, want %q", c.raw, err, c.want)
		}
		if err != nil && len(err.Error()) > 1400 {
			t.Errorf("%.40s: the answer has %d bytes", c.raw, len(err.Error()))
		}
	}
}

func TestAHugePayloadIsNotEchoed(t *testing.T) {
	r := registry(t)
	for _, raw := range []string{strings.Repeat("x", 2<<20), `{"path":"` + strings.Repeat("\x01é\"", 400000), `{"nope` + strings.Repeat("e", 900000) + `":1}`} {
		_, err := r.Check("open", json.RawMessage(raw))
		if err == nil || len(err.Error()) > 1400 {
			t.Errorf("answer of %d bytes", len(err.Error()))
		}
		if len(raw) > tool.MaxArguments && !strings.Contains(err.Error(), "too long: 2") && !strings.Contains(err.Error(), "too long: 1") {
			t.Errorf("the length is not told: %.200s", err.Error())
		}
	}
}

func TestArgumentsBecomeCanonical(t *testing.T) {
	r := registry(t)
	for raw, want := range map[string]string{
		` { "path" : "a<b>&\u00e9" , "deep" : true } `: `{"deep":true,"path":"a<b>&é"}`,
		`{"limit":5.0}`:                `{"limit":5}`,
		`{"limit":5e1}`:                `{"limit":50}`,
		`{"limit":1.5e1}`:              `{"limit":15}`,
		`{"path":"a","path":"b"}`:      `{"path":"b"}`,
		`{"options":[{"label":"\n"}]}`: `{"options":[{"label":"\n"}]}`,
	} {
		got, err := r.Check("open", json.RawMessage(raw))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s %v, want %s", raw, got, err, want)
		}
	}
}

// TestTenThousandValues feeds any JSON, and what is nearly JSON.
func TestTenThousandValues(t *testing.T) {
	r := registry(t)
	const seed = 11
	random := rand.New(rand.NewPCG(seed, seed))
	for i := range 10000 {
		raw := someJSON(random, 4)
		if random.IntN(5) == 0 && raw != "" {
			raw = raw[:random.IntN(len(raw))]
		}
		got, err := r.Check("open", json.RawMessage(raw))
		var argument *tool.ArgumentError
		switch {
		case err != nil && !errors.As(err, &argument):
			t.Fatalf("seed %d value %d %s: %v", seed, i, raw, err)
		case err != nil && len(err.Error()) > 1400:
			t.Fatalf("seed %d value %d: answer of %d bytes", seed, i, len(err.Error()))
		case err == nil && !json.Valid(got):
			t.Fatalf("seed %d value %d %s: %s", seed, i, raw, got)
		}
	}
}

func someJSON(r *rand.Rand, depth int) string {
	scalars := []string{"1", "-0", "1e9", "1.50", "true", "null", `""`, `"x"`, `"é"`, `"\ud800"`, "1e999", "0.1"}
	if depth == 0 {
		return scalars[r.IntN(len(scalars))]
	}
	keys := []string{"path", "limit", "deep", "options", "label", "x", ""}
	var parts []string
	switch r.IntN(4) {
	case 0:
		for range r.IntN(3) {
			parts = append(parts, someJSON(r, depth-1))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case 1:
		return scalars[r.IntN(len(scalars))]
	}
	for range r.IntN(4) {
		parts = append(parts, `"`+keys[r.IntN(len(keys))]+`":`+someJSON(r, depth-1))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func FuzzCheck(f *testing.F) {
	for _, seed := range []string{"", "{}", "[]", `{"path":"x"}`, `{"limit":1e2}`, `"`, "\xff", `{"options":[{}]}`, `{"limit":1e999999999}`, `{"limit":1e-999999999}`} {
		f.Add(seed)
	}
	r := registry(f)
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := r.Check("open", json.RawMessage(raw))
		if err != nil {
			var argument *tool.ArgumentError
			if !errors.As(err, &argument) || len(err.Error()) > 1400 {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		again, err := r.Check("open", got)
		if err != nil || string(again) != string(got) {
			t.Fatalf("%q: %s becomes %s (%v)", raw, got, again, err)
		}
	})
}
