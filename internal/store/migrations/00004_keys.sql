-- +goose Up
-- Until when a key of the installation may not be used, as its provider dictated.
CREATE TABLE key_cooldowns (
    provider    TEXT NOT NULL,
    fingerprint TEXT NOT NULL, -- SHA-256 of the key
    category    TEXT NOT NULL,
    until       BIGINT NOT NULL,
    PRIMARY KEY (provider, fingerprint)
);
