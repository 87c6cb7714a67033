CREATE TABLE IF NOT EXISTS blobs (
  blob_id     TEXT PRIMARY KEY,
  size        INTEGER NOT NULL,
  kind        TEXT NOT NULL,
  added_at_ms INTEGER NOT NULL
) STRICT;
