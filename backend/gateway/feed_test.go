package gateway_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"countersign/backend/gateway"
	"countersign/backend/gateway/gatewaytest"
	"countersign/backend/protocol"
)

func resumed(t *testing.T, g *gateway.Gateway, after *int64) (*gatewaytest.Client, protocol.HelloOK) {
	c := gatewaytest.DialBuffered(t, g, page, 4096)
	p := gatewaytest.Params()
	if after != nil {
		p.Resume = &protocol.ResumeParams{AfterSeq: *after}
	}
	return c, c.Connect(p)
}

func changesOf(t *testing.T, c *gatewaytest.Client) []int64 {
	t.Helper()
	<-time.After(time.Second)
	var out []int64
	for _, e := range drain(c) {
		if e.Event != protocol.EventChange {
			continue
		}
		var change protocol.ChangeEvent
		if err := json.Unmarshal(e.Payload, &change); err != nil {
			t.Fatal(err)
		}
		out = append(out, change.Seq)
	}
	return out
}

func upTo(from, to int64) []int64 {
	var out []int64
	for n := from; n <= to; n++ {
		out = append(out, n)
	}
	return out
}

func TestResumeReplaysThenGoesLiveWithoutAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &gatewaytest.ChangeLog{}
		opts := gatewaytest.Options(t)
		opts.Changes = log
		g := gatewaytest.New(t, opts)
		for n := range 1200 {
			log.Append("session", fmt.Sprint(n))
		}
		// While the log is read, more is committed; some of it is broadcast at once,
		// some only after the read, when the log held it already.
		var late []protocol.ChangeEvent
		reads := 0
		log.Reading = func() {
			reads++
			if reads > 3 {
				return
			}
			g.Broadcast(protocol.EventChange, log.Append("run", "now"))
			late = append(late, log.Append("run", "late"))
		}
		after := int64(100)
		c, hello := resumed(t, g, &after)
		for _, change := range late {
			g.Broadcast(protocol.EventChange, change)
		}
		g.Broadcast(protocol.EventChange, log.Append("run", "live"))
		if hello.Changes == nil || !hello.Changes.Complete {
			t.Fatalf("hello says %+v", hello.Changes)
		}
		if got, want := changesOf(t, c), upTo(101, 1207); !slices.Equal(got, want) {
			t.Errorf("%d changes came, from %v to %v; want %d", len(got), got[:1], got[len(got)-1:], len(want))
		}
	})
}

func TestWhoCannotBeCaughtUpIsToldToReload(t *testing.T) {
	seven, eleven, minus, zero := int64(7), int64(11), int64(-1), int64(0)
	ten := int64(10)
	rows := []struct {
		name     string
		after    *int64
		complete bool
		replayed []int64
	}{
		{"first connect", nil, true, nil},
		{"up to date", &ten, true, nil},
		{"a little behind", &seven, true, upTo(8, 10)},
		{"behind the log", &zero, false, nil},
		{"ahead of us", &eleven, false, nil},
		{"nonsense", &minus, false, nil},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &gatewaytest.ChangeLog{}
				for range 10 {
					log.Append("session", "x")
				}
				log.Forget(5)
				opts := gatewaytest.Options(t)
				opts.Changes = log
				g := gatewaytest.New(t, opts)
				c, hello := resumed(t, g, row.after)
				if hello.Changes == nil || hello.Changes.Complete != row.complete || hello.Changes.LastSeq != 10 {
					t.Fatalf("hello says %+v", hello.Changes)
				}
				g.Broadcast(protocol.EventChange, log.Append("run", "live"))
				if got, want := changesOf(t, c), append(row.replayed, 11); !slices.Equal(got, want) {
					t.Errorf("came %v, want %v", got, want)
				}
			})
		})
	}
}

func TestAClientWithoutTheCapabilityHearsNothingOfChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &gatewaytest.ChangeLog{}
		opts := gatewaytest.Options(t)
		opts.Changes = log
		g := gatewaytest.New(t, opts)
		c := gatewaytest.Dial(t, g, page)
		p := gatewaytest.Params()
		p.Caps = nil
		hello := c.Connect(p)
		g.Broadcast(protocol.EventChange, log.Append("run", "x"))
		if hello.Changes != nil || len(changesOf(t, c)) != 0 || slices.Contains(hello.Features.Events, protocol.EventChange) {
			t.Error("changes were offered or sent to a client that does not know them")
		}
	})
}

// What happens while hello-ok is made comes after it, and is not lost.
func TestEventsDuringTheHandshakeFollowHello(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := gatewaytest.Options(t)
		var g *gateway.Gateway
		opts.Health = func() protocol.Health {
			if g != nil {
				g.Broadcast(protocol.EventChat, chat("r", protocol.ChatStateFinal, ""))
			}
			return protocol.Health{OK: true}
		}
		g = gatewaytest.New(t, opts)
		c := gatewaytest.Dial(t, g, window)
		c.Connect(gatewaytest.Params())
		if len(c.Events) != 0 {
			t.Error("an event came before hello-ok")
		}
		if e := c.Event(); e.Event != protocol.EventChat || e.Seq != 1 {
			t.Errorf("after hello-ok came %s with seq %d", e.Event, e.Seq)
		}
	})
}
