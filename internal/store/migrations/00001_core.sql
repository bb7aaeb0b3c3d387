-- Times are Unix milliseconds in UTC, flags are 0 or 1, secrets are sealed texts (secrets.go). The same file runs on
-- SQLite and on Postgres.

-- +goose Up
CREATE TABLE facts (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE sequences (
    name TEXT PRIMARY KEY,
    last BIGINT NOT NULL
);

CREATE TABLE users (
    id            INTEGER PRIMARY KEY,
    name          TEXT NOT NULL,
    name_key      TEXT NOT NULL UNIQUE,
    password_hash TEXT NOT NULL,
    role          TEXT NOT NULL,
    created_at    BIGINT NOT NULL
);

CREATE TABLE sessions (
    id         TEXT PRIMARY KEY,
    data       TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE TABLE connections (
    user_id       INTEGER NOT NULL REFERENCES users (id),
    provider      TEXT NOT NULL,
    account_id    TEXT NOT NULL,
    account       TEXT NOT NULL,
    app           TEXT NOT NULL,
    generation    BIGINT NOT NULL,
    credentials   TEXT NOT NULL,
    authorized_at BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL,
    paused        INTEGER NOT NULL,
    created_at    BIGINT NOT NULL,
    PRIMARY KEY (user_id, provider)
);

-- How many connections a user has had with a provider: generations go on where a disconnect ended them.
CREATE TABLE generations (
    user_id    INTEGER NOT NULL REFERENCES users (id),
    provider   TEXT NOT NULL,
    generation BIGINT NOT NULL,
    PRIMARY KEY (user_id, provider)
);

-- A proved credential of another account that waits for its person's choice.
CREATE TABLE pending_connections (
    user_id       INTEGER NOT NULL REFERENCES users (id),
    provider      TEXT NOT NULL,
    account_id    TEXT NOT NULL,
    account       TEXT NOT NULL,
    app           TEXT NOT NULL,
    credentials   TEXT NOT NULL,
    authorized_at BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    PRIMARY KEY (user_id, provider)
);

CREATE TABLE oauth_states (
    id         TEXT PRIMARY KEY,
    session    TEXT NOT NULL,
    user_id    INTEGER NOT NULL REFERENCES users (id),
    provider   TEXT NOT NULL,
    verifier   TEXT NOT NULL,
    return_to  TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

-- What is known of one stream of a connection; stream '' stands for the whole connection.
CREATE TABLE streams (
    user_id         INTEGER NOT NULL REFERENCES users (id),
    provider        TEXT NOT NULL,
    stream          TEXT NOT NULL,
    reading         TEXT NOT NULL DEFAULT '',
    last_success_at BIGINT NOT NULL DEFAULT 0,
    stop_category   TEXT NOT NULL DEFAULT '',
    stop_since      BIGINT NOT NULL DEFAULT 0,
    advice          TEXT NOT NULL DEFAULT '',
    detail          TEXT NOT NULL DEFAULT '',
    note            TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (user_id, provider, stream)
);

CREATE TABLE holds (
    provider   TEXT NOT NULL,
    app        TEXT NOT NULL,
    user_id    INTEGER NOT NULL, -- 0 for a hold of the whole app
    stream     TEXT NOT NULL,
    category   TEXT NOT NULL,
    since      BIGINT NOT NULL,
    until      BIGINT NOT NULL,
    PRIMARY KEY (provider, app, user_id, stream)
);

CREATE TABLE listens (
    id             INTEGER PRIMARY KEY,
    user_id        INTEGER NOT NULL REFERENCES users (id),
    match_key      BIGINT NOT NULL,
    title          TEXT NOT NULL,
    artist         TEXT NOT NULL,
    album          TEXT NOT NULL,
    played_at      BIGINT NOT NULL,
    duration_ms    INTEGER NOT NULL,
    isrc           TEXT NOT NULL,
    recording_mbid TEXT NOT NULL,
    approximate    INTEGER NOT NULL
);
CREATE INDEX listens_newest ON listens (user_id, played_at, id);

CREATE TABLE listen_sources (
    user_id   INTEGER NOT NULL REFERENCES users (id),
    provider  TEXT NOT NULL,
    source_id TEXT NOT NULL,
    listen_id INTEGER NOT NULL REFERENCES listens (id) ON DELETE CASCADE,
    played_at BIGINT NOT NULL, -- as this provider tells it, which may be the start or the end of the play
    PRIMARY KEY (user_id, provider, source_id)
);
CREATE INDEX listen_sources_listen ON listen_sources (listen_id);

-- Where a provider tells only the last play of each track and their number: the number seen last.
CREATE TABLE play_counts (
    user_id   INTEGER NOT NULL REFERENCES users (id),
    provider  TEXT NOT NULL,
    track_id  TEXT NOT NULL,
    plays     INTEGER NOT NULL,
    played_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, provider, track_id)
);

CREATE TABLE playlists (
    id          INTEGER PRIMARY KEY,
    user_id     INTEGER NOT NULL REFERENCES users (id),
    provider    TEXT NOT NULL,
    source_id   TEXT NOT NULL,
    name        TEXT NOT NULL,
    snapshot    TEXT NOT NULL,
    track_count INTEGER NOT NULL,
    shrunk_to   INTEGER NOT NULL, -- a much smaller number of tracks, seen once and not believed yet; -1 for none
    active      INTEGER NOT NULL,
    position    INTEGER NOT NULL,
    UNIQUE (user_id, provider, source_id)
);

CREATE TABLE playlist_tracks (
    playlist_id    INTEGER NOT NULL REFERENCES playlists (id) ON DELETE CASCADE,
    position       INTEGER NOT NULL,
    title          TEXT NOT NULL,
    artist         TEXT NOT NULL,
    album          TEXT NOT NULL,
    duration_ms    INTEGER NOT NULL,
    isrc           TEXT NOT NULL,
    recording_mbid TEXT NOT NULL,
    source_id      TEXT NOT NULL,
    PRIMARY KEY (playlist_id, position)
);

CREATE TABLE notifications (
    id              INTEGER PRIMARY KEY,
    user_id         INTEGER NOT NULL REFERENCES users (id),
    provider        TEXT NOT NULL,
    cause           TEXT NOT NULL,
    generation      BIGINT NOT NULL,
    severity        TEXT NOT NULL,
    category        TEXT NOT NULL,
    title           TEXT NOT NULL,
    message         TEXT NOT NULL,
    detail          TEXT NOT NULL,
    action_label    TEXT NOT NULL,
    action_url      TEXT NOT NULL,
    created_at      BIGINT NOT NULL,
    acknowledged_at BIGINT NOT NULL,
    resolved_at     BIGINT NOT NULL,
    UNIQUE (user_id, provider, cause, generation)
);
CREATE INDEX notifications_open ON notifications (user_id, resolved_at);
