-- Files of services' own exports on their way into the listens, and the stretches of time that were not read.

-- +goose Up
CREATE TABLE imports (
    id         INTEGER PRIMARY KEY,
    user_id    INTEGER NOT NULL REFERENCES users (id),
    provider   TEXT NOT NULL,
    name       TEXT NOT NULL,   -- as its person knows the file
    file       TEXT NOT NULL,   -- its name in the data directory's folder of imports
    size       BIGINT NOT NULL,
    state      TEXT NOT NULL,   -- waiting, running, done, failed or canceled
    entry      INTEGER NOT NULL DEFAULT 0, -- where reading goes on: in which file of an archive,
    entry_row  INTEGER NOT NULL DEFAULT 0, -- and after how many of its rows
    bytes_done  BIGINT NOT NULL DEFAULT 0,
    bytes_total BIGINT NOT NULL DEFAULT 0,
    row_count  INTEGER NOT NULL DEFAULT 0,
    added      INTEGER NOT NULL DEFAULT 0,
    known      INTEGER NOT NULL DEFAULT 0,
    skipped    INTEGER NOT NULL DEFAULT 0,
    bad        INTEGER NOT NULL DEFAULT 0,
    problems   TEXT NOT NULL DEFAULT '', -- the first bad rows, one per line
    reason     TEXT NOT NULL DEFAULT '', -- why it failed, in words
    created_at BIGINT NOT NULL,
    ended_at   BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX imports_owner ON imports (user_id, id);

-- When a connection was not read for a while, what of it could be read later, and what an import has filled.
CREATE TABLE gaps (
    user_id    INTEGER NOT NULL REFERENCES users (id),
    provider   TEXT NOT NULL,
    from_at    BIGINT NOT NULL,
    to_at      BIGINT NOT NULL,
    lost_to    BIGINT NOT NULL, -- what was played before is no longer offered; 0: nothing is lost
    recovered  INTEGER NOT NULL,
    noticed_at BIGINT NOT NULL,
    filled     INTEGER NOT NULL DEFAULT 0,
    filled_at  BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, provider, from_at)
);
