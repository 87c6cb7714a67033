package app

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestSilentPageIsNoticedInTwentySeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h *heartbeat
		var dead atomic.Bool
		h = &heartbeat{ask: func() {
			if !dead.Load() {
				h.beat()
			}
		}}
		h.beat()
		noticed := make(chan bool, 1)
		go func() { noticed <- h.watch(t.Context()) }()
		<-time.After(10 * time.Minute)
		select {
		case <-noticed:
			t.Fatal("a page that answers is called dead")
		default:
		}
		dead.Store(true)
		began := time.Now()
		if !<-noticed {
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

func TestPageGetsItsTimeAgainAfterSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &heartbeat{ask: func() {}}
		h.beat()
		<-time.After(10 * time.Minute)
		if h.overdue(10 * time.Minute) {
			t.Error("a page is called dead because the computer slept")
		}
		<-time.After(beatMissing)
		if !h.overdue(beatEvery) {
			t.Error("a page that stays silent after waking is not noticed")
		}
	})
}
