-- Programs that know only the columns before these go on working: each of them
-- may be NULL.

ALTER TABLE tokens ADD COLUMN last_used_at INTEGER;     -- NULL: never
ALTER TABLE tokens ADD COLUMN old_secret_hash BLOB;     -- of before the last rotation; NULL: there is none
ALTER TABLE tokens ADD COLUMN old_secret_until INTEGER; -- and until when it works
