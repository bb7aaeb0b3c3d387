-- Names are kept once: a listen has the number of a spelling. The listens of an older database are moved between this
-- step and the next one (move.go).

-- +goose Up
-- The names and facts of a track exactly as a service told them, and which artist, album and track they mean.
CREATE TABLE spellings (
    id             INTEGER PRIMARY KEY,
    hash           BIGINT NOT NULL UNIQUE, -- of the next six columns
    title          TEXT NOT NULL,
    artist         TEXT NOT NULL,
    album          TEXT NOT NULL,
    duration_ms    INTEGER NOT NULL,
    isrc           TEXT NOT NULL,
    recording_mbid TEXT NOT NULL,
    match_key      BIGINT NOT NULL, -- equal for the names that services give to the same track
    artist_key     BIGINT NOT NULL, -- of the artist, in upper or lower case
    album_id       INTEGER REFERENCES entities (id), -- NULL without one
    track_id       INTEGER REFERENCES entities (id)
);
CREATE INDEX spellings_by_name ON spellings (artist_key);
CREATE INDEX spellings_of_album ON spellings (album_id);
CREATE INDEX spellings_of_track ON spellings (track_id);
CREATE INDEX spellings_by_mbid ON spellings (recording_mbid) WHERE recording_mbid <> '';
CREATE INDEX spellings_by_isrc ON spellings (isrc) WHERE isrc <> '';

-- All artists of a track.
CREATE TABLE track_artists (
    track_id  INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    artist_id INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    position  INTEGER NOT NULL, -- from 0
    listed    INTEGER NOT NULL, -- 1 if a service has listed the artists one by one, 0 if they were read out of a text
    PRIMARY KEY (track_id, artist_id)
);
CREATE INDEX track_artists_artist ON track_artists (artist_id);

-- Further keys of an entity, which joined it because of an MBID or an ISRC.
CREATE TABLE joined_keys (
    kind      TEXT NOT NULL,
    match_key BIGINT NOT NULL,
    entity_id INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    PRIMARY KEY (kind, match_key)
);
CREATE INDEX joined_keys_entity ON joined_keys (entity_id);

-- The ids of entities that are gone because they joined another one: where links to them lead.
CREATE TABLE joined_ids (
    old_id    INTEGER PRIMARY KEY,
    entity_id INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE
);
CREATE INDEX joined_ids_entity ON joined_ids (entity_id);
CREATE INDEX entities_by_mbid ON entities (mbid) WHERE mbid <> '';

DROP TABLE entity_names;
DELETE FROM enrichment_marks WHERE name = '';

-- The ids of connections as small numbers, which take less room in every source of a listen.
CREATE TABLE connection_numbers (
    number     INTEGER PRIMARY KEY,
    connection TEXT NOT NULL UNIQUE
);

DROP INDEX listens_by_artist;
ALTER TABLE listens ADD COLUMN spelling_id INTEGER NOT NULL DEFAULT 0;

CREATE TABLE given_spellings (
    listen_id   INTEGER PRIMARY KEY,
    spelling_id INTEGER NOT NULL
);

ALTER TABLE listen_sources RENAME TO old_listen_sources;
CREATE TABLE listen_sources (
    listen_id  INTEGER NOT NULL REFERENCES listens (id) ON DELETE CASCADE,
    connection INTEGER NOT NULL, -- its number
    source_key BIGINT NOT NULL,  -- of the person, the connection and the source's id; see sources.go
    source_id  TEXT NOT NULL,
    later      BIGINT NOT NULL,  -- by how much it tells of a later time than the listen's: of the end of the play
    stored_at  BIGINT NOT NULL,  -- when it told it, in seconds; 0 for those stored before this was noted
    PRIMARY KEY (listen_id, connection, source_key)
) WITHOUT ROWID;

-- Which artists a person may have heard in which span of 30 days, by the key of their spellings: that is where to look.
CREATE TABLE heard (
    user_id    INTEGER NOT NULL REFERENCES users (id),
    span       BIGINT NOT NULL,
    artist_key BIGINT NOT NULL,
    PRIMARY KEY (user_id, span, artist_key)
) WITHOUT ROWID;
