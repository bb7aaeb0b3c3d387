-- The servers that share the database, and who of them leads. All times are in milliseconds by the database's clock.

-- +goose Up
CREATE TABLE servers (
    id         TEXT NOT NULL PRIMARY KEY, -- of one process
    name       TEXT NOT NULL,
    address    TEXT NOT NULL,             -- where the other servers reach it
    version    TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL
);
CREATE TABLE leader (
    id        INTEGER NOT NULL PRIMARY KEY, -- always 1
    lease     INTEGER NOT NULL,             -- grows with each leader
    server_id TEXT NOT NULL,
    address   TEXT NOT NULL,
    backend   INTEGER NOT NULL,             -- the process of Postgres that holds the lock for it
    seen_at   INTEGER NOT NULL,
    released  INTEGER NOT NULL              -- 1: it has stopped in good order
);
INSERT INTO leader (id, lease, server_id, address, backend, seen_at, released) VALUES (1, 0, '', '', 0, 0, 1);
