-- What people have corrected. A correction is a rule that also holds for what comes later, until it is undone.

-- +goose Up
CREATE TABLE corrections (
    id        INTEGER PRIMARY KEY,
    user_id   INTEGER NOT NULL REFERENCES users (id),
    kind      TEXT NOT NULL,
    listens   INTEGER NOT NULL,         -- how many it has changed
    title     TEXT NOT NULL,            -- of the only listen it is about, else empty
    artist    TEXT NOT NULL,            -- of that listen, or that all of its listens are by
    made_at   BIGINT NOT NULL,
    undone_at BIGINT NOT NULL DEFAULT 0 -- 0 while it holds
);
CREATE INDEX corrections_of_person ON corrections (user_id, id);

-- Listens that were deleted, with their sources and forwards. They take part in the matching like the others, so that
-- what any service tells of them later becomes a further source of them, and none of it a listen.
CREATE TABLE removed_listens (
    id            INTEGER PRIMARY KEY,
    user_id       INTEGER NOT NULL REFERENCES users (id),
    played_at     BIGINT NOT NULL,
    approximate   INTEGER NOT NULL,
    spelling_id   INTEGER NOT NULL,
    correction_id INTEGER NOT NULL REFERENCES corrections (id)
);
CREATE INDEX removed_listens_newest ON removed_listens (user_id, played_at);
CREATE INDEX removed_listens_correction ON removed_listens (correction_id);

CREATE TABLE removed_sources (
    listen_id  INTEGER NOT NULL REFERENCES removed_listens (id) ON DELETE CASCADE,
    connection INTEGER NOT NULL,
    source_key BIGINT NOT NULL,
    source_id  TEXT NOT NULL,
    later      BIGINT NOT NULL,
    stored_at  BIGINT NOT NULL,
    PRIMARY KEY (listen_id, connection, source_key)
) WITHOUT ROWID;
CREATE INDEX removed_sources_key ON removed_sources (source_key);

CREATE TABLE removed_forwards (
    listen_id   INTEGER NOT NULL REFERENCES removed_listens (id) ON DELETE CASCADE,
    connection  TEXT NOT NULL,
    user_id     INTEGER NOT NULL REFERENCES users (id),
    delivery_id INTEGER NOT NULL, -- -1: it waited, and was cancelled
    PRIMARY KEY (listen_id, connection)
);
