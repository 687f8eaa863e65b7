-- The key of the name; see NameKey of package plant. NULL: not made yet.
ALTER TABLE plants ADD COLUMN name_key BYTEA;

-- Finds the plants in the order of their names, and of their ids if the keys are equal.
-- Without the condition the index would be made here, for all plants at once.
CREATE INDEX plants_by_name ON plants (name_key, id) WHERE name_key IS NOT NULL;

-- Programs that write keys set this to true. Before the names are indexed it becomes NOT
-- NULL, so that other programs cannot write.
ALTER TABLE marks ADD COLUMN named BOOLEAN;
