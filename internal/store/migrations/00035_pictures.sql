-- The pictures that administrators have chosen: unlike those that services know, they cannot be fetched again.

-- +goose Up
CREATE TABLE chosen_pictures (
    name TEXT PRIMARY KEY, -- as in the cache of pictures: the hash of the data
    data BLOB NOT NULL     -- a JPEG
);
