-- Which song of a connection's library one of a person's songs is: a question to them, and their answer.

-- +goose Up
CREATE TABLE song_questions (
    id          INTEGER PRIMARY KEY,
    user_id     INTEGER NOT NULL REFERENCES users (id),
    connection  TEXT NOT NULL,
    song        TEXT NOT NULL,             -- the key that all spellings of the song have in common
    title       TEXT NOT NULL,             -- as it was looked for
    artist      TEXT NOT NULL,
    album       TEXT NOT NULL,
    duration_ms BIGINT NOT NULL,
    offered     TEXT NOT NULL,             -- the songs that could be it (JSON)
    answer      TEXT NOT NULL DEFAULT '',  -- chosen, none, or empty while it is open
    chosen      TEXT NOT NULL DEFAULT '',  -- the id of the chosen song there
    refused     TEXT NOT NULL DEFAULT '[]', -- the ids of those that it is not (JSON)
    asked_at    BIGINT NOT NULL,
    answered_at BIGINT NOT NULL DEFAULT 0,
    UNIQUE (user_id, connection, song)
);
