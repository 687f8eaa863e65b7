-- Each transaction that changes plants adds one row here, just before its commit.
CREATE TABLE changes (
  position BIGINT   PRIMARY KEY, -- one more than the highest, which is never deleted
  ids      BIGINT[] NOT NULL,    -- of the plants that the transaction changed
  at       BIGINT   NOT NULL
);

-- Has one row. A transaction locks it before it reads the highest position, and
-- keeps the lock until its commit. So the order of the positions is the order of
-- the commits.
CREATE TABLE feed (
  id        INT    PRIMARY KEY,
  forgotten BIGINT NOT NULL -- the rows of changes up to this position may be deleted
);
INSERT INTO feed (id, forgotten) VALUES (1, 0);

-- A database without an epoch has no feed of changes: a program that does not know
-- the table changes may still be running.
CREATE TABLE epochs (
  number BIGINT PRIMARY KEY,
  id     BIGINT NOT NULL UNIQUE, -- random
  began  BIGINT NOT NULL         -- the highest position in changes at that time
);

-- Programs that add rows to changes set this to true. With the first epoch it
-- becomes NOT NULL, so that other programs cannot write.
ALTER TABLE marks ADD COLUMN feeds BOOLEAN;
