-- What is owed to providers. Where a delivery stands is told by its row of River's table river_job, which has the same
-- number; these tables tell whose it is and what it carries.

-- +goose Up
-- What a person wants carried to a provider from now on.
CREATE TABLE forwarding (
    user_id  INTEGER NOT NULL REFERENCES users (id),
    provider TEXT NOT NULL,
    kind     TEXT NOT NULL,    -- of the deliveries: submit_listens, scrobble or archive
    batch    INTEGER NOT NULL, -- how many listens one delivery carries at the most
    from_at  BIGINT NOT NULL,  -- listens that were played earlier are not carried
    oldest   BIGINT NOT NULL,  -- nor are those that are older than so many milliseconds; 0 for any age
    since    BIGINT NOT NULL,  -- when it was switched on
    PRIMARY KEY (user_id, provider)
);

CREATE TABLE deliveries (
    id         INTEGER PRIMARY KEY, -- that of River's job
    user_id    INTEGER NOT NULL REFERENCES users (id),
    provider   TEXT NOT NULL,
    kind       TEXT NOT NULL,
    ref        TEXT NOT NULL,    -- what it is about: the number of a playlist, or a month; empty for listens
    items      INTEGER NOT NULL, -- how many listens or playlists it carries
    created_at BIGINT NOT NULL,
    category   TEXT NOT NULL DEFAULT '', -- of the latest failure
    reason     TEXT NOT NULL DEFAULT '', -- in words
    answer     TEXT NOT NULL DEFAULT '', -- the upstream's own
    dead_since BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX deliveries_owner ON deliveries (user_id, provider, id);

-- Which listens are or were carried to a provider. delivery_id 0: sent so long ago that the delivery is forgotten.
CREATE TABLE forwards (
    listen_id   INTEGER NOT NULL REFERENCES listens (id) ON DELETE CASCADE,
    provider    TEXT NOT NULL,
    user_id     INTEGER NOT NULL REFERENCES users (id),
    delivery_id INTEGER NOT NULL,
    PRIMARY KEY (listen_id, provider)
);
CREATE INDEX forwards_delivery ON forwards (delivery_id);
CREATE INDEX forwards_owner ON forwards (user_id, provider, delivery_id);

-- What a provider holds a copy of, kept equal to ours: a playlist, or a month of the archive.
CREATE TABLE copies (
    user_id    INTEGER NOT NULL REFERENCES users (id),
    provider   TEXT NOT NULL,
    kind       TEXT NOT NULL,
    ref        TEXT NOT NULL,
    wanted     BIGINT NOT NULL, -- grows with every change of ours
    written    BIGINT NOT NULL, -- what wanted was when it was written last; 0 for never
    remote_id  TEXT NOT NULL DEFAULT '', -- the playlist's there, or the object's ETag
    report     TEXT NOT NULL DEFAULT '', -- what came of it (JSON)
    written_at BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, provider, kind, ref)
);

-- Which of a provider's tracks is which, as far as it was looked up.
CREATE TABLE track_matches (
    user_id    INTEGER NOT NULL REFERENCES users (id),
    provider   TEXT NOT NULL,
    track      TEXT NOT NULL, -- what was looked for
    source_id  TEXT NOT NULL, -- empty: nothing was found
    title      TEXT NOT NULL,
    artist     TEXT NOT NULL,
    how        TEXT NOT NULL,
    score      DOUBLE PRECISION NOT NULL,
    checked_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, provider, track)
);

-- When a provider told us of a play; 0 for those stored before this was noted.
ALTER TABLE listen_sources ADD COLUMN stored_at BIGINT NOT NULL DEFAULT 0;
