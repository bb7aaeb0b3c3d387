-- A person may have several connections to one provider. What was keyed by the provider's name is keyed by the id of the
-- connection, which for a person's first connection to a provider is that name.

-- +goose Up
ALTER TABLE connections RENAME COLUMN provider TO connection;
ALTER TABLE connections ADD COLUMN name TEXT NOT NULL DEFAULT ''; -- given by its person; empty for the provider's
ALTER TABLE generations RENAME COLUMN provider TO connection;
ALTER TABLE pending_connections RENAME COLUMN provider TO connection;
ALTER TABLE oauth_states RENAME COLUMN provider TO connection;
ALTER TABLE streams RENAME COLUMN provider TO connection;
ALTER TABLE holds RENAME COLUMN provider TO connection; -- with user_id 0 the provider whose app is held
ALTER TABLE listen_sources RENAME COLUMN provider TO connection;
ALTER TABLE play_counts RENAME COLUMN provider TO connection;
ALTER TABLE playlists RENAME COLUMN provider TO connection;
ALTER TABLE notifications RENAME COLUMN provider TO connection; -- the provider when it is about the installation
ALTER TABLE forwarding RENAME COLUMN provider TO connection;
ALTER TABLE deliveries RENAME COLUMN provider TO connection; -- or the name of a channel
ALTER TABLE forwards RENAME COLUMN provider TO connection;
ALTER TABLE copies RENAME COLUMN provider TO connection;
ALTER TABLE track_matches RENAME COLUMN provider TO connection;
ALTER TABLE imports RENAME COLUMN provider TO connection;
ALTER TABLE gaps RENAME COLUMN provider TO connection;
ALTER TABLE runs RENAME COLUMN provider TO connection;
ALTER TABLE activity RENAME COLUMN provider TO connection; -- the provider when it is about the installation
ALTER TABLE messages RENAME COLUMN provider TO connection; -- as in notifications
