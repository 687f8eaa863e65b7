-- Each transaction that changes plants adds one row here. Programs that do not know
-- this table change plants without it; see epochs.
CREATE TABLE changes (
  position INTEGER PRIMARY KEY, -- drawn by SQLite: one more than the highest, which is never deleted
  ids      TEXT    NOT NULL,    -- of the plants that the transaction changed; a JSON array
  at       INTEGER NOT NULL
) STRICT;

-- A store without an epoch has no feed of changes: a program that does not know
-- the table changes may still be running.
CREATE TABLE epochs (
  number INTEGER PRIMARY KEY,
  id     INTEGER NOT NULL UNIQUE, -- random
  began  INTEGER NOT NULL         -- the highest position in changes at that time
) STRICT;
