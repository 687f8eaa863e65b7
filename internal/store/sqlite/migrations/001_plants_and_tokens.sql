-- Times are microseconds since 1970, UTC.

CREATE TABLE plants (
  id         INTEGER PRIMARY KEY,
  name       TEXT    NOT NULL,
  tag        TEXT,             -- NULL: no tag, which is not an empty one
  version    INTEGER NOT NULL, -- 64 random bits, drawn anew by every write
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE tokens (
  id          TEXT    PRIMARY KEY,
  name        TEXT    NOT NULL,
  scopes      TEXT    NOT NULL, -- separated by spaces
  secret_hash BLOB    NOT NULL, -- SHA-256
  created_at  INTEGER NOT NULL,
  expires_at  INTEGER,          -- NULL: never
  revoked_at  INTEGER           -- NULL: not revoked
) STRICT, WITHOUT ROWID;
