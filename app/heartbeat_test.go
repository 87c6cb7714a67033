package app

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestSilentPageIsNoticedInTwentySeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h *heartbeat
		alive := true
		h = &heartbeat{ask: func() {
			if alive {
				h.beat()
			}
		}}
		h.beat()
		dead := make(chan bool, 1)
		go func() { dead <- h.watch(t.Context()) }()
		<-time.After(10 * time.Minute)
		select {
		case <-dead:
			t.Fatal("a page that answers is called dead")
		default:
		}
		alive = false
		began := time.Now()
		if !<-dead {
			t.Fatal("the watch ended without a verdict")
		}
		if took := time.Since(began); took < beatMissing-beatEvery || took > beatMissing+beatEvery {
			t.Errorf("noticed after %s, want about %s", took, beatMissing)
		}
	})
}

func TestPageThatNeverBeatIsNotJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if (&heartbeat{ask: func() {}}).watch(ctx) {
			t.Error("a page that is still loading is called dead")
		}
	})
}
