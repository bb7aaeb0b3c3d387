-- What YouTube tells of the videos in playlists. It is about the videos and not about people: all playlists share it.

-- +goose Up
CREATE TABLE videos (
    id           TEXT PRIMARY KEY,  -- YouTube's
    title        TEXT NOT NULL,     -- empty for one of which nothing was ever told
    channel      TEXT NOT NULL,
    published_at BIGINT NOT NULL,
    duration_ms  BIGINT NOT NULL,
    category     TEXT NOT NULL,
    tags         TEXT NOT NULL,     -- one per line, as the next two
    allowed_in   TEXT NOT NULL,
    blocked_in   TEXT NOT NULL,
    views        BIGINT NOT NULL,   -- -1: not told
    likes        BIGINT NOT NULL,
    comments     BIGINT NOT NULL,
    thumbnail    TEXT NOT NULL,
    availability TEXT NOT NULL,     -- public, unlisted, private, deleted or unavailable
    checked_at   BIGINT NOT NULL,
    gone_since   BIGINT NOT NULL    -- 0 while it is there
);
