package protocol_test

import (
	"reflect"
	"testing"

	"countersign/backend/protocol"
)

func TestEveryScopedMethodHasOneRowInTheTable(t *testing.T) {
	rows := map[protocol.Method]int{}
	for _, c := range protocol.Calls() {
		rows[c.Method]++
		if rows[c.Method] > 1 {
			t.Errorf("%s stands twice in the table", c.Method)
		}
		if c.Scope == "" && c.Method != protocol.MethodConnect {
			t.Errorf("%s needs no scope; only connect may", c.Method)
		}
		if c.Params.Kind() != reflect.Struct {
			t.Errorf("%s takes a %s; params are an object", c.Method, c.Params)
		}
	}
	for m := range protocol.MethodScopes {
		if rows[m] == 0 {
			t.Errorf("%s has a scope but no row in the table", m)
		}
	}
	if len(rows) != len(protocol.MethodScopes)+1 {
		t.Errorf("the table has %d methods, the scopes %d and connect", len(rows), len(protocol.MethodScopes))
	}
}

func TestEveryEventHasOneRowInTheTable(t *testing.T) {
	rows := map[protocol.EventName]bool{}
	for _, e := range protocol.EventPayloads() {
		if rows[e.Event] {
			t.Errorf("%s stands twice in the table", e.Event)
		}
		rows[e.Event] = true
		if _, known := protocol.EventScopes[e.Event]; !known {
			t.Errorf("%s has no scope and would never be sent", e.Event)
		}
	}
	for e := range protocol.EventScopes {
		if !rows[e] {
			t.Errorf("%s has a scope but no row in the table", e)
		}
	}
}
