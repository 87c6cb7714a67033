// Package anthropic is the model provider for the Anthropic Messages API and for
// servers that speak it.
//
// Thinking is kept as opaque blocks with their signatures and sent back byte for
// byte or not at all. The beginning of a request, which is the same from turn to
// turn, is marked for the provider's cache. Nothing is read from the environment,
// and no request is sent twice; the one exception is a model that refuses the kind
// of thinking or the length of answer asked for, which is learnt once.
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

	mu     sync.Mutex
	habits map[string]habits // by model, what it has shown of itself
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
	return &Provider{client: sdk.NewClient(options...), who: who, idle: wire.Idle(c.IdleTimeout), habits: make(map[string]habits)}, nil
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
		known := p.known(req.Model)
		resp, err := p.once(ctx, req, params(req, all, known), emit)
		var failed *model.Error
		if !errors.As(err, &failed) || failed.Kind != protocol.ErrorBadRequest || failed.Streamed || !p.learn(req.Model, known, fmt.Sprint(failed.Cause)) {
			return resp, err
		}
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

func newID() string { return rand.Text() }
