package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/backend/config"
	"countersign/backend/gateway"
	"countersign/backend/model"
	"countersign/backend/model/anthropic"
	"countersign/backend/model/openai"
	"countersign/backend/model/practice"
	"countersign/backend/protocol"
	"countersign/backend/run"
	"countersign/backend/secret"
)

// practiceName is the built-in model that is always there.
const practiceName = "practice"

// models finds, lists and changes the models of the settings.
//
// Providers are kept from run to run, for they learn what their server refuses;
// one whose settings or key changed is made anew.
type models struct {
	config  *config.File
	vault   *secret.Vault
	environ []string

	mu   sync.Mutex // guards made
	made map[string]madeProvider
}

type madeProvider struct {
	config   model.Config
	provider model.Provider
}

// factories are the kinds of providers this program knows.
func factories() map[protocol.ModelProvider]model.Factory {
	return map[protocol.ModelProvider]model.Factory{
		protocol.ProviderAnthropic: anthropic.New,
		protocol.ProviderOpenAI:    openai.New,
		protocol.ProviderPractice:  practice.New,
	}
}

// builtIn is the practice model as if it stood in the settings.
func builtIn() config.Model {
	return config.Model{Name: practiceName, Provider: string(protocol.ProviderPractice), Model: practiceName, NoKey: true}
}

func (m *models) all() []config.Model {
	list := m.config.Current().Models
	if !slices.ContainsFunc(list, func(c config.Model) bool { return c.Name == practiceName }) {
		list = append(list, builtIn())
	}
	return list
}

// Select implements run.Models.
func (m *models) Select(ctx context.Context, names ...string) (run.Selected, error) {
	chosen, err := m.choose(names)
	if err != nil {
		return run.Selected{}, err
	}
	key := ""
	if chosen.SecretName != "" {
		if key, err = m.vault.Get(ctx, chosen.SecretName); err != nil {
			return run.Selected{}, keyError(chosen, err)
		}
	}
	kind := protocol.ModelProvider(chosen.Provider)
	provider, err := m.provider(chosen.Name, model.Config{Kind: kind, BaseURL: chosen.BaseURL, Key: key})
	if err != nil {
		return run.Selected{}, err
	}
	return run.Selected{Name: chosen.Name, Model: chosen.Model, Kind: kind, Provider: provider}, nil
}

func (m *models) choose(names []string) (config.Model, error) {
	all := m.all()
	for _, name := range names {
		if name == "" {
			continue
		}
		for _, c := range all {
			if c.Name == name {
				return c, nil
			}
		}
		return config.Model{}, &model.Error{Kind: protocol.ErrorNotFound,
			Sentence: fmt.Sprintf("The model %q is no longer in your settings. Choose another for this conversation, or add it again.", name)}
	}
	for _, c := range all {
		if c.Default {
			return c, nil
		}
	}
	// Without a default the practice model answers: what is said goes to no
	// company that the owner did not choose.
	for _, c := range all {
		if c.Name == practiceName {
			return c, nil
		}
	}
	return all[0], nil
}

func (m *models) provider(name string, c model.Config) (model.Provider, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if kept, ok := m.made[name]; ok && kept.config == c {
		return kept.provider, nil
	}
	p, err := build(c)
	if err != nil {
		return nil, err
	}
	if m.made == nil {
		m.made = make(map[string]madeProvider)
	}
	m.made[name] = madeProvider{c, p}
	return p, nil
}

func build(c model.Config) (model.Provider, error) {
	factory, ok := factories()[c.Kind]
	if !ok {
		return nil, &model.Error{Kind: protocol.ErrorBadRequest, Sentence: fmt.Sprintf("Countersign does not know the provider %q. Choose another in Settings.", c.Kind)}
	}
	p, err := factory(c)
	if err != nil {
		return nil, fmt.Errorf("set up model: %w", err)
	}
	return p, nil
}

func keyError(c config.Model, err error) error {
	var unavailable *secret.UnavailableError
	if errors.As(err, &unavailable) {
		return &model.Error{Kind: protocol.ErrorAuth, Sentence: fmt.Sprintf("The key for %s cannot be read. %s", c.Name, unavailable.Error()), Cause: err}
	}
	return &model.Error{Kind: protocol.ErrorAuth, Sentence: fmt.Sprintf("There is no key for %s. Enter it in Settings, under Models.", c.Name), Cause: err}
}

func (m *models) row(ctx context.Context, c config.Model) protocol.ModelRow {
	row := protocol.ModelRow{
		ID: c.Name, Name: c.Name, Provider: protocol.ModelProvider(c.Provider), Model: c.Model, BaseURL: c.BaseURL, Default: c.Default, NoKey: c.NoKey,
		Available: true, SupportsTools: true, Input: []string{"text", "image"},
	}
	if row.Provider == protocol.ProviderPractice {
		row.Input = []string{"text"}
	}
	if c.SecretName != "" {
		_, err := m.vault.Get(ctx, c.SecretName)
		row.HasKey = err == nil
		if err != nil {
			row.Available, row.UnavailableReason = false, keyError(c, err).(*model.Error).Sentence
		}
	}
	return row
}

// list implements models.list.
func (m *models) list(ctx context.Context, _ gateway.Caller, _ protocol.ModelsListParams) (protocol.ModelsList, error) {
	out := protocol.ModelsList{Models: []protocol.ModelRow{}}
	usual, err := m.choose(nil)
	if err != nil {
		return out, err
	}
	for _, c := range m.all() {
		row := m.row(ctx, c)
		row.Default = c.Name == usual.Name
		out.Models = append(out.Models, row)
	}
	return out, nil
}

// secretName is where the key of a model lies.
func secretName(name string) string { return "model/" + name }

// add implements models.add. The key is in the keychain before the model is in
// the settings, so that a model never stands there without it.
func (m *models) add(ctx context.Context, _ gateway.Caller, p protocol.ModelsAddParams) (protocol.ModelsAddResult, error) {
	p.Name = strings.TrimSpace(p.Name)
	if p.FoundID != "" {
		offer, key, err := m.offer(ctx, p.FoundID)
		if err != nil {
			return protocol.ModelsAddResult{}, err
		}
		p.Provider, p.BaseURL, p.NoKey, p.Key = offer.Provider, offer.BaseURL, offer.NoKey, key
	}
	c := config.Model{Name: p.Name, Provider: string(p.Provider), BaseURL: p.BaseURL, Model: p.Model, NoKey: p.NoKey || p.Provider == protocol.ProviderPractice, Default: p.Default}
	if _, ok := factories()[p.Provider]; !ok {
		return protocol.ModelsAddResult{}, invalid("The provider must be anthropic, openai or practice.")
	}
	if p.Name == "" {
		return protocol.ModelsAddResult{}, invalid("Give the model a name.")
	}
	if c.Model == "" && p.Provider != protocol.ProviderPractice {
		return protocol.ModelsAddResult{}, invalid("Say which model to use, as the provider calls it.")
	}
	if err := m.keepKey(ctx, &c, strings.TrimSpace(p.Key)); err != nil {
		return protocol.ModelsAddResult{}, err
	}
	_, err := m.config.Update(ctx, func(cfg *config.Config) error {
		put(cfg, c)
		return nil
	})
	if err != nil {
		return protocol.ModelsAddResult{}, settingsError(err)
	}
	return protocol.ModelsAddResult{OK: true, Model: m.row(ctx, c)}, nil
}

func (m *models) keepKey(ctx context.Context, c *config.Model, key string) error {
	if c.NoKey {
		return m.forgetKey(ctx, *c)
	}
	if key != "" && isClearText(c.BaseURL) {
		return invalid("The key would be readable on the way to this address. Use https, or an address on this computer.")
	}
	c.SecretName = secretName(c.Name)
	if key == "" {
		if _, err := m.vault.Get(ctx, c.SecretName); err == nil {
			return nil // the key of before stays
		}
		return invalid("Enter the key for this model, or say that it needs none.")
	}
	return secretError(m.vault.Set(ctx, c.SecretName, key))
}

// forgetKey removes the key of a model from the keychain, also one that is left
// from when the model still took one.
func (m *models) forgetKey(ctx context.Context, c config.Model) error {
	err := m.vault.Delete(ctx, secretName(c.Name))
	if err == nil || errors.Is(err, secret.ErrNotFound) || c.SecretName == "" {
		return nil
	}
	return secretError(err)
}

// isClearText reports an address to which a key would travel unencrypted.
func isClearText(base string) bool {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}

func put(cfg *config.Config, c config.Model) {
	if c.Default || len(cfg.Models) == 0 {
		for i := range cfg.Models {
			cfg.Models[i].Default = false
		}
		c.Default = true
	}
	if i := slices.IndexFunc(cfg.Models, func(o config.Model) bool { return o.Name == c.Name }); i >= 0 {
		c.Default = c.Default || cfg.Models[i].Default
		cfg.Models[i] = c
		return
	}
	cfg.Models = append(cfg.Models, c)
}

// remove implements models.remove.
func (m *models) remove(ctx context.Context, _ gateway.Caller, p protocol.ModelsRemoveParams) (protocol.OKResult, error) {
	var gone config.Model
	_, err := m.config.Update(ctx, func(cfg *config.Config) error {
		i := slices.IndexFunc(cfg.Models, func(c config.Model) bool { return c.Name == p.Name })
		if i < 0 {
			return invalid("There is no model of this name in your settings.")
		}
		gone = cfg.Models[i]
		cfg.Models = slices.Delete(cfg.Models, i, i+1)
		return nil
	})
	if err != nil {
		return protocol.OKResult{}, settingsError(err)
	}
	return protocol.OKResult{OK: true}, m.forgetKey(ctx, gone)
}

// servers are programs that serve models on loopback, where they usually listen.
func servers() []protocol.ModelOffer {
	return []protocol.ModelOffer{
		{ID: "ollama", Title: "Ollama", Source: "runs on this computer", Provider: protocol.ProviderOpenAI, BaseURL: "http://127.0.0.1:11434/v1", NoKey: true},
		{ID: "lmstudio", Title: "LM Studio", Source: "runs on this computer", Provider: protocol.ProviderOpenAI, BaseURL: "http://127.0.0.1:1234/v1", NoKey: true},
	}
}

const lookFor = 700 * time.Millisecond

// found implements models.found: it looks, and uses nothing.
func (m *models) found(ctx context.Context, _ gateway.Caller, _ protocol.Empty) (protocol.ModelsFound, error) {
	out := protocol.ModelsFound{Offers: []protocol.ModelOffer{}}
	for _, c := range secret.EnvCandidates(m.environ) {
		out.Offers = append(out.Offers, envOffer(c))
	}
	for _, s := range servers() {
		ctx, cancel := context.WithTimeout(ctx, lookFor)
		names, err := listModels(ctx, model.Config{Kind: s.Provider, BaseURL: s.BaseURL})
		cancel()
		if err == nil {
			s.Models = names
			out.Offers = append(out.Offers, s)
		}
	}
	return out, nil
}

func envOffer(c secret.Candidate) protocol.ModelOffer {
	return protocol.ModelOffer{
		ID: "env:" + c.Variable, Title: c.Name, Source: "the environment variable " + c.Variable, Provider: protocol.ModelProvider(c.Provider),
		BaseURL: c.BaseURL, Models: []string{},
	}
}

func listModels(ctx context.Context, c model.Config) ([]string, error) {
	p, err := build(c)
	if err != nil {
		return nil, err
	}
	lister, ok := p.(model.Lister)
	if !ok {
		return []string{}, nil
	}
	return lister.Models(ctx)
}

func (m *models) offer(ctx context.Context, id string) (protocol.ModelOffer, string, error) {
	for _, c := range secret.EnvCandidates(m.environ) {
		if o := envOffer(c); o.ID == id {
			return o, c.Value(), nil
		}
	}
	for _, s := range servers() {
		if s.ID == id {
			return s, "", nil
		}
	}
	return protocol.ModelOffer{}, "", invalid("This offer is no longer there. Look again.")
}

const testTimeout = 30 * time.Second

// test implements models.test: it asks the model for one word.
func (m *models) test(ctx context.Context, _ gateway.Caller, p protocol.ModelsTestParams) (protocol.ModelsTestResult, error) {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	name, provider, list, err := m.toTest(ctx, p)
	if err == nil {
		_, err = provider.Stream(ctx, model.Request{
			Model: name, MaxTokens: 64,
			Messages: []protocol.Message{{Role: protocol.RoleUser, Content: protocol.Blocks{protocol.TextBlock{Text: "Answer with the word OK."}}}},
		}, func(model.Delta) {})
	}
	out := protocol.ModelsTestResult{OK: err == nil, Sentence: "It answered.", TookMs: time.Since(begun).Milliseconds(), Models: list}
	if err != nil {
		var me *model.Error
		out.Sentence, out.ErrorKind = "It did not answer: "+plain(err)+".", protocol.ErrorUnknown
		if errors.As(err, &me) {
			out.Sentence, out.ErrorKind = me.Sentence, me.Kind
		}
	}
	return out, nil
}

func (m *models) toTest(ctx context.Context, p protocol.ModelsTestParams) (name string, provider model.Provider, list []string, err error) {
	if p.Provider == "" && p.FoundID == "" {
		s, err := m.Select(ctx, p.Name)
		return s.Model, s.Provider, nil, err
	}
	c := model.Config{Kind: p.Provider, BaseURL: p.BaseURL, Key: strings.TrimSpace(p.Key)}
	if p.FoundID != "" {
		offer, key, err := m.offer(ctx, p.FoundID)
		if err != nil {
			return "", nil, nil, err
		}
		c = model.Config{Kind: offer.Provider, BaseURL: offer.BaseURL, Key: key}
	} else if c.Key == "" && p.Name != "" && !p.NoKey {
		if stored, err := m.vault.Get(ctx, secretName(p.Name)); err == nil && m.sameServer(p) {
			c.Key = stored
		}
	}
	if provider, err = build(c); err != nil {
		return "", nil, nil, err
	}
	if lister, ok := provider.(model.Lister); ok {
		if list, err = lister.Models(ctx); err != nil {
			list, err = nil, nil // a server without a list may still answer
		}
	}
	return p.Model, provider, list, err
}

// sameServer reports whether a stored key may go where it is to be tried: only
// to the address it was stored for.
func (m *models) sameServer(p protocol.ModelsTestParams) bool {
	c, ok := m.config.Current().FindModel(p.Name)
	return ok && c.BaseURL == p.BaseURL && c.Provider == string(p.Provider)
}

func invalid(sentence string) error {
	return protocol.NewError(protocol.CodeInvalidRequest, "", sentence)
}

func secretError(err error) error {
	var unavailable *secret.UnavailableError
	if errors.As(err, &unavailable) {
		return protocol.NewError(protocol.CodeUnavailable, protocol.DetailKeychain, unavailable.Error())
	}
	return err
}

func settingsError(err error) error {
	var bad *config.ValidationError
	if errors.As(err, &bad) {
		return invalid(bad.Error())
	}
	return err
}
