-- What the runs of connections came to, and what was counted of upstreams by the quarter of an hour.

-- +goose Up
CREATE TABLE runs (
    user_id    INTEGER NOT NULL REFERENCES users (id),
    provider   TEXT NOT NULL,
    stream     TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    took_ms    BIGINT NOT NULL,
    row_count  INTEGER NOT NULL, -- new listens, or playlists read
    result     TEXT NOT NULL,    -- ok, retriable or fatal
    category   TEXT NOT NULL,
    words      TEXT NOT NULL,
    detail     TEXT NOT NULL,
    PRIMARY KEY (user_id, provider, stream, started_at)
);
CREATE INDEX runs_age ON runs (started_at);

CREATE TABLE quarters (
    start_at  BIGINT NOT NULL,
    provider  TEXT NOT NULL,
    endpoint  TEXT NOT NULL,
    attempts  BIGINT NOT NULL,
    failures  BIGINT NOT NULL,
    refused   BIGINT NOT NULL,
    took_ms   BIGINT NOT NULL,
    open_ms   BIGINT NOT NULL,
    PRIMARY KEY (start_at, provider, endpoint)
);
