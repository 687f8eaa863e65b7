-- Finds the plants with one tag in the order of their ids: the id is the rowid,
-- which every index entry ends with.
CREATE INDEX plants_by_tag ON plants (tag) WHERE tag IS NOT NULL;
