-- A stop of one person's connection may be the administrator's to mend.

-- +goose Up
ALTER TABLE streams ADD COLUMN stop_admin INTEGER NOT NULL DEFAULT 0; -- 1: only the administrator can mend it
