-- What programs may do in a person's name, and what people and the server did.

-- +goose Up
CREATE TABLE tokens (
    id           INTEGER PRIMARY KEY,
    user_id      INTEGER NOT NULL REFERENCES users (id),
    name         TEXT NOT NULL,
    hash         TEXT NOT NULL UNIQUE, -- SHA-256 of the token
    last_four    TEXT NOT NULL,
    scope        TEXT NOT NULL,        -- read, operate or admin
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL DEFAULT 0,
    expires_at   BIGINT NOT NULL DEFAULT 0, -- 0: never
    UNIQUE (user_id, name)
);

CREATE TABLE activity (
    id       INTEGER PRIMARY KEY,
    at       BIGINT NOT NULL,
    user_id  INTEGER NOT NULL, -- whom it is about; 0 for the installation
    actor_id INTEGER NOT NULL, -- who did it; 0 for the server, and for somebody without an account
    actor    TEXT NOT NULL,
    action   TEXT NOT NULL,
    provider TEXT NOT NULL DEFAULT '',
    subject  TEXT NOT NULL DEFAULT '',
    detail   TEXT NOT NULL DEFAULT ''
);
CREATE INDEX activity_user ON activity (user_id, id);
