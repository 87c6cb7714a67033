CREATE TABLE IF NOT EXISTS approvals (
  approval_id    TEXT PRIMARY KEY,
  seq            INTEGER NOT NULL UNIQUE,
  run_id         TEXT NOT NULL,
  session_key    TEXT NOT NULL,
  effect_id      TEXT NOT NULL,
  plan_hash      TEXT NOT NULL,
  request_json   TEXT NOT NULL,
  state          TEXT NOT NULL CHECK (state IN ('pending','allowed','denied','expired','cancelled')),
  decision       TEXT NOT NULL DEFAULT '',
  reason         TEXT NOT NULL DEFAULT '',
  resolver_json  TEXT NOT NULL DEFAULT '',
  created_at_ms  INTEGER NOT NULL,
  resolved_at_ms INTEGER NOT NULL DEFAULT 0,
  consumed_at_ms INTEGER NOT NULL DEFAULT 0,
  version        INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE INDEX IF NOT EXISTS approvals_pending ON approvals (seq) WHERE state = 'pending';
CREATE INDEX IF NOT EXISTS approvals_by_run ON approvals (run_id);
CREATE INDEX IF NOT EXISTS approvals_by_effect ON approvals (effect_id, seq);

CREATE TABLE IF NOT EXISTS grants (
  grant_id       TEXT PRIMARY KEY,
  approval_id    TEXT NOT NULL REFERENCES approvals(approval_id),
  agent_id       TEXT NOT NULL,
  session_id     TEXT NOT NULL,
  tool           TEXT NOT NULL,
  plan_hash      TEXT NOT NULL,
  remaining      INTEGER NOT NULL DEFAULT -1,
  used           INTEGER NOT NULL DEFAULT 0,
  created_at_ms  INTEGER NOT NULL,
  expires_at_ms  INTEGER NOT NULL DEFAULT 0,
  last_used_ms   INTEGER NOT NULL DEFAULT 0,
  revoked_at_ms  INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX IF NOT EXISTS grants_by_session ON grants (session_id, plan_hash);

CREATE TABLE IF NOT EXISTS questions (
  question_id    TEXT PRIMARY KEY,
  seq            INTEGER NOT NULL UNIQUE,
  run_id         TEXT NOT NULL,
  tool_call_id   TEXT NOT NULL,
  effect_id      TEXT NOT NULL,
  question_json  TEXT NOT NULL,
  state          TEXT NOT NULL CHECK (state IN ('pending','answered','cancelled')),
  answer_json    TEXT NOT NULL DEFAULT '',
  resolver_json  TEXT NOT NULL DEFAULT '',
  created_at_ms  INTEGER NOT NULL,
  resolved_at_ms INTEGER NOT NULL DEFAULT 0,
  version        INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE INDEX IF NOT EXISTS questions_pending ON questions (seq) WHERE state = 'pending';
CREATE INDEX IF NOT EXISTS questions_by_effect ON questions (effect_id);
