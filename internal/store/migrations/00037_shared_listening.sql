-- Whether everybody with an account may see a person's page of numbers.

-- +goose Up
ALTER TABLE users ADD COLUMN shares_listening INTEGER NOT NULL DEFAULT 0; -- 1 if they may
