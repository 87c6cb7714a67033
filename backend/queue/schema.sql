CREATE TABLE IF NOT EXISTS boots (
  epoch         INTEGER PRIMARY KEY AUTOINCREMENT,
  started_at_ms INTEGER NOT NULL,
  ended_at_ms   INTEGER
) STRICT;

CREATE TABLE IF NOT EXISTS switches (
  name          TEXT PRIMARY KEY,
  value         TEXT NOT NULL,
  changed_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS runs (
  run_id            TEXT PRIMARY KEY,
  seq               INTEGER NOT NULL UNIQUE,
  session_key       TEXT NOT NULL,
  session_id        TEXT NOT NULL,
  agent_id          TEXT NOT NULL,
  lane              TEXT NOT NULL DEFAULT 'main',
  content_hash      TEXT NOT NULL,
  state             TEXT NOT NULL CHECK (state IN ('queued','running','parked','done','failed','stopped')),
  park_reason       TEXT NOT NULL DEFAULT '' CHECK (park_reason IN ('','approval','question','child','unknown','ceiling','recovery')),
  park_detail       TEXT NOT NULL DEFAULT '',
  parked_at_ms      INTEGER NOT NULL DEFAULT 0,
  lease_epoch       INTEGER NOT NULL DEFAULT 0,
  lease_no          INTEGER NOT NULL DEFAULT 0,
  stop_requested    INTEGER NOT NULL DEFAULT 0,
  stop_by           TEXT NOT NULL DEFAULT '',
  channel           TEXT NOT NULL,
  sender            TEXT NOT NULL,
  reply_target_json TEXT NOT NULL DEFAULT '{}',
  title             TEXT NOT NULL,
  model             TEXT NOT NULL DEFAULT '',
  thinking          TEXT NOT NULL DEFAULT '',
  step              TEXT NOT NULL DEFAULT '',
  model_calls       INTEGER NOT NULL DEFAULT 0,
  tool_calls        INTEGER NOT NULL DEFAULT 0,
  wall_ms           INTEGER NOT NULL DEFAULT 0,
  wall_at_ms        INTEGER NOT NULL DEFAULT 0,
  limit_model_calls INTEGER NOT NULL,
  limit_tool_calls  INTEGER NOT NULL,
  limit_wall_ms     INTEGER NOT NULL,
  raised            TEXT NOT NULL DEFAULT '',
  recoveries        INTEGER NOT NULL DEFAULT 0,
  note              TEXT NOT NULL DEFAULT '',
  error_message     TEXT NOT NULL DEFAULT '',
  error_kind        TEXT NOT NULL DEFAULT '',
  input_tokens      INTEGER NOT NULL DEFAULT 0,
  output_tokens     INTEGER NOT NULL DEFAULT 0,
  accepted_at_ms    INTEGER NOT NULL,
  started_at_ms     INTEGER NOT NULL DEFAULT 0,
  ended_at_ms       INTEGER NOT NULL DEFAULT 0,
  version           INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE INDEX IF NOT EXISTS runs_by_session ON runs (session_key, seq);
CREATE INDEX IF NOT EXISTS runs_open ON runs (state, seq) WHERE state IN ('queued','running','parked');

CREATE TABLE IF NOT EXISTS inputs (
  run_id             TEXT PRIMARY KEY REFERENCES runs(run_id),
  session_key        TEXT NOT NULL,
  message_json       TEXT NOT NULL,
  replace_message_id TEXT NOT NULL DEFAULT '',
  state              TEXT NOT NULL CHECK (state IN ('pending','consumed','dropped')),
  accepted_at_ms     INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS inputs_pending ON inputs (session_key) WHERE state = 'pending';
