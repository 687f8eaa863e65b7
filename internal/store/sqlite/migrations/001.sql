-- Times are microseconds since 1970, UTC.

-- Which log belongs to this file; see log.go. It has one row. As the first table it keeps its
-- page when another program runs VACUUM.
CREATE TABLE log_mark (
  mark     BLOB NOT NULL, -- 8 random bytes
  before   BLOB NOT NULL, -- the mark before; zeros at first
  restored BLOB NOT NULL  -- that of the file, if it was another one than before; else the same
) STRICT;
INSERT INTO log_mark (mark, before, restored) VALUES (randomblob(8), zeroblob(8), zeroblob(8));

CREATE TABLE plants (
  id         INTEGER PRIMARY KEY,
  name       TEXT    NOT NULL,
  tag        TEXT,             -- NULL: no tag, which is not an empty one
  version    INTEGER NOT NULL, -- 64 random bits, drawn anew by every write
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  name_key   TEXT,             -- the key of the name; see NameKey of package plant
  changed_by TEXT    NOT NULL DEFAULT '', -- who stored this version; empty: not known
  history    INTEGER           -- the newest entry of its history; NULL: none since it was created
) STRICT;

-- Finds the plants with one tag in the order of their ids: the id is the rowid, which every
-- entry of an index ends with.
CREATE INDEX plants_by_tag ON plants (tag) WHERE tag IS NOT NULL;

-- The order of names. If the keys are equal, it is that of the ids.
CREATE INDEX plants_by_name ON plants (name_key);

-- The newest changes first. If the times are equal, the order is that of the ids.
CREATE INDEX plants_by_update ON plants (updated_at);

-- Has one row, which the program adds.
CREATE TABLE name_keys (
  id      INTEGER PRIMARY KEY CHECK (id = 1),
  version INTEGER NOT NULL -- of the keys of all names; see NameKeyVersion of package plant
) STRICT;

CREATE TABLE tokens (
  id               TEXT    PRIMARY KEY,
  name             TEXT    NOT NULL,
  scopes           TEXT    NOT NULL, -- separated by spaces
  secret_hash      BLOB    NOT NULL, -- SHA-256
  created_at       INTEGER NOT NULL,
  expires_at       INTEGER,          -- NULL: never
  revoked_at       INTEGER,          -- NULL: not revoked
  last_used_at     INTEGER,          -- NULL: never
  old_secret_hash  BLOB,             -- of before the last rotation; NULL: there is none
  old_secret_until INTEGER           -- and until when it works
) STRICT, WITHOUT ROWID;

-- Each transaction that changes plants adds one row here.
CREATE TABLE changes (
  position INTEGER PRIMARY KEY, -- drawn by SQLite: one more than the highest, which is never deleted
  ids      TEXT    NOT NULL,    -- of the plants that the transaction changed; a JSON array
  at       INTEGER NOT NULL
) STRICT;

-- Each change that ends a state of a plant adds one row here: see HistoryEntry of package plant. The columns
-- from name on are the state.
CREATE TABLE history (
  number     INTEGER PRIMARY KEY, -- drawn by SQLite: one more than the highest
  id         INTEGER NOT NULL,    -- of the plant
  position   INTEGER NOT NULL,    -- of the transaction in changes; 0: a copy has brought the row
  change     TEXT    NOT NULL,
  at         INTEGER NOT NULL,
  actor      TEXT    NOT NULL,
  previous   INTEGER,             -- the entry before of the same plant; NULL, or removed: there is none
  name       TEXT    NOT NULL,
  tag        TEXT,
  version    INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  changed_by TEXT    NOT NULL
) STRICT;

-- Finds the history of a plant that was deleted. The row of any other plant has its newest entry: with an index of
-- all entries, each change of a plant would write one page more.
CREATE INDEX history_of_deleted ON history (id) WHERE change = 'deleted';

-- See Position of package plant. There is always an epoch.
CREATE TABLE epochs (
  number INTEGER PRIMARY KEY,
  id     INTEGER NOT NULL UNIQUE, -- random
  began  INTEGER NOT NULL         -- the highest position in changes at that time
) STRICT;
INSERT INTO epochs (id, began) VALUES (random(), 0);
