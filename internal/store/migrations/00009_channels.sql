-- Where people are told outside the browser, and what is to be told there.

-- +goose Up
CREATE TABLE channels (
    id              INTEGER PRIMARY KEY,
    user_id         INTEGER NOT NULL REFERENCES users (id),
    kind            TEXT NOT NULL,    -- ntfy, gotify, discord, telegram, email, webhook or webpush
    name            TEXT NOT NULL,
    url             TEXT NOT NULL,    -- sealed
    setting         TEXT NOT NULL DEFAULT '', -- the setting that it stems from; empty: a person's own
    least           TEXT NOT NULL,    -- the least severity that is told
    quiet_from      INTEGER NOT NULL DEFAULT -1, -- minutes of the day; -1 for no quiet hours
    quiet_to        INTEGER NOT NULL DEFAULT -1,
    zone            TEXT NOT NULL DEFAULT '',    -- IANA name, for the quiet hours; empty: that of the server
    errors_at_night INTEGER NOT NULL DEFAULT 0,
    version         BIGINT NOT NULL DEFAULT 1,   -- grows with every change by a person
    stopped_at      BIGINT NOT NULL DEFAULT 0,
    category        TEXT NOT NULL DEFAULT '',    -- of the latest failure
    reason          TEXT NOT NULL DEFAULT '',    -- in words
    failures        INTEGER NOT NULL DEFAULT 0,  -- in a row
    failing_since   BIGINT NOT NULL DEFAULT 0,
    last_sent_at    BIGINT NOT NULL DEFAULT 0,
    created_at      BIGINT NOT NULL
);
CREATE INDEX channels_owner ON channels (user_id, id);

-- What a channel tells of an opening of a notification, which may open again later with other words.
CREATE TABLE messages (
    id              INTEGER PRIMARY KEY,
    channel_id      INTEGER NOT NULL REFERENCES channels (id) ON DELETE CASCADE,
    notification_id INTEGER NOT NULL,
    opened_at       BIGINT NOT NULL,  -- which opening of it
    event           TEXT NOT NULL,    -- opened or resolved
    severity        TEXT NOT NULL,
    provider        TEXT NOT NULL,
    cause           TEXT NOT NULL,
    category        TEXT NOT NULL,
    title           TEXT NOT NULL,
    message         TEXT NOT NULL,
    action_url      TEXT NOT NULL,
    resolved_at     BIGINT NOT NULL DEFAULT 0,
    created_at      BIGINT NOT NULL,
    ended_at        BIGINT NOT NULL DEFAULT 0, -- when it was sent, or dropped; those that were sent together have the same
    sent            INTEGER NOT NULL DEFAULT 0,
    UNIQUE (channel_id, notification_id, opened_at, event)
);
CREATE INDEX messages_waiting ON messages (channel_id, ended_at);
CREATE INDEX messages_notification ON messages (notification_id);
