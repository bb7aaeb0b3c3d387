-- The listens of an older database have been moved: what they were moved from goes.

-- +goose Up
DROP TABLE old_listen_sources;
DROP TABLE given_spellings;
DELETE FROM sequences WHERE name = 'moved listens';
ALTER TABLE listens DROP COLUMN match_key;
ALTER TABLE listens DROP COLUMN title;
ALTER TABLE listens DROP COLUMN artist;
ALTER TABLE listens DROP COLUMN album;
ALTER TABLE listens DROP COLUMN duration_ms;
ALTER TABLE listens DROP COLUMN isrc;
ALTER TABLE listens DROP COLUMN recording_mbid;

-- The only index of listens: one that begins with the spelling would change everywhere with every page of listens.
DROP INDEX listens_newest;
CREATE INDEX listens_newest ON listens (user_id, played_at, spelling_id);
CREATE INDEX listen_sources_key ON listen_sources (source_key);
