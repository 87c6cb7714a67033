// Package anthropic is the model provider for the Anthropic Messages API and for
// servers that speak it.
//
// Thinking is kept as opaque blocks with their signatures and sent back byte for
// byte or not at all. The beginning of a request, which is the same from turn to
// turn, is marked for the provider's cache. Nothing is read from the environment,
// and no request is sent twice; the one exception is a model that does not know
// the kind of thinking asked for, which is learnt once for each model.
package anthropic

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"countersign/backend/model"
	"countersign/backend/model/internal/wire"
	"countersign/backend/protocol"
)

const standardURL = "https://api.anthropic.com/"

// Provider calls one account of one server. It is safe for concurrent use.
type Provider struct {
	client sdk.Client
	who    wire.Provider
	idle   time.Duration

	mu    sync.Mutex
	modes map[string]mode // by model, what is known of its thinking
}

// New implements model.Factory. A base URL that is no web address is an error in
// words for a person.
func New(c model.Config) (model.Provider, error) {
	base, err := wire.BaseURL(strings.TrimSuffix(strings.TrimRight(strings.TrimSpace(c.BaseURL), "/"), "/v1"), standardURL, "/")
	if err != nil {
		return nil, err
	}
	who := wire.Provider{Name: "Anthropic", Kind: protocol.ProviderAnthropic, Key: c.Key, Local: wire.Local(base)}
	if u, err := url.Parse(base); err == nil && base != standardURL {
		who.Name = u.Host
	}
	options := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithBaseURL(base),
		option.WithHTTPClient(wire.NewClient()),
		option.WithMaxRetries(0),
	}
	if c.Key != "" {
		options = append(options, option.WithAPIKey(c.Key))
	}
	return &Provider{client: sdk.NewClient(options...), who: who, idle: wire.Idle(c.IdleTimeout), modes: make(map[string]mode)}, nil
}

// Models implements model.Lister.
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	watched, stop := wire.Watch(ctx, p.idle)
	defer stop()
	page, err := p.client.Models.List(watched, sdk.ModelListParams{Limit: sdk.Int(1000)})
	if err != nil {
		return nil, p.failed(watched, ctx, err, "", false)
	}
	names := make([]string, 0, len(page.Data))
	for _, m := range page.Data {
		names = append(names, m.ID)
	}
	return names, nil
}

// Stream implements model.Provider.
func (p *Provider) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	all := turns(wire.Prepare(req.Messages))
	for {
		m := p.mode(req, all)
		resp, err := p.once(ctx, req, params(req, all, m), emit)
		var failed *model.Error
		if m == modeNone || !errors.As(err, &failed) || failed.Kind != protocol.ErrorBadRequest || !aboutThinking(failed) {
			return resp, err
		}
		p.learn(req.Model, m)
	}
}

func (p *Provider) once(ctx context.Context, req model.Request, body sdk.MessageNewParams, emit func(model.Delta)) (model.Response, error) {
	watched, stop := wire.Watch(ctx, p.idle)
	defer stop()
	var res *http.Response
	stream := p.client.Messages.NewStreaming(watched, body, option.WithResponseInto(&res))
	defer func() { _ = stream.Close() }()
	a := answer{emit: emit}
	for !a.done && stream.Next() {
		a.event(stream.Current())
	}
	if err := stream.Err(); err != nil && !a.complete() {
		return a.failed(p.failed(watched, ctx, err, req.Model, a.begun))
	}
	if !a.complete() {
		if !a.begun && !isStream(res) {
			return a.failed(p.who.Strange(errors.New("the answer is not a stream of events")))
		}
		return a.failed(p.who.Cut(nil))
	}
	return a.finish(p.who, req)
}

func isStream(res *http.Response) bool {
	return res != nil && strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream")
}

// failed reads an error of the SDK, whose own holds the request with the key.
func (p *Provider) failed(watched, outer context.Context, err error, name string, begun bool) error {
	var refusal *sdk.Error
	if errors.As(err, &refusal) {
		a := wire.Answer{Status: refusal.StatusCode, Type: string(refusal.Type()), Message: refusal.Message, Model: name}
		if refusal.Response != nil {
			a.Header = refusal.Response.Header
		}
		if a.Message == "" {
			a.Message = refusal.RawJSON()
		}
		return p.who.Refused(a)
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && !begun {
		return p.who.Strange(err)
	}
	return p.who.Broken(watched, outer, err, begun)
}

// mode is how a model is asked to think.
type mode int

// Modes from the newest to none; a model that refuses one is asked in the next.
const (
	modeAdaptive mode = iota
	modeBudget
	modeNone
)

// mode is how to ask for thinking in this request. A loop of tool calls that
// began without thinking has to end without it.
func (p *Provider) mode(req model.Request, all []turn) mode {
	if req.Thinking == "" || !mayThink(all) {
		return modeNone
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.modes[req.Model]
}

func (p *Provider) learn(name string, refused mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.modes[name] = max(p.modes[name], refused+1)
}

func aboutThinking(e *model.Error) bool {
	words := strings.ToLower(fmt.Sprint(e.Cause))
	for _, w := range []string{"thinking", "adaptive", "output_config", "effort", "budget_tokens"} {
		if strings.Contains(words, w) {
			return true
		}
	}
	return false
}

// mayThink reports whether the last turn is not one of results, or answers one
// that began with thinking.
func mayThink(all []turn) bool {
	n := len(all)
	if n < 2 || all[n-1].blocks[0].OfToolResult == nil {
		return true
	}
	first := all[n-2].blocks[0]
	return first.OfThinking != nil || first.OfRedactedThinking != nil
}

func newID() string { return rand.Text() }
