-- The settings that administrators have changed in the browser. Those of the file and the environment count more.

-- +goose Up
CREATE TABLE settings (
    path       TEXT PRIMARY KEY,
    value      TEXT NOT NULL,    -- empty where it is sealed
    sealed     TEXT NOT NULL,    -- a secret; empty where the value is none
    updated_at BIGINT NOT NULL,
    updated_by BIGINT NOT NULL   -- the account; 0 without one, and for one that was removed since
);
