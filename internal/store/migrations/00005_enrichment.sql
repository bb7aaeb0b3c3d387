-- What is known of the music that was heard, and the queue of what is still to be asked about it.

-- +goose Up
CREATE TABLE entities (
    id          INTEGER PRIMARY KEY,
    kind        TEXT NOT NULL,    -- artist, album or track
    match_key   BIGINT NOT NULL,  -- equal for the names that services give to the same thing; a track's is that of its listens
    artist      TEXT NOT NULL,
    title       TEXT NOT NULL,
    album       TEXT NOT NULL,
    duration_ms INTEGER NOT NULL,
    isrc        TEXT NOT NULL,
    mbid        TEXT NOT NULL,    -- as a listen told, or as was found
    UNIQUE (kind, match_key)
);

-- By which names listens tell of an entity: the artist, and with an album its title.
CREATE TABLE entity_names (
    kind      TEXT NOT NULL,
    match_key BIGINT NOT NULL,
    artist    TEXT NOT NULL,
    album     TEXT NOT NULL,
    PRIMARY KEY (kind, match_key, artist, album)
);

-- How far the listens have been looked through (name ''), and the entities for each source.
CREATE TABLE enrichment_marks (
    name TEXT PRIMARY KEY,
    last BIGINT NOT NULL
);

CREATE TABLE enrichment (
    source      TEXT NOT NULL,
    entity_id   INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    state       TEXT NOT NULL,   -- waiting, done, not_there or failed
    due_at      BIGINT NOT NULL, -- 0: when another source has found its MBID
    failures    INTEGER NOT NULL DEFAULT 0,
    reason      TEXT NOT NULL DEFAULT '',
    asked_at    BIGINT NOT NULL DEFAULT 0,
    mbid        TEXT NOT NULL DEFAULT '',
    name        TEXT NOT NULL DEFAULT '',
    tags        TEXT NOT NULL DEFAULT '', -- one per line
    released    TEXT NOT NULL DEFAULT '',
    picture     TEXT NOT NULL DEFAULT '', -- its name in the cache of pictures
    PRIMARY KEY (entity_id, source)
);
CREATE INDEX enrichment_due ON enrichment (source, due_at, entity_id);
CREATE INDEX enrichment_pictures ON enrichment (picture, failures, due_at) WHERE picture <> '';
CREATE INDEX enrichment_progress ON enrichment (source, state, failures, due_at);

CREATE INDEX listens_by_artist ON listens (user_id, artist, played_at);
