-- An import that ends the process each time it is read is set aside.

-- +goose Up
ALTER TABLE imports ADD COLUMN crashes INTEGER NOT NULL DEFAULT 0; -- ends of the process at the present position
