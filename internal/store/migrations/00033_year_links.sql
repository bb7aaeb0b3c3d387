-- Links that show a part of somebody's year to anyone who has them. Only a hash of the code is stored.

-- +goose Up
CREATE TABLE year_links (
    id      INTEGER PRIMARY KEY,
    user_id INTEGER NOT NULL REFERENCES users (id),
    year    INTEGER NOT NULL,
    hash    TEXT NOT NULL UNIQUE,
    parts   TEXT NOT NULL,   -- what it shows, separated by spaces
    zone    TEXT NOT NULL,   -- time zone of its days and hours
    made_at BIGINT NOT NULL,
    UNIQUE (user_id, year)
);
