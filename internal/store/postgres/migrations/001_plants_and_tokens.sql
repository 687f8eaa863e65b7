-- Texts are BYTEA: TEXT refuses U+0000, and how it compares and orders depends
-- on the database. Times are microseconds since 1970, UTC.

CREATE TABLE plants (
  id         BIGINT PRIMARY KEY,
  name       BYTEA  NOT NULL,
  tag        BYTEA,           -- NULL: no tag, which is not an empty one
  tag_hash   BYTEA,           -- SHA-256 of the tag, made by the program
  version    BIGINT NOT NULL, -- 64 random bits, drawn anew by every write
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);

-- Finds the plants with one tag in the order of their ids. An index refuses an
-- entry of more than some 2,700 bytes, and a tag may be a megabyte.
CREATE INDEX plants_by_tag ON plants (tag_hash, id) WHERE tag_hash IS NOT NULL;

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
  at       BIGINT  NOT NULL
);
