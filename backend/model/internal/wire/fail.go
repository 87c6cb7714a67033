package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"time"

	"countersign/backend/model"
	"countersign/backend/protocol"
)

// maxCause bounds the provider's own words in an error.
const maxCause = 2 << 10

// Provider is who a failure is about.
type Provider struct {
	// Name is how a person knows it: Anthropic, OpenAI, or a host.
	Name string
	// Kind goes into the error.
	Kind protocol.ModelProvider
	// Key is masked wherever it turns up.
	Key string
	// Local says that it runs on this computer.
	Local bool
}

// Answer is a refusal of a provider, read from its response or its stream.
type Answer struct {
	Status  int
	Header  http.Header
	Code    string
	Type    string
	Message string
	Model   string
}

// kept is what each sentence says of the person's message.
const kept = " Your message is kept; "

// Fail makes the error of one kind.
func (p Provider) Fail(kind protocol.ErrorKind, retryable bool, sentence string, cause error) *model.Error {
	if cause != nil {
		cause = errors.New(p.mask(cause.Error()))
	}
	return &model.Error{Kind: kind, Retryable: retryable, Sentence: sentence, Provider: string(p.Kind), Cause: cause}
}

// mask takes the key out of text and bounds it.
func (p Provider) mask(text string) string {
	if len(p.Key) > 3 {
		text = strings.ReplaceAll(text, p.Key, "[key]")
	}
	return cut(strings.ToValidUTF8(text, "�"), maxCause)
}

// Refused turns a provider's refusal into an error. The words of the message
// decide where status and code are used for several things.
func (p Provider) Refused(a Answer) *model.Error {
	e := p.refused(a)
	e.HTTPStatus = a.Status
	if e.Retryable {
		e.RetryAfter = RetryAfter(a.Header, time.Now())
	}
	return e
}

func (p Provider) refused(a Answer) *model.Error {
	cause := fmt.Errorf("status %d %s %s: %s", a.Status, a.Type, a.Code, a.Message)
	words := strings.ToLower(a.Code + " " + a.Type + " " + a.Message)
	has := func(any ...string) bool {
		for _, s := range any {
			if strings.Contains(words, s) {
				return true
			}
		}
		return false
	}
	fail := func(kind protocol.ErrorKind, retryable bool, sentence string) *model.Error {
		return p.Fail(kind, retryable, sentence, cause)
	}
	switch {
	case a.Status == http.StatusPaymentRequired, has("insufficient_quota", "credit balance", "billing_error", "billing_hard_limit", "insufficient credits", "insufficient balance"):
		return fail(protocol.ErrorRateLimit, false, p.Name+" says that the account has no credit left."+kept+"add credit there, or choose another model.")
	case a.Status == http.StatusUnauthorized, has("authentication_error", "invalid_api_key"):
		if p.Key == "" {
			return fail(protocol.ErrorAuth, false, p.Name+" asks for a key, and none is set."+kept+"add the key in Settings under Models.")
		}
		return fail(protocol.ErrorAuth, false, p.Name+" does not accept the key."+kept+"set a valid key in Settings under Models.")
	case a.Status == http.StatusForbidden, has("permission_error"):
		return fail(protocol.ErrorAuth, false, p.Name+" does not let this key use "+named(a.Model)+"."+kept+"choose another model, or ask for access there.")
	case has("context_length", "prompt is too long", "maximum context", "context window", "context size", "too many tokens", "exceeds the context", "context limit", "input is too long"):
		return fail(protocol.ErrorContextLength, false, "This conversation has grown too long for "+named(a.Model)+"."+kept+"start a new session, or choose a model with a larger context.")
	case a.Status == http.StatusRequestEntityTooLarge, has("request_too_large"):
		return fail(protocol.ErrorContextLength, false, "The request is too large for "+p.Name+", most likely through pictures or files."+kept+"send fewer or smaller ones, or start a new session.")
	case a.Status == http.StatusTooManyRequests, has("rate_limit"):
		return fail(protocol.ErrorRateLimit, true, p.Name+" has had too many requests from this account for now."+kept+"wait a little and try again, or choose another model.")
	case a.Status == 529, a.Status == http.StatusServiceUnavailable, has("overloaded", "server_overloaded", "at capacity"):
		return fail(protocol.ErrorOverloaded, true, p.Name+" is overloaded at the moment."+kept+"try again in a few minutes, or choose another model.")
	case a.Status == http.StatusRequestTimeout, a.Status == http.StatusGatewayTimeout, has("timeout_error"):
		return fail(protocol.ErrorTimeout, true, p.Name+" took too long to answer."+kept+"try again, or choose a faster model.")
	case a.Status == http.StatusNotFound, has("model_not_found", "not_found_error"):
		return fail(protocol.ErrorNotFound, false, p.notFound(a))
	case a.Status >= 500 && a.Status != http.StatusNotImplemented, a.Status == http.StatusConflict, has("api_error", "server_error", "internal_error"):
		return fail(protocol.ErrorOverloaded, true, p.Name+" has a fault on its side"+status(a.Status)+"."+kept+"try again in a few minutes, or choose another model.")
	case a.Status == http.StatusOK:
		return fail(protocol.ErrorUnknown, true, p.Name+" broke off its answer with an error."+kept+"try again, or choose another model.")
	case a.Status >= 300 && a.Status < 400:
		return p.moved(cause)
	}
	return fail(protocol.ErrorBadRequest, false, p.Name+" did not accept the request"+p.said(a.Message)+"."+kept+"try another model, or start a new session.")
}

func (p Provider) notFound(a Answer) string {
	if a.Model == "" || a.Message == "" {
		return "There is no model server at the address that is set for " + p.Name + "." + kept + "check the address in Settings under Models."
	}
	return p.Name + " does not know the model " + a.Model + "." + kept + "choose one that it offers in Settings under Models."
}

// said repeats a short reason in the provider's words.
func (p Provider) said(message string) string {
	message = strings.Join(strings.Fields(p.mask(message)), " ")
	if message == "" || strings.HasPrefix(message, "<") {
		return "" // a page is nothing to repeat
	}
	const most = 160
	if short := cut(message, most); short != message {
		message = short + "…"
	}
	return " and says “" + strings.TrimRight(message, ".") + "”"
}

func (p Provider) moved(cause error) *model.Error {
	return p.Fail(protocol.ErrorNetwork, false, p.Name+" sends us on to another address, and the key is not carried there."+kept+"if you trust that address, set it in Settings under Models.", cause)
}

func named(name string) string {
	if name == "" {
		return "this model"
	}
	return "the model " + name
}

func status(code int) string {
	if code == 0 || code == http.StatusOK {
		return ""
	}
	return fmt.Sprintf(" (%d)", code)
}

// Broken turns an error of the connection into one of the contract. ctx is the
// one of Watch, outer the caller's. started says that a response had begun.
func (p Provider) Broken(ctx, outer context.Context, err error, started bool) error {
	if outer.Err() != nil {
		return context.Cause(outer)
	}
	if errors.Is(context.Cause(ctx), errIdle) {
		return p.Silent(started)
	}
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.Is(err, errMove):
		return p.moved(err)
	case started || errors.Is(err, io.ErrUnexpectedEOF):
		return p.Cut(err)
	case errors.As(err, &certificate), errors.As(err, &authority), errors.As(err, &host):
		return p.Fail(protocol.ErrorNetwork, false, "The connection to "+p.Name+" is not safe: its certificate cannot be verified."+kept+"check the address, and your network if it intercepts connections.", reason(err))
	case errors.As(err, &dns):
		return p.Fail(protocol.ErrorNetwork, true, "The address of "+p.Name+" cannot be found."+kept+"check your internet connection and the address in Settings under Models.", reason(err))
	case isRefused(err):
		return p.Fail(protocol.ErrorNetwork, true, p.refusedConnection(), reason(err))
	case errors.As(err, &timeout) && timeout.Timeout():
		return p.Fail(protocol.ErrorTimeout, true, p.Name+" cannot be reached in time."+kept+"check your internet connection and try again.", reason(err))
	}
	return p.Fail(protocol.ErrorNetwork, true, "The connection to "+p.Name+" failed."+kept+"check your internet connection and try again.", reason(err))
}

// wsaRefused is what Windows calls ECONNREFUSED, which package syscall does not
// map.
const wsaRefused = syscall.Errno(10061)

func isRefused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || runtime.GOOS == "windows" && errors.Is(err, wsaRefused)
}

func (p Provider) refusedConnection() string {
	if p.Local {
		return "No model server answers at " + p.Name + " on this computer." + kept + "start it (Ollama or LM Studio, for example) and try again."
	}
	return p.Name + " does not take connections." + kept + "check the address in Settings under Models and try again."
}

// Silent is the error of a stream that said nothing for too long.
func (p Provider) Silent(started bool) *model.Error {
	if started {
		return p.Fail(protocol.ErrorTimeout, true, p.Name+" fell silent in the middle of its answer. What had arrived is kept; try again.", errIdle)
	}
	return p.Fail(protocol.ErrorTimeout, true, p.Name+" did not begin to answer in time."+kept+"try again, or choose a faster model.", errIdle)
}

// Cut is the error of an answer whose end never came.
func (p Provider) Cut(cause error) *model.Error {
	if cause == nil {
		cause = errors.New("the stream ended without its last event")
	}
	return p.Fail(protocol.ErrorCut, true, "The answer of "+p.Name+" broke off before its end. What had arrived is kept; try again.", cause)
}

// Empty is the error of an answer without any text or call.
func (p Provider) Empty(stop string) *model.Error {
	return p.Fail(protocol.ErrorEmpty, true, p.Name+" answered with nothing."+kept+"try again, say it in another way, or choose another model.", fmt.Errorf("no content, stop reason %q", stop))
}

// Declined is the error of a model that refuses without a word.
func (p Provider) Declined() *model.Error {
	return p.Fail(protocol.ErrorRefusal, false, "The model declined to answer this."+kept+"say it in another way, or choose another model.", errors.New("stop reason refusal without text"))
}

// TooLong is the error of an answer whose limit fell into a tool call.
func (p Provider) TooLong() *model.Error {
	return p.Fail(protocol.ErrorCut, false, "The model's answer reached its length limit before the step it was writing was complete, so nothing was done."+kept+"ask for less at a time, or choose another model.", errors.New("stop reason length without usable content"))
}

// Strange is the error of a server that answers something else.
func (p Provider) Strange(cause error) *model.Error {
	return p.Fail(protocol.ErrorNotFound, false, "What answers at the address of "+p.Name+" does not speak as a model server does."+kept+"check the address in Settings under Models.", cause)
}

// reason takes the address off an error of net/http; what was typed into it is
// nobody else's to read.
func reason(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}
