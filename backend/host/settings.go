package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"countersign/backend/config"
	"countersign/backend/gateway"
	"countersign/backend/policy"
	"countersign/backend/protocol"
	"countersign/backend/registry"
	"countersign/backend/run"
	"countersign/backend/store"
)

func knownAgent(q store.Querier, id protocol.AgentID) error {
	_, err := registry.GetAgent(q, id)
	if errors.Is(err, registry.ErrNotFound) {
		return protocol.NewUnknownAgentError(id, "There is no agent of this name.")
	}
	return err
}

func agentView(a registry.Agent) protocol.AgentRow {
	return protocol.AgentRow{
		ID: a.ID, Name: a.Name, Identity: protocol.AgentIdentity{Name: a.Name, Emoji: a.Emoji}, Workspace: a.Workspace,
		Model: protocol.AgentModel{Primary: a.Model}, Version: a.Version,
	}
}

func (h *Host) agentsList(ctx context.Context, _ gateway.Caller, _ protocol.Empty) (protocol.AgentsList, error) {
	out := protocol.AgentsList{DefaultID: protocol.MainAgent, MainKey: "main", Scope: "per-sender", Agents: []protocol.AgentRow{}}
	err := h.db.Read(ctx, func(tx *store.ReadTx) error {
		agents, err := registry.Agents(tx)
		for _, a := range agents {
			out.Agents = append(out.Agents, agentView(a))
		}
		return err
	})
	return out, err
}

func (h *Host) agentsUpdate(ctx context.Context, _ gateway.Caller, p protocol.AgentsUpdateParams) (protocol.AgentsUpdateResult, error) {
	workspace := ""
	if p.Workspace != nil {
		var err error
		if workspace, err = h.openable(*p.Workspace, true); err != nil {
			return protocol.AgentsUpdateResult{}, err
		}
	}
	out := protocol.AgentsUpdateResult{OK: true}
	err := h.db.Write(ctx, func(tx *store.Tx) error {
		if err := knownAgent(tx, p.AgentID); err != nil {
			return err
		}
		a, err := registry.GetAgent(tx, p.AgentID)
		if err != nil {
			return err
		}
		if p.Name != nil {
			if a.Name = strings.TrimSpace(*p.Name); a.Name == "" || len([]rune(a.Name)) > 60 {
				return invalid("Give the agent a name of at most 60 characters.")
			}
		}
		if p.Emoji != nil {
			a.Emoji = *p.Emoji
		}
		if p.Model != nil {
			a.Model = *p.Model
		}
		if workspace != "" {
			a.Workspace = workspace
		}
		if err := registry.PutAgent(tx, a, h.nowMs()); err != nil {
			return err
		}
		a, err = registry.GetAgent(tx, a.ID)
		out.Agent = agentView(a)
		return err
	})
	return out, err
}

// openable checks a folder the owner wants to open and returns its real path.
// Making it is offered for a workspace only.
func (h *Host) openable(path string, create bool) (string, error) {
	path = strings.TrimSpace(path)
	if path == "~" || strings.HasPrefix(path, "~/") {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find home folder: %w", err)
		}
		path = filepath.Join(home, strings.TrimPrefix(path, "~"))
	}
	if !filepath.IsAbs(path) {
		return "", invalid("Give the whole path of the folder, beginning with / or ~.")
	}
	if create {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return "", invalid("This folder could not be made: " + plain(err) + ".")
		}
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", invalid("This folder cannot be found: " + plain(err) + ".")
	}
	info, err := os.Stat(real)
	if err != nil || !info.IsDir() {
		return "", invalid("This is not a folder.")
	}
	return real, h.notOurs(real)
}

// notOurs refuses folders that lie in the data directory, except a workspace
// that was put there, and the root of the file system.
func (h *Host) notOurs(real string) error {
	if real == string(filepath.Separator) {
		return invalid("The whole file system cannot be opened; choose a folder.")
	}
	rel, err := filepath.Rel(h.o.Home, real)
	inside := err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
	if inside && rel != "workspace" && !strings.HasPrefix(rel, "workspace"+string(filepath.Separator)) {
		return invalid("This folder holds Countersign's own data and cannot be opened to an agent.")
	}
	return nil
}

func agentOr(id protocol.AgentID) protocol.AgentID {
	if id == "" {
		return protocol.MainAgent
	}
	return id
}

func (h *Host) foldersList(ctx context.Context, _ gateway.Caller, p protocol.FoldersParams) (protocol.FoldersList, error) {
	id := agentOr(p.AgentID)
	out := protocol.FoldersList{Folders: []protocol.Folder{}}
	err := h.db.Read(ctx, func(tx *store.ReadTx) error {
		if err := knownAgent(tx, id); err != nil {
			return err
		}
		a, err := registry.GetAgent(tx, id)
		if err != nil {
			return err
		}
		out.Workspace = a.Workspace
		folders, err := registry.Folders(tx, id)
		for _, f := range folders {
			_, statErr := os.Stat(f.Path)
			out.Folders = append(out.Folders, protocol.Folder{Path: f.Path, AgentID: id, Writable: f.Writable, Missing: statErr != nil})
		}
		return err
	})
	return out, err
}

func (h *Host) foldersAdd(ctx context.Context, c gateway.Caller, p protocol.FolderParams) (protocol.FoldersList, error) {
	real, err := h.openable(p.Path, false)
	if err != nil {
		return protocol.FoldersList{}, err
	}
	id := agentOr(p.AgentID)
	err = h.db.Write(ctx, func(tx *store.Tx) error {
		if err := knownAgent(tx, id); err != nil {
			return err
		}
		return registry.AddFolder(tx, id, registry.Folder{Path: real, Writable: p.Writable}, h.nowMs())
	})
	if err != nil {
		return protocol.FoldersList{}, err
	}
	return h.foldersList(ctx, c, protocol.FoldersParams{AgentID: id})
}

func (h *Host) foldersRemove(ctx context.Context, c gateway.Caller, p protocol.FolderParams) (protocol.FoldersList, error) {
	id := agentOr(p.AgentID)
	err := h.db.Write(ctx, func(tx *store.Tx) error { return registry.RemoveFolder(tx, id, p.Path, h.nowMs()) })
	if errors.Is(err, registry.ErrNotFound) {
		return protocol.FoldersList{}, invalid("This folder was not open.")
	}
	if err != nil {
		return protocol.FoldersList{}, err
	}
	return h.foldersList(ctx, c, protocol.FoldersParams{AgentID: id})
}

func (h *Host) toolsCatalog(ctx context.Context, _ gateway.Caller, p protocol.ToolsCatalogParams) (protocol.ToolsCatalog, error) {
	out := protocol.ToolsCatalog{Tools: []protocol.ToolRow{}}
	var a registry.Agent
	err := h.db.Read(ctx, func(tx *store.ReadTx) (err error) {
		if err := knownAgent(tx, agentOr(p.AgentID)); err != nil {
			return err
		}
		a, err = registry.GetAgent(tx, agentOr(p.AgentID))
		return err
	})
	if err != nil {
		return out, err
	}
	for _, s := range h.tools.Specs() {
		d := policy.Decide(policy.Question{Act: run.Act(s), Powers: policy.Powers{Allow: a.Allow, Deny: a.Deny}, Sandboxed: h.sandboxed(), Now: h.o.Now()})
		out.Tools = append(out.Tools, protocol.ToolRow{
			Name: s.Name, Description: s.Description, Group: s.Group, Repeat: string(s.Class.Repeat), ReadsPrivate: s.Class.ReadsPrivate,
			BringsUntrusted: s.Class.BringsUntrusted, Outward: s.Class.Outward, Default: string(d.Verdict), Why: d.Clause.Text,
		})
	}
	return out, nil
}

func (h *Host) settings() protocol.Settings {
	c := h.config.Current()
	s := protocol.Settings{
		Ceilings:     protocol.CeilingSettings{ModelCalls: c.Ceilings.ModelCalls, ToolCalls: c.Ceilings.ToolCalls, WallTimeSeconds: int(c.Ceilings.WallTime.Duration().Seconds())},
		Appearance:   protocol.AppearanceSettings{Theme: c.Appearance.Theme},
		Gateway:      protocol.GatewaySettings{Listen: c.Gateway.Listen},
		Startup:      protocol.StartupSettings{OpenAtLogin: c.Startup.OpenAtLogin, RestartAfterCrash: c.Startup.RestartAfterCrash, ServeAtLogin: c.Startup.ServeAtLogin},
		Exec:         protocol.ExecSettings{TimeoutSeconds: int(c.Exec.Timeout.Duration().Seconds()), MaxOutputBytes: c.Exec.MaxOutputBytes, Network: c.Exec.Network},
		FirstRunDone: c.FirstRunDone,
	}
	if server := h.Server(); server != nil {
		s.Gateway.URL = server.URL()
	}
	for _, p := range h.problems {
		s.Problems = append(s.Problems, protocol.SettingsProblem{Path: p.Path, Line: p.Line, Sentence: p.Sentence})
	}
	return s
}

func (h *Host) settingsGet(context.Context, gateway.Caller, protocol.Empty) (protocol.Settings, error) {
	return h.settings(), nil
}

func (h *Host) settingsPatch(ctx context.Context, _ gateway.Caller, p protocol.SettingsPatchParams) (protocol.Settings, error) {
	before := h.config.Current()
	after, err := h.config.Update(ctx, func(c *config.Config) error {
		patchSettings(c, p)
		return nil
	})
	if err != nil {
		return protocol.Settings{}, settingsError(err)
	}
	if after.Gateway != before.Gateway {
		if err := h.relisten(after.Gateway.Listen); err != nil {
			return protocol.Settings{}, err
		}
	}
	if after.Startup != before.Startup && h.o.Startup != nil {
		if err := h.o.Startup(after.Startup); err != nil {
			return protocol.Settings{}, protocol.NewError(protocol.CodeUnavailable, "", "The setting is saved, but starting with the computer could not be set up: "+plain(err)+".")
		}
	}
	h.settingsChanged()
	return h.settings(), nil
}

func patchSettings(c *config.Config, p protocol.SettingsPatchParams) {
	if s := p.Ceilings; s != nil {
		c.Ceilings = config.Ceilings{ModelCalls: s.ModelCalls, ToolCalls: s.ToolCalls, WallTime: seconds(s.WallTimeSeconds)}
	}
	if s := p.Appearance; s != nil {
		c.Appearance.Theme = s.Theme
	}
	if s := p.Gateway; s != nil {
		c.Gateway.Listen = s.Listen
	}
	if s := p.Startup; s != nil {
		c.Startup = config.Startup{OpenAtLogin: s.OpenAtLogin, RestartAfterCrash: s.RestartAfterCrash, ServeAtLogin: s.ServeAtLogin}
	}
	if s := p.Exec; s != nil {
		c.Exec = config.Exec{Timeout: seconds(s.TimeoutSeconds), MaxOutputBytes: s.MaxOutputBytes, Network: s.Network}
	}
	if p.FirstRunDone != nil {
		c.FirstRunDone = *p.FirstRunDone
	}
}

func seconds(n int) config.Seconds { return config.Seconds(time.Duration(n) * time.Second) }

func (h *Host) relisten(addr string) error {
	if addr == "" {
		h.StopListening()
		return nil
	}
	if err := h.Listen(addr); err != nil {
		return protocol.NewError(protocol.CodeUnavailable, "", "The setting is saved, but this port could not be opened: "+plain(err)+". Choose another.")
	}
	return nil
}

// used ends the first run: whoever has sent a message must not be kept from what
// waits by a greeting.
func (h *Host) used(ctx context.Context) {
	if h.config.Current().FirstRunDone {
		return
	}
	_, err := h.config.Update(ctx, func(c *config.Config) error {
		c.FirstRunDone = true
		return nil
	})
	if err != nil {
		h.log.Warn("note the first use", "cause", err)
		return
	}
	h.settingsChanged()
}

// settingsChanged tells clients, and looks at the own state again.
func (h *Host) settingsChanged() {
	h.gateway.Broadcast(protocol.EventSettings, protocol.SettingsEvent{Settings: h.settings()})
	h.state.forget()
}

func (h *Host) modelsAdd(ctx context.Context, c gateway.Caller, p protocol.ModelsAddParams) (protocol.ModelsAddResult, error) {
	out, err := h.models.add(ctx, c, p)
	if err == nil {
		h.settingsChanged()
	}
	return out, err
}

func (h *Host) modelsRemove(ctx context.Context, c gateway.Caller, p protocol.ModelsRemoveParams) (protocol.OKResult, error) {
	out, err := h.models.remove(ctx, c, p)
	if err == nil {
		h.settingsChanged()
	}
	return out, err
}

func (h *Host) secretStatus(ctx context.Context) protocol.SecretStatus {
	s := h.vault.Status(ctx)
	return protocol.SecretStatus{State: string(s.State), Sentence: s.Sentence, Remedy: s.Remedy}
}

func (h *Host) secretsStatus(ctx context.Context, _ gateway.Caller, _ protocol.Empty) (protocol.SecretStatus, error) {
	return h.secretStatus(ctx), nil
}

func (h *Host) secretsSet(ctx context.Context, _ gateway.Caller, p protocol.SecretsSetParams) (protocol.SecretStatus, error) {
	c, ok := h.config.Current().FindModel(p.Model)
	if !ok || c.SecretName == "" {
		return protocol.SecretStatus{}, invalid("There is no model of this name that takes a key.")
	}
	key := strings.TrimSpace(p.Key)
	if key == "" {
		return protocol.SecretStatus{}, invalid("The key is empty.")
	}
	if err := h.vault.Set(ctx, c.SecretName, key); err != nil {
		return protocol.SecretStatus{}, secretError(err)
	}
	h.settingsChanged()
	return h.secretStatus(ctx), nil
}

func (h *Host) secretsChoose(ctx context.Context, _ gateway.Caller, p protocol.SecretsChooseParams) (protocol.SecretStatus, error) {
	var err error
	switch p.Choice {
	case "file":
		err = h.vault.CreateFile(ctx, p.Passphrase)
	case "unlock":
		err = h.vault.UnlockFile(ctx, p.Passphrase)
	case "session":
		h.vault.UseSession()
	default:
		return protocol.SecretStatus{}, invalid("The choice must be file, unlock or session.")
	}
	if err != nil {
		return protocol.SecretStatus{}, protocol.NewError(protocol.CodeInvalidRequest, protocol.DetailKeychain, sentenceOf(err))
	}
	h.settingsChanged()
	return h.secretStatus(ctx), nil
}

// sentenceOf makes the innermost words of an error a sentence.
func sentenceOf(err error) string {
	words := plain(err)
	return strings.ToUpper(words[:1]) + words[1:] + "."
}
