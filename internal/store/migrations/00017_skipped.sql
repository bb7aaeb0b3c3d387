-- What an upstream lists and does not give, such as a private playlist. It is looked at again once a day.

-- +goose Up
CREATE TABLE skipped (
    user_id    INTEGER NOT NULL,
    connection TEXT NOT NULL,
    stream     TEXT NOT NULL,
    playlist   TEXT NOT NULL,    -- the provider's id of the playlist that a track is in; empty for a playlist
    source_id  TEXT NOT NULL,    -- the provider's id of the item
    kind       TEXT NOT NULL,    -- playlist or track
    name       TEXT NOT NULL,
    inside     TEXT NOT NULL,    -- the name of the playlist that a track is in
    snapshot   TEXT NOT NULL,    -- of the playlist when it was refused
    category   TEXT NOT NULL,
    reason     TEXT NOT NULL,
    answer     TEXT NOT NULL,
    failures   INTEGER NOT NULL, -- in a row
    since      BIGINT NOT NULL,
    tried_at   BIGINT NOT NULL,
    retry_at   BIGINT NOT NULL,
    PRIMARY KEY (user_id, connection, stream, playlist, source_id)
);
