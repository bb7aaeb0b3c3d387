-- Which of the listens that a correction has deleted services are asked to delete, too.

-- +goose Up
CREATE TABLE deletions (
    correction_id INTEGER NOT NULL REFERENCES corrections (id),
    listen_id     INTEGER NOT NULL,
    connection    TEXT NOT NULL,
    user_id       INTEGER NOT NULL REFERENCES users (id),
    delivery_id   INTEGER NOT NULL,          -- 0 when it is forgotten
    asked_at      BIGINT NOT NULL DEFAULT 0, -- when the service has accepted it; 0 before
    PRIMARY KEY (correction_id, listen_id, connection)
);
CREATE INDEX deletions_of_delivery ON deletions (delivery_id);
CREATE INDEX deletions_of_person ON deletions (user_id);
