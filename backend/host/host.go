// Package host builds the whole system from a data directory: stores, session
// runtime, tools, models and gateway. It is the composition root and the only
// package that knows them all.
//
// Start order: settings, keychain, lock and stores, tools and models, the conductor of
// runs (which recovers what an older boot left), then the gateway's doors. Stop
// order is the reverse: doors first, so that nothing new is accepted, then the
// runs, each back into its queue, then the stores.
package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"countersign/backend/approval"
	"countersign/backend/blob"
	"countersign/backend/config"
	"countersign/backend/effect"
	"countersign/backend/gateway"
	"countersign/backend/protocol"
	"countersign/backend/queue"
	"countersign/backend/registry"
	"countersign/backend/run"
	"countersign/backend/sandbox"
	"countersign/backend/secret"
	"countersign/backend/session"
	"countersign/backend/store"
	"countersign/backend/tool"
	"countersign/backend/tool/ask"
	"countersign/backend/tool/exec"
	"countersign/backend/tool/files"
)

// SchemaFormat is the format of state.db that this program writes.
const SchemaFormat = 1

// serviceName is how the keychain lists our secrets.
const serviceName = "Countersign"

// SocketName is the Unix socket of the command line, in the data directory.
const SocketName = "countersign.sock"

// Options say what to build.
type Options struct {
	// Home is the data directory: absolute, existing, 0700.
	Home    string
	Version string
	Logger  *slog.Logger
	// Frontend is the built page; nil serves none.
	Frontend fs.FS
	// Workspace is the folder of a new main agent; empty means one by convention.
	Workspace string
	// TokenFile, when given, lets its content read and write over the port.
	TokenFile string
	// Show brings the window to the front; nil where there is none.
	Show func()
	// Startup applies the switches for starting with the computer; nil where
	// there are none.
	Startup func(config.Startup) error
	// Keyring replaces the system's keychain in tests.
	Keyring secret.Keyring
	Environ []string
	Now     func() time.Time
	// Sync is store.SyncOff in benchmarks only.
	Sync store.SyncMode
}

// Host is a running system. It is safe for concurrent use.
type Host struct {
	o        Options
	log      *slog.Logger
	db       *store.DB
	blobs    *blob.Store
	config   *config.File
	problems config.Problems
	vault    *secret.Vault
	redactor *secret.Redactor
	sandbox  *sandbox.Runner
	tools    *tool.Registry
	models   *models
	runs     *run.Manager
	gateway  *gateway.Gateway
	socket   *gateway.Socket
	token    *gateway.TokenFile
	state    *state
	anchor   *anchor
	started  time.Time
	bootID   string

	mu       sync.Mutex // guards server and notice
	server   *gateway.Server
	notice   map[string]protocol.Problem
	closing  sync.Once
	closeErr error
	cancels  []func()
}

// Open builds and starts everything. Errors that callers branch on:
// *store.LockedError (another instance runs on this directory),
// *store.NewerFormatError and *store.CorruptError.
func Open(ctx context.Context, o Options) (*Host, error) {
	sandbox.SealDescriptors()
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	h := &Host{o: o, log: o.Logger, started: o.Now(), bootID: uuid.NewString(), notice: make(map[string]protocol.Problem)}
	steps := []func(context.Context) error{h.openSettings, h.openSecrets, h.openStores, h.openTools, h.openGateway, h.openRuns, h.openDoors}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, h.Close(context.WithoutCancel(ctx)))
		}
	}
	return h, nil
}

// Schemas are the owners' tables in composed order.
func Schemas() []store.Schema {
	return []store.Schema{registry.Schema(), blob.Schema(), session.Schema(), queue.Schema(), effect.Schema(), approval.Schema()}
}

func (h *Host) openSettings(context.Context) (err error) {
	if h.config, h.problems, err = config.Load(h.o.Home); err != nil {
		return fmt.Errorf("read settings: %w", err)
	}
	return nil
}

func (h *Host) openStores(ctx context.Context) (err error) {
	h.db, err = store.Open(ctx, store.Options{
		Path: filepath.Join(h.o.Home, "state.db"), Schemas: Schemas(), Format: SchemaFormat, Logger: h.log, Now: h.o.Now, Sync: h.o.Sync,
	})
	if err != nil {
		return err
	}
	if h.blobs, err = blob.Open(filepath.Join(h.o.Home, "blobs")); err != nil {
		return err
	}
	return h.ensureAgent(ctx)
}

// ensureAgent makes the main agent and its workspace on the first start.
func (h *Host) ensureAgent(ctx context.Context) error {
	var known bool
	err := h.db.Read(ctx, func(tx *store.ReadTx) error {
		_, err := registry.GetAgent(tx, protocol.MainAgent)
		known = err == nil
		if errors.Is(err, registry.ErrNotFound) {
			return nil
		}
		return err
	})
	if err != nil || known {
		return err
	}
	dir := h.o.Workspace
	if dir == "" {
		if dir, err = defaultWorkspace(h.o.Home); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make workspace: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return fmt.Errorf("make workspace: %w", err)
	}
	return h.db.Write(ctx, func(tx *store.Tx) error {
		return registry.PutAgent(tx, registry.Agent{ID: protocol.MainAgent, Name: "Countersign", Workspace: dir}, h.nowMs())
	})
}

// defaultWorkspace is ~/Countersign for the data directory of the OS convention,
// and a folder beside the data for any other, so that trying things out leaves
// nothing in the owner's home.
func defaultWorkspace(home string) (string, error) {
	conventional, err := config.ConventionalDir()
	if err != nil || conventional != home {
		return filepath.Join(home, "workspace"), nil
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find home folder: %w", err)
	}
	return filepath.Join(user, "Countersign"), nil
}

func (h *Host) openSecrets(ctx context.Context) error {
	h.vault = secret.Open(secret.Options{Service: serviceName, Namespace: namespace(h.o.Home), Dir: h.o.Home, Logger: h.log, Keyring: h.o.Keyring})
	h.redactor = secret.NewRedactor(h.vault.Known)
	h.log = slog.New(masked{h.log.Handler(), h.redactor})
	h.models = &models{config: h.config, vault: h.vault, environ: h.o.Environ}
	// Keys are read once now, so that they can be masked from the first output on.
	for _, m := range h.config.Current().Models {
		if m.SecretName == "" {
			continue
		}
		if _, err := h.vault.Get(ctx, m.SecretName); err != nil {
			h.log.Info("key not readable yet", "model", m.Name, "cause", err)
		}
	}
	return nil
}

// namespace keeps the keys of several data directories apart in one keychain;
// the conventional one has none, so that its names are the plain ones.
func namespace(home string) string {
	if conventional, err := config.ConventionalDir(); err == nil && conventional == home {
		return ""
	}
	return home
}

func (h *Host) openTools(context.Context) (err error) {
	h.sandbox = sandbox.NewRunner(sandbox.Options{Logger: h.log})
	all := append(files.New(), exec.New(h.sandbox, h.o.Environ), ask.New())
	h.tools, err = tool.NewRegistry(all...)
	return err
}

func (h *Host) openRuns(ctx context.Context) error {
	h.runs = run.New(run.Options{
		DB: h.db, Blobs: h.blobs, Tools: h.tools, Models: h.models, Places: places{h}, Events: fanOut{h}, Undo: files.Undo,
		Limits: h.limits, Sandboxed: h.sandboxed, Mask: h.redactor.Redact, MaskMark: secret.Mask[:len(secret.Mask)-1], Owner: "you", Logger: h.log, Now: h.o.Now, NewID: newID,
	})
	h.state = newState(h)
	h.anchor = newAnchor(h)
	h.cancels = append(h.cancels, h.db.Subscribe(h.project))
	h.registerMethods()
	if err := h.runs.Start(ctx); err != nil {
		return err
	}
	return h.state.refresh(ctx)
}

// newID gives a time-ordered identifier (UUID version 7).
func newID() string { return uuid.Must(uuid.NewV7()).String() }

func (h *Host) nowMs() int64 { return h.o.Now().UnixMilli() }

func (h *Host) limits() queue.Limits {
	c := h.config.Current().Ceilings
	return queue.Limits{ModelCalls: int64(c.ModelCalls), ToolCalls: int64(c.ToolCalls), WallMs: c.WallTime.Duration().Milliseconds()}
}

func (h *Host) sandboxed() bool { return h.sandbox.Status().Mechanism != sandbox.MechanismNone }

func (h *Host) openGateway(context.Context) (err error) {
	if h.o.TokenFile != "" {
		if h.token, err = gateway.OpenTokenFile(h.o.TokenFile); err != nil {
			return err
		}
	}
	h.gateway, err = gateway.New(gateway.Options{
		Logger: h.log, Version: h.o.Version, BootID: h.bootID, Health: func() protocol.Health { return h.state.health() },
		Defaults: sessionDefaults, Devices: devices{h}, Browsers: browsers{h}, Changes: changeLog{h.db}, Token: h.token, Now: h.o.Now,
	})
	return err
}

func sessionDefaults() protocol.SessionDefaults {
	return protocol.SessionDefaults{
		DefaultAgentID: protocol.MainAgent, MainKey: "main", MainSessionKey: protocol.NewSessionKey(protocol.MainAgent, "main"), Scope: "per-sender",
	}
}

// openDoors starts the heartbeat, the Unix socket, and the port where the owner
// has switched one on.
func (h *Host) openDoors(context.Context) (err error) {
	h.gateway.Start()
	if h.socket, err = h.gateway.ListenSocket(filepath.Join(h.o.Home, SocketName)); err != nil {
		return fmt.Errorf("open command line socket: %w", err)
	}
	if listen := h.config.Current().Gateway.Listen; listen != "" {
		if err := h.Listen(listen); err != nil {
			// A taken port must not keep the owner from the window.
			h.problem(protocol.Problem{ID: "port", Severity: "warning", Sentence: "The local port could not be opened: " + plain(err),
				Remedy: "Choose another one in Settings, or switch it off."})
		}
	}
	return nil
}

// plain gives the innermost words of an error.
func plain(err error) string {
	words := err.Error()
	if i := strings.LastIndex(words, ": "); i >= 0 {
		words = words[i+2:]
	}
	return words
}

// Listen opens the port on loopback; a port that is open already is closed first.
func (h *Host) Listen(addr string) error {
	h.StopListening()
	server, err := h.gateway.Listen(addr, gateway.HTTPOptions{Frontend: h.o.Frontend})
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.server = server
	delete(h.notice, "port")
	return nil
}

// StopListening closes the port, if it is open.
func (h *Host) StopListening() {
	h.mu.Lock()
	server := h.server
	h.server = nil
	h.mu.Unlock()
	if server != nil {
		server.Close()
	}
}

// Server is the open port, or nil.
func (h *Host) Server() *gateway.Server {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.server
}

// Gateway is where connections of the window come in.
func (h *Host) Gateway() *gateway.Gateway { return h.gateway }

// Home is the data directory.
func (h *Host) Home() string { return h.o.Home }

// problem notes something the owner should know.
func (h *Host) problem(p protocol.Problem) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notice[p.ID] = p
}

// Close ends everything cleanly, or as far as ctx allows. It is safe to call it
// twice and after a failed Open.
func (h *Host) Close(ctx context.Context) error {
	h.closing.Do(func() { h.closeErr = h.close(ctx) })
	return h.closeErr
}

func (h *Host) close(ctx context.Context) error {
	var errs []error
	if h.socket != nil {
		h.socket.Close()
	}
	if h.runs != nil {
		errs = append(errs, h.runs.Stop(ctx))
	}
	if h.gateway != nil {
		h.gateway.Stop(ctx)
	}
	for _, cancel := range h.cancels {
		cancel()
	}
	if h.anchor != nil {
		h.anchor.close(ctx)
	}
	if h.state != nil {
		h.state.close()
	}
	if h.db != nil {
		errs = append(errs, h.db.Close())
	}
	return errors.Join(errs...)
}
