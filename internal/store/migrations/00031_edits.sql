-- What listens were before they were edited, and which sources are kept apart.

-- +goose Up
ALTER TABLE corrections ADD COLUMN becomes TEXT NOT NULL DEFAULT ''; -- what it has made of the title and the artist

-- Services go on telling of the listen as it was.
CREATE TABLE edited_listens (
    correction_id INTEGER PRIMARY KEY REFERENCES corrections (id),
    user_id       INTEGER NOT NULL REFERENCES users (id),
    listen_id     INTEGER NOT NULL,
    played_at     BIGINT NOT NULL,
    approximate   INTEGER NOT NULL,
    spelling_id   INTEGER NOT NULL
);
CREATE INDEX edited_listens_listen ON edited_listens (user_id, listen_id);

-- Sources of one correction with different sides are never of one listen.
CREATE TABLE kept_apart (
    correction_id INTEGER NOT NULL REFERENCES corrections (id),
    user_id       INTEGER NOT NULL REFERENCES users (id),
    connection    TEXT NOT NULL,
    source_id     TEXT NOT NULL,
    side          INTEGER NOT NULL, -- from 0
    listen_id     INTEGER NOT NULL, -- of that side when they were split
    PRIMARY KEY (correction_id, connection, source_id)
);
CREATE INDEX kept_apart_person ON kept_apart (user_id);
