-- A tag has at most 1,024 bytes now, so an index can have it. Programs that know only
-- the hash accept longer tags; without its column they cannot write.
ALTER TABLE plants DROP COLUMN tag_hash;
CREATE INDEX plants_by_tag ON plants (tag, id) WHERE tag IS NOT NULL;
