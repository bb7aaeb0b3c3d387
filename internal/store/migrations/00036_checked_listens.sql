-- Listens that look wrong and that somebody has said are right: they are not listed as suspicious again.

-- +goose Up
CREATE TABLE checked_listens (
    correction_id INTEGER PRIMARY KEY REFERENCES corrections (id),
    user_id       INTEGER NOT NULL REFERENCES users (id),
    from_at       BIGINT NOT NULL, -- Unix seconds of the first one
    to_at         BIGINT NOT NULL, -- and of the last one
    stretch       INTEGER NOT NULL -- 1: all listens between; 0: these two
);
CREATE INDEX checked_listens_person ON checked_listens (user_id);
