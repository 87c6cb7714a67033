CREATE TABLE IF NOT EXISTS effects (
  effect_id      TEXT PRIMARY KEY,
  run_id         TEXT NOT NULL,
  session_key    TEXT NOT NULL,
  agent_id       TEXT NOT NULL,
  message_id     TEXT NOT NULL,
  tool_call_id   TEXT NOT NULL,
  call_index     INTEGER NOT NULL,
  tool           TEXT NOT NULL,
  class          TEXT NOT NULL,
  repeat         TEXT NOT NULL CHECK (repeat IN ('read','local','keyed','once')),
  args_json      TEXT NOT NULL,
  plan_json      TEXT NOT NULL,
  plan_hash      TEXT NOT NULL,
  target         TEXT NOT NULL,
  state          TEXT NOT NULL CHECK (state IN ('planned','authorised','started','done','failed','unknown','denied','stopped')),
  authority_json TEXT NOT NULL DEFAULT '',
  before_json    TEXT NOT NULL DEFAULT '',
  result_text    TEXT NOT NULL DEFAULT '',
  result_error   INTEGER NOT NULL DEFAULT 0,
  receipt_id     TEXT NOT NULL DEFAULT '',
  taint          TEXT NOT NULL DEFAULT '',
  planned_at_ms  INTEGER NOT NULL,
  started_at_ms  INTEGER NOT NULL DEFAULT 0,
  ended_at_ms    INTEGER NOT NULL DEFAULT 0,
  UNIQUE (run_id, tool_call_id)
) STRICT;
CREATE INDEX IF NOT EXISTS effects_started ON effects (state) WHERE state = 'started';

CREATE TABLE IF NOT EXISTS receipts (
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  receipt_id   TEXT NOT NULL UNIQUE,
  effect_id    TEXT NOT NULL,
  run_id       TEXT NOT NULL,
  session_key  TEXT NOT NULL,
  tool         TEXT NOT NULL,
  class        TEXT NOT NULL,
  outcome      TEXT NOT NULL,
  sentence     TEXT NOT NULL,
  target       TEXT NOT NULL,
  undoes       TEXT NOT NULL DEFAULT '',
  payload_json TEXT NOT NULL,
  prev         TEXT NOT NULL,
  payload_hash TEXT NOT NULL,
  hash         TEXT NOT NULL,
  ended_at_ms  INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS receipts_by_run ON receipts (run_id, seq);
CREATE INDEX IF NOT EXISTS receipts_undoes ON receipts (undoes) WHERE undoes <> '';
