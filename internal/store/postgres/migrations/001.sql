-- Texts are BYTEA: TEXT refuses U+0000, and how it compares and orders depends
-- on the database. Times are microseconds since 1970, UTC.

CREATE TABLE plants (
  id         BIGINT PRIMARY KEY,
  name       BYTEA  NOT NULL,
  tag        BYTEA,           -- NULL: no tag, which is not an empty one
  version    BIGINT NOT NULL, -- 64 random bits, drawn anew by every write
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  name_key   BYTEA,           -- the key of the name; see NameKey of package plant
  changed_by BYTEA  NOT NULL DEFAULT '' -- who stored this version; empty: not known
);

-- Finds the plants with one tag in the order of their ids.
CREATE INDEX plants_by_tag ON plants (tag, id) WHERE tag IS NOT NULL;

-- Finds the plants in the order of their names, and of their ids if the keys are equal.
CREATE INDEX plants_by_name ON plants (name_key, id) WHERE name_key IS NOT NULL;

-- Finds the plants that changed last.
CREATE INDEX plants_by_update ON plants (updated_at, id);

CREATE TABLE tokens (
  id               BYTEA  PRIMARY KEY,
  name             BYTEA  NOT NULL,
  scopes           BYTEA  NOT NULL, -- separated by spaces
  secret_hash      BYTEA  NOT NULL, -- SHA-256
  created_at       BIGINT NOT NULL,
  expires_at       BIGINT,          -- NULL: never
  revoked_at       BIGINT,          -- NULL: not revoked
  last_used_at     BIGINT,          -- NULL: never
  old_secret_hash  BYTEA,           -- of before the last rotation; NULL: there is none
  old_secret_until BIGINT           -- and until when it works
);

-- A transaction leaves its mark here, so that a program that lost the connection
-- while it committed can find out what became of it.
CREATE TABLE marks (
  id       BIGINT  PRIMARY KEY, -- drawn by the program for one transaction
  done     BOOLEAN NOT NULL,    -- false: given up, and may never be done
  inserted BIGINT[],            -- the plants that it created, if it could not know beforehand
  at       BIGINT  NOT NULL,
  feeds    BOOLEAN NOT NULL     -- false: the program knows that the store is sharded; see shard
);

-- Each transaction that changes plants adds one row here, just before its commit.
CREATE TABLE changes (
  position BIGINT   PRIMARY KEY, -- one more than the highest, which is never deleted
  ids      BIGINT[] NOT NULL,    -- of the plants that the transaction changed
  at       BIGINT   NOT NULL
);

-- Each change that ends a state of a plant adds one row here, after the row of its transaction in changes:
-- see HistoryEntry of package plant. The columns from name on are the state. It stays on the coordinator if the
-- plants are spread over several servers.
CREATE TABLE history (
  number     BIGINT PRIMARY KEY, -- one more than the highest
  id         BIGINT NOT NULL,    -- of the plant
  position   BIGINT NOT NULL,    -- of the transaction in changes; 0: a copy has brought the row
  change     BYTEA  NOT NULL,
  at         BIGINT NOT NULL,
  actor      BYTEA  NOT NULL,
  name       BYTEA  NOT NULL,
  tag        BYTEA,
  version    BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  changed_by BYTEA  NOT NULL
);

-- Finds the history of a plant.
CREATE INDEX history_by_plant ON history (id, number);

-- Has one row. A transaction locks it before it reads the highest position, and
-- keeps the lock until its commit. So the order of the positions is the order of
-- the commits.
CREATE TABLE feed (
  id        INT    PRIMARY KEY,
  forgotten BIGINT NOT NULL -- the rows of changes up to this position may be deleted
);
INSERT INTO feed (id, forgotten) VALUES (1, 0);

-- See Position of package plant. The program adds the first row. There is none if the plants
-- are spread over several servers: such a store has no feed of changes.
CREATE TABLE epochs (
  number BIGINT PRIMARY KEY,
  id     BIGINT NOT NULL UNIQUE, -- random
  began  BIGINT NOT NULL         -- the highest position in changes at that time
);
