-- What became of the listens of a span at a connection that takes listens: see fates.go.

-- +goose Up
CREATE TABLE forwarding_counts (
    user_id    INTEGER NOT NULL REFERENCES users (id),
    connection TEXT NOT NULL,
    span       BIGINT NOT NULL,
    version    BIGINT NOT NULL,  -- of the span when they were counted
    account    TEXT NOT NULL,    -- the connections that led to the same account then
    forwarded  INTEGER NOT NULL, -- sent, or to be sent
    there      INTEGER NOT NULL, -- reported by the account as well as by another service
    missing    INTEGER NOT NULL, -- neither
    PRIMARY KEY (user_id, connection, span)
);
