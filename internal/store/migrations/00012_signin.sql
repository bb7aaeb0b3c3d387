-- Who is signed in where, and how often the same thing has happened.

-- +goose Up
ALTER TABLE sessions ADD COLUMN user_id INTEGER NOT NULL DEFAULT 0; -- 0 for nobody, and until an older one is used
ALTER TABLE sessions ADD COLUMN agent TEXT NOT NULL DEFAULT '';     -- the browser, in words
ALTER TABLE sessions ADD COLUMN address TEXT NOT NULL DEFAULT '';   -- from which it was used last
ALTER TABLE sessions ADD COLUMN signed_in_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN seen_at BIGINT NOT NULL DEFAULT 0;
CREATE INDEX sessions_user ON sessions (user_id);
ALTER TABLE activity ADD COLUMN times INTEGER NOT NULL DEFAULT 1;   -- how often within the hour or the day
