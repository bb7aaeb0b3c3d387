-- The listens of an artist are found in the columns (see pick.go).

-- +goose Up
DROP TABLE heard;
