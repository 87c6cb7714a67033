// Package openai is the model provider for the Chat Completions API of OpenAI and
// of the many servers that speak it: Ollama, LM Studio, OpenRouter, vLLM,
// llama.cpp and others.
//
// Such servers differ in small ways, and this package takes them as they are: it
// reads the chunks itself, tells parallel calls apart whatever their indices,
// takes reasoning from its own fields or from tags in the text, and never shows
// or keeps reasoning as text. A field that a server refuses is left out from then
// on; apart from that, no request is sent twice. Nothing is read from the
// environment, and a server without a key is fine.
package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"countersign/backend/model"
	"countersign/backend/model/internal/completion"
	"countersign/backend/model/internal/wire"
	"countersign/backend/protocol"
)

const standardURL = "https://api.openai.com/v1/"

// Provider calls one account of one server. It is safe for concurrent use.
type Provider struct {
	// The services are made one by one: the client that holds them all takes keys
	// and headers from the environment.
	chat    sdk.ChatCompletionService
	models  sdk.ModelService
	who     wire.Provider
	idle    time.Duration
	dialect *dialect
}

// New implements model.Factory. A base URL that is no web address is an error in
// words for a person; one without a path gets /v1.
func New(c model.Config) (model.Provider, error) {
	base, err := wire.BaseURL(c.BaseURL, standardURL, "/v1")
	if err != nil {
		return nil, err
	}
	who := wire.Provider{Name: "OpenAI", Kind: protocol.ProviderOpenAI, Key: c.Key, Local: wire.Local(base)}
	if u, err := url.Parse(base); err == nil && base != standardURL {
		who.Name = u.Host
	}
	options := []option.RequestOption{
		option.WithBaseURL(base),
		option.WithHTTPClient(wire.NewClient()),
		option.WithMaxRetries(0),
	}
	if c.Key != "" {
		options = append(options, option.WithAPIKey(c.Key))
	}
	return &Provider{
		chat:    sdk.NewChatCompletionService(options...),
		models:  sdk.NewModelService(options...),
		who:     who,
		idle:    wire.Idle(c.IdleTimeout),
		dialect: &dialect{features: features{newTokens: base == standardURL}},
	}, nil
}

// Models implements model.Lister.
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	watched, stop := wire.Watch(ctx, p.idle)
	defer stop()
	var res *http.Response
	page, err := p.models.List(watched, option.WithResponseInto(&res))
	if err != nil {
		return nil, p.failed(watched, ctx, err, res, "", false)
	}
	names := make([]string, 0, len(page.Data))
	for _, m := range page.Data {
		if m.ID != "" {
			names = append(names, m.ID)
		}
	}
	return names, nil
}

// Stream implements model.Provider.
func (p *Provider) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	history := wire.Prepare(req.Messages)
	for {
		known := p.dialect.now()
		resp, err := p.once(ctx, req, params(req, history, known), emit)
		var failed *model.Error
		if !errors.As(err, &failed) || failed.Kind != protocol.ErrorBadRequest || failed.Streamed || !p.dialect.learn(known, fmt.Sprint(failed.Cause)) {
			return resp, err
		}
	}
}

func (p *Provider) once(ctx context.Context, req model.Request, body sdk.ChatCompletionNewParams, emit func(model.Delta)) (model.Response, error) {
	watched, stop := wire.Watch(ctx, p.idle)
	defer stop()
	var res *http.Response
	stream := p.chat.NewStreaming(watched, body, option.WithResponseInto(&res), option.WithMiddleware(streamed)).WithEventsMode()
	defer func() { _ = stream.Close() }()
	a := completion.New(emit)
	for stream.Next() {
		refusal, err := a.Take([]byte(stream.Current().RawJSON()))
		if err != nil {
			return a.Failed(p.who.Cut(err))
		}
		if refusal != nil {
			refusal.Model, refusal.Header = req.Model, res.Header
			return a.Failed(p.who.Refused(*refusal))
		}
	}
	if err := stream.Err(); err != nil && !a.Stopped() {
		return a.Failed(p.failed(watched, ctx, err, res, req.Model, a.Begun()))
	}
	if !a.Stopped() && !closed(res) {
		if !a.Begun() && !isStream(res) {
			return a.Failed(p.who.Strange(errors.New("the answer is not a stream of events")))
		}
		return a.Failed(p.who.Cut(nil))
	}
	return a.Finish(p.who, req)
}

// failed reads an error of the SDK, whose own holds the request with the key.
func (p *Provider) failed(watched, outer context.Context, err error, res *http.Response, name string, begun bool) error {
	if outer.Err() == nil && res != nil && res.StatusCode >= http.StatusMultipleChoices {
		raw, readErr := io.ReadAll(io.LimitReader(res.Body, wire.MaxJSON))
		if readErr != nil {
			raw = nil
		}
		a := completion.ReadRefusal(raw)
		a.Status, a.Header, a.Model = res.StatusCode, res.Header, name
		return p.who.Refused(a)
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && !begun {
		return p.who.Strange(err)
	}
	return p.who.Broken(watched, outer, err, begun)
}

func isStream(res *http.Response) bool {
	return res != nil && strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream")
}

// streamed makes a stream of the one answer of a server that cannot stream, and
// notes on every stream whether its last event has come.
func streamed(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(req)
	if err != nil || res.StatusCode != http.StatusOK {
		return res, err
	}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		raw, err := io.ReadAll(io.LimitReader(res.Body, wire.MaxJSON))
		if err != nil {
			return nil, fmt.Errorf("read the answer: %w", errors.Join(err, res.Body.Close()))
		}
		var one bytes.Buffer
		if err := json.Compact(&one, raw); err != nil {
			one.Reset()
		}
		whole := "data: " + one.String() + "\n\ndata: [DONE]\n\n"
		if one.Len() == 0 {
			whole = ""
		} else {
			res.Header.Set("Content-Type", "text/event-stream")
		}
		res.Body = struct {
			io.Reader
			io.Closer
		}{strings.NewReader(whole), res.Body}
	}
	res.Body = &ending{ReadCloser: res.Body}
	return res, nil
}

// done is the last event of a stream.
const done = "data: [DONE]"

// ending looks for the last event in what passes by.
type ending struct {
	io.ReadCloser
	tail []byte
	seen bool
}

// Read implements io.Reader.
func (e *ending) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	if !e.seen && n > 0 {
		e.tail = append(e.tail, p[:n]...)
		e.seen = bytes.Contains(e.tail, []byte("\n"+done)) || bytes.HasPrefix(e.tail, []byte(done))
		e.tail = e.tail[max(0, len(e.tail)-len(done)):]
	}
	return n, err
}

// closed reports whether the last event of a stream has come. The library stops
// there, and at a clean end of the connection, without telling them apart.
func closed(res *http.Response) bool {
	if res == nil {
		return false
	}
	e, ok := res.Body.(*ending)
	return ok && e.seen
}
