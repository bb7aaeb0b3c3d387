-- A stream in whose runs the process ends each time is set aside.

-- +goose Up
ALTER TABLE streams ADD COLUMN crashes INTEGER NOT NULL DEFAULT 0; -- ends of the process in its runs, in a row
