-- The language that a person's browser preferred when they last signed in: for messages to those who have chosen none.

-- +goose Up
ALTER TABLE users ADD COLUMN browser_language TEXT NOT NULL DEFAULT '';
