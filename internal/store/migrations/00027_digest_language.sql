-- The language that a digest was written in. Until now all were in English.

-- +goose Up
ALTER TABLE digests ADD COLUMN language TEXT NOT NULL DEFAULT 'en';
