CREATE TABLE IF NOT EXISTS sessions (
  session_key   TEXT PRIMARY KEY,
  agent_id      TEXT NOT NULL,
  session_id    TEXT NOT NULL,
  label         TEXT NOT NULL DEFAULT '',
  title         TEXT NOT NULL DEFAULT '',
  preview       TEXT NOT NULL DEFAULT '',
  model         TEXT NOT NULL DEFAULT '',
  archived      INTEGER NOT NULL DEFAULT 0,
  pinned        INTEGER NOT NULL DEFAULT 0,
  unread        INTEGER NOT NULL DEFAULT 0,
  deleted_at_ms INTEGER NOT NULL DEFAULT 0,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  version       INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE INDEX IF NOT EXISTS sessions_recent ON sessions (deleted_at_ms, pinned DESC, updated_at_ms DESC);

CREATE TABLE IF NOT EXISTS windows (
  session_id    TEXT PRIMARY KEY,
  session_key   TEXT NOT NULL,
  last_seq      INTEGER NOT NULL DEFAULT 0,
  message_count INTEGER NOT NULL DEFAULT 0,
  started_at_ms INTEGER NOT NULL,
  ended_at_ms   INTEGER NOT NULL DEFAULT 0,
  reason        TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE TABLE IF NOT EXISTS messages (
  message_id     TEXT PRIMARY KEY,
  session_id     TEXT NOT NULL REFERENCES windows(session_id),
  seq            INTEGER NOT NULL,
  parent_id      TEXT NOT NULL DEFAULT '',
  run_id         TEXT NOT NULL DEFAULT '',
  role           TEXT NOT NULL CHECK (role IN ('user','assistant','toolResult')),
  message_json   TEXT NOT NULL,
  replaced_at_ms INTEGER NOT NULL DEFAULT 0,
  at_ms          INTEGER NOT NULL,
  UNIQUE (session_id, seq)
) STRICT;
CREATE INDEX IF NOT EXISTS messages_by_run ON messages (run_id) WHERE run_id <> '';
