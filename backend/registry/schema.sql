CREATE TABLE IF NOT EXISTS agents (
  agent_id      TEXT PRIMARY KEY,
  name          TEXT NOT NULL,
  emoji         TEXT NOT NULL DEFAULT '',
  workspace     TEXT NOT NULL,
  model         TEXT NOT NULL DEFAULT '',
  allow_json    TEXT NOT NULL DEFAULT '[]',
  deny_json     TEXT NOT NULL DEFAULT '[]',
  version       INTEGER NOT NULL DEFAULT 1,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS folders (
  agent_id    TEXT NOT NULL REFERENCES agents(agent_id),
  path        TEXT NOT NULL,
  writable    INTEGER NOT NULL DEFAULT 0,
  added_at_ms INTEGER NOT NULL,
  PRIMARY KEY (agent_id, path)
) STRICT;

CREATE TABLE IF NOT EXISTS devices (
  device_id    TEXT PRIMARY KEY,
  name         TEXT NOT NULL,
  platform     TEXT NOT NULL DEFAULT '',
  scopes_json  TEXT NOT NULL,
  paired_at_ms INTEGER NOT NULL,
  last_seen_ms INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE IF NOT EXISTS browsers (
  browser_id    TEXT PRIMARY KEY,
  cookie_sha256 TEXT NOT NULL UNIQUE,
  name          TEXT NOT NULL DEFAULT '',
  created_at_ms INTEGER NOT NULL,
  last_used_ms  INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL
) STRICT;
