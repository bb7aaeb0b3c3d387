-- Copies of playlists are compared with what is there once a day.

-- +goose Up
ALTER TABLE copies ADD COLUMN marks TEXT NOT NULL DEFAULT '';        -- hashes of what it is like there, as written
ALTER TABLE copies ADD COLUMN snapshot TEXT NOT NULL DEFAULT '';     -- the provider's own, when it was compared last
ALTER TABLE copies ADD COLUMN checked_at BIGINT NOT NULL DEFAULT 0;  -- when it was compared last
ALTER TABLE copies ADD COLUMN drift TEXT NOT NULL DEFAULT '';        -- gone or edited there
ALTER TABLE copies ADD COLUMN choice TEXT NOT NULL DEFAULT '';       -- write it again, or leave it; empty: ask
