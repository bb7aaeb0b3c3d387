-- A person sees one alert of a connection at a time, and each once as a toast.

-- +goose Up
ALTER TABLE notifications ADD COLUMN also TEXT NOT NULL DEFAULT '';          -- further streams that stopped, by commas
ALTER TABLE notifications ADD COLUMN waits INTEGER NOT NULL DEFAULT 0;       -- 1: another alert is shown in its place
ALTER TABLE notifications ADD COLUMN seen_at BIGINT NOT NULL DEFAULT 0;      -- when a tab had shown it
ALTER TABLE notifications ADD COLUMN replaced_at BIGINT NOT NULL DEFAULT 0;  -- when another alert took its place
ALTER TABLE messages ADD COLUMN answered INTEGER NOT NULL DEFAULT 0;         -- 1: its channel was told that it is over

-- What is open has been in banners for long.
UPDATE notifications SET seen_at = created_at;
UPDATE notifications SET waits = 1, replaced_at = created_at
    WHERE resolved_at = 0 AND connection <> '' AND cause NOT LIKE 'import %' AND id NOT IN (
        SELECT id FROM (
            SELECT id, ROW_NUMBER() OVER (
                PARTITION BY user_id, connection, CASE WHEN cause LIKE '% of user %' THEN cause ELSE '' END
                ORDER BY CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, created_at DESC, id DESC
            ) AS place
            FROM notifications
            WHERE resolved_at = 0 AND connection <> '' AND cause NOT LIKE 'import %'
        ) AS ranked
        WHERE place = 1
    );
UPDATE messages SET answered = 1 WHERE NOT EXISTS
    (SELECT 1 FROM notifications n WHERE n.id = messages.notification_id AND n.resolved_at = 0);
