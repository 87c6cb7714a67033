// Package registry owns who exists: agents, the folders opened to them, and the
// devices and browsers that may come to this host. It knows nothing of what they
// do.
//
// Every verb that writes takes the transaction it belongs to; every verb that
// reads takes any [store.Querier].
package registry

import (
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"

	"countersign/backend/protocol"
	"countersign/backend/store"
)

//go:embed schema.sql
var ddl string

// Schema declares the tables of this owner.
func Schema() store.Schema { return store.Schema{Owner: "registry", DDL: ddl} }

// ErrNotFound reports an agent, folder, device or browser that does not exist.
var ErrNotFound = errors.New("not in the registry")

// Kinds of the changes this owner emits; the key is the agent's, device's or browser's id.
const (
	ChangeAgent   = "agent"
	ChangeDevice  = "device"
	ChangeBrowser = "browser"
)

// Agent is a record of an agent. Allow and Deny hold tool names and
// "group:<name>"; an empty Allow means every built-in tool.
type Agent struct {
	ID        protocol.AgentID
	Name      string
	Emoji     string
	Workspace string
	Model     string
	Allow     []string
	Deny      []string
	Version   int64
}

// Folder is a place the owner opened to an agent; Path is absolute.
type Folder struct {
	Path     string
	Writable bool
}

// PutAgent inserts an agent or replaces what is stored of it.
func PutAgent(tx *store.Tx, a Agent, nowMs int64) error {
	allow, deny := list(a.Allow), list(a.Deny)
	_, err := tx.Exec(`INSERT INTO agents (agent_id, name, emoji, workspace, model, allow_json, deny_json, version, created_at_ms, updated_at_ms)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1, ?8, ?8)
		ON CONFLICT (agent_id) DO UPDATE SET name = ?2, emoji = ?3, workspace = ?4, model = ?5, allow_json = ?6, deny_json = ?7,
			version = version + 1, updated_at_ms = ?8`,
		string(a.ID), a.Name, a.Emoji, a.Workspace, a.Model, allow, deny, nowMs)
	if err != nil {
		return fmt.Errorf("store agent %s: %w", a.ID, err)
	}
	tx.Emit(store.Change{Kind: ChangeAgent, Key: string(a.ID), AtMs: nowMs})
	return nil
}

func list(names []string) string {
	if len(names) == 0 {
		return "[]"
	}
	raw, err := json.Marshal(names)
	if err != nil {
		panic(err) // a []string always encodes
	}
	return string(raw)
}

const agentColumns = `agent_id, name, emoji, workspace, model, allow_json, deny_json, version`

func scanAgent(row interface{ Scan(...any) error }) (Agent, error) {
	var a Agent
	var allow, deny string
	if err := row.Scan(&a.ID, &a.Name, &a.Emoji, &a.Workspace, &a.Model, &allow, &deny, &a.Version); err != nil {
		return Agent{}, err
	}
	if err := json.Unmarshal([]byte(allow), &a.Allow); err != nil {
		return Agent{}, fmt.Errorf("decode tools allowed to %s: %w", a.ID, err)
	}
	if err := json.Unmarshal([]byte(deny), &a.Deny); err != nil {
		return Agent{}, fmt.Errorf("decode tools denied to %s: %w", a.ID, err)
	}
	return a, nil
}

// GetAgent reads one agent, or ErrNotFound.
func GetAgent(q store.Querier, id protocol.AgentID) (Agent, error) {
	a, err := scanAgent(q.QueryRow(`SELECT `+agentColumns+` FROM agents WHERE agent_id = ?`, string(id)))
	if errors.Is(err, sql.ErrNoRows) {
		return Agent{}, ErrNotFound
	}
	if err != nil {
		return Agent{}, fmt.Errorf("read agent %s: %w", id, err)
	}
	return a, nil
}

// Agents reads every agent, in order of their ids.
func Agents(q store.Querier) ([]Agent, error) {
	rows, err := q.Query(`SELECT ` + agentColumns + ` FROM agents ORDER BY agent_id`)
	if err != nil {
		return nil, fmt.Errorf("read agents: %w", err)
	}
	defer rows.Close()
	var out []Agent
	for rows.Next() {
		a, err := scanAgent(rows)
		if err != nil {
			return nil, fmt.Errorf("read agents: %w", err)
		}
		out = append(out, a)
	}
	return out, rows.Err()
}

// AddFolder opens a folder to an agent, or changes whether it may be written.
func AddFolder(tx *store.Tx, id protocol.AgentID, f Folder, nowMs int64) error {
	_, err := tx.Exec(`INSERT INTO folders (agent_id, path, writable, added_at_ms) VALUES (?, ?, ?, ?)
		ON CONFLICT (agent_id, path) DO UPDATE SET writable = excluded.writable`, string(id), f.Path, f.Writable, nowMs)
	if err != nil {
		return fmt.Errorf("open folder: %w", err)
	}
	return bumpAgent(tx, id, nowMs)
}

// RemoveFolder closes a folder to an agent, or reports ErrNotFound.
func RemoveFolder(tx *store.Tx, id protocol.AgentID, path string, nowMs int64) error {
	res, err := tx.Exec(`DELETE FROM folders WHERE agent_id = ? AND path = ?`, string(id), path)
	if err != nil {
		return fmt.Errorf("close folder: %w", err)
	}
	if n, _ := res.RowsAffected(); n == 0 {
		return ErrNotFound
	}
	return bumpAgent(tx, id, nowMs)
}

func bumpAgent(tx *store.Tx, id protocol.AgentID, nowMs int64) error {
	if _, err := tx.Exec(`UPDATE agents SET version = version + 1, updated_at_ms = ? WHERE agent_id = ?`, nowMs, string(id)); err != nil {
		return fmt.Errorf("touch agent %s: %w", id, err)
	}
	tx.Emit(store.Change{Kind: ChangeAgent, Key: string(id), AtMs: nowMs})
	return nil
}

// Folders reads the folders opened to an agent, in order of their paths.
func Folders(q store.Querier, id protocol.AgentID) ([]Folder, error) {
	rows, err := q.Query(`SELECT path, writable FROM folders WHERE agent_id = ? ORDER BY path`, string(id))
	if err != nil {
		return nil, fmt.Errorf("read folders: %w", err)
	}
	defer rows.Close()
	var out []Folder
	for rows.Next() {
		var f Folder
		if err := rows.Scan(&f.Path, &f.Writable); err != nil {
			return nil, fmt.Errorf("read folders: %w", err)
		}
		out = append(out, f)
	}
	return out, rows.Err()
}
