-- What statistics read of the listens of a person in a span of 30 days (see spans.go): see columns.go.

-- +goose Up
CREATE TABLE listen_columns (
    user_id INTEGER NOT NULL REFERENCES users (id),
    span    BIGINT NOT NULL,
    version BIGINT NOT NULL, -- changes with the listens
    data    BLOB,            -- NULL until it is built, and from each change on
    PRIMARY KEY (user_id, span)
);
INSERT INTO listen_columns (user_id, span, version) SELECT DISTINCT user_id, span, 1 FROM heard;
