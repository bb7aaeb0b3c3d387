-- Which listens an artist has is found in the columns of listens (see pick.go).

-- +goose Up
DROP TABLE heard;
