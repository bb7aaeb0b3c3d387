-- Links by which somebody without a password gets one: invitations, and links to choose a new password.

-- +goose Up
CREATE TABLE links (
    id         INTEGER PRIMARY KEY,
    kind       TEXT NOT NULL,           -- invitation or reset
    hash       TEXT NOT NULL UNIQUE,    -- SHA-256 of the code in the link
    user_id    INTEGER NOT NULL,        -- whose password it changes; 0 for an invitation
    name       TEXT NOT NULL,           -- proposed to the invited person; may be empty
    role       TEXT NOT NULL,           -- of the account that an invitation makes
    made_by    INTEGER NOT NULL,        -- the administrator; 0 for the operator
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
