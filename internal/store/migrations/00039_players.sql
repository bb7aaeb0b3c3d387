-- What listens were played with, as far as a source names it. Columns of before know no players and are built again.

-- +goose Up
CREATE TABLE players (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);
ALTER TABLE listen_sources ADD COLUMN player INTEGER NOT NULL DEFAULT 0; -- 0 for unknown
ALTER TABLE removed_sources ADD COLUMN player INTEGER NOT NULL DEFAULT 0;
UPDATE listen_columns SET data = NULL, version = version + 1;
