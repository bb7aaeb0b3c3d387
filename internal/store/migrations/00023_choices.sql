-- How a person wants to read: empty for what the browser and the device say.

-- +goose Up
ALTER TABLE users ADD COLUMN language TEXT NOT NULL DEFAULT ''; -- "en" or "de"
ALTER TABLE users ADD COLUMN zone TEXT NOT NULL DEFAULT '';     -- an IANA name of a time zone
ALTER TABLE users ADD COLUMN theme TEXT NOT NULL DEFAULT '';    -- "light" or "dark"
