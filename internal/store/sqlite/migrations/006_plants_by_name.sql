-- The key of the name; see NameKey of package plant. NULL: not made yet.
ALTER TABLE plants ADD COLUMN name_key TEXT;

-- Has a row once every plant has a key of this version. Then there is an index, too:
-- plants_by_name.
CREATE TABLE name_keys (
  id      INTEGER PRIMARY KEY CHECK (id = 1),
  version INTEGER NOT NULL
) STRICT;
