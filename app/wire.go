package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"

	"countersign/app/traymsg"
	"countersign/backend/autostart"
	"countersign/backend/config"
	"countersign/backend/gateway"
	"countersign/backend/host"
	"countersign/backend/protocol"
	"countersign/backend/store"
)

// OpenHost returns what opens the host on a data directory, for Options.Open.
func OpenHost(home, version string, page fs.FS, log *slog.Logger) func(context.Context, func()) (Host, error) {
	return func(ctx context.Context, show func()) (Host, error) {
		login, err := autostart.New()
		if err != nil {
			return nil, err
		}
		h, err := host.Open(ctx, host.Options{
			Home: home, Version: version, Logger: log, Frontend: page, Show: show,
			Startup: func(s config.Startup) error { return login.Apply(autostart.For(s, home)) },
		})
		if errors.Is(err, store.ErrLocked) {
			return nil, fmt.Errorf("%w: %w", ErrAlreadyRunning, err)
		}
		if err != nil {
			return nil, fmt.Errorf("open the host: %w", err)
		}
		return hosted{h}, nil
	}
}

// maxDetail bounds the lines of a change that travel to the tray, which shows fewer and then only counts them.
const maxDetail = 200

// hosted is the host as the window needs it.
type hosted struct{ h *host.Host }

func (w hosted) Serve(ctx context.Context, t Transport) error {
	return w.h.Gateway().ServeConn(ctx, t, gateway.Peer{Kind: gateway.PeerWindow, Name: "the window"})
}

// Views turns each overview into what the tray shows. The goroutine ends when the host closes the overviews.
func (w hosted) Views() <-chan View {
	out := make(chan View, 1)
	go func() {
		defer close(out)
		for o := range w.h.Overviews() {
			select {
			case <-out: // a slow reader gets the newest only
			default:
			}
			out <- view(o)
		}
	}()
	return out
}

func (w hosted) Decide(ctx context.Context, id, nonce string, allow bool) error {
	if nonce == "" {
		return errors.New("decide: the question has no plan to be bound to")
	}
	return w.h.Decide(ctx, protocol.ApprovalID(id), nonce, allow, "tray")
}

func (w hosted) SetPaused(ctx context.Context, paused bool) error { return w.h.SetPaused(ctx, paused) }

func (w hosted) Close(ctx context.Context) error { return w.h.Close(ctx) }

// view says an overview in the tray's words.
func view(o host.Overview) View {
	v := View{
		State: traymsg.State{State: traymsg.Status(o.State), Count: o.NeedsYou, Title: o.Title},
		Menu:  traymsg.Menu{Paused: o.Paused, Waiting: []traymsg.Waiting{}, Running: []traymsg.Running{}},
	}
	for _, a := range o.Waiting {
		v.Menu.Waiting = append(v.Menu.Waiting, waiting(a))
	}
	for _, r := range o.Running {
		title := r.Title
		if title == "" {
			title = "a run"
		}
		v.Menu.Running = append(v.Menu.Running, traymsg.Running{ID: string(r.RunID), Title: title})
	}
	return v
}

// waiting shows exactly what would be done: the command itself where there is one, else the sentence with the change.
// What was cut, rests on text from outside, or runs code that a menu cannot show is decided in the window, like everything
// of high risk.
func waiting(a protocol.Approval) traymsg.Waiting {
	r := a.Request
	w := traymsg.Waiting{
		ID: string(a.ID), Nonce: r.PlanHash, What: r.Sentence, Where: r.Cwd,
		HighRisk: r.HighRisk || r.Truncated || len(r.Taint) > 0 || r.Input != "" || len(r.Scripts) > 0 || r.PlanHash == "",
	}
	if r.Command != "" {
		w.What = r.Command
	}
	if w.Where == "" {
		w.Where = r.Target
	}
	if r.Diff != "" {
		w.Detail = strings.Split(strings.TrimRight(r.Diff, "\n"), "\n")
		if len(w.Detail) > maxDetail {
			w.Detail = w.Detail[:maxDetail]
		}
	}
	return w
}
