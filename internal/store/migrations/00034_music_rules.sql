-- What administrators have decided about artists, albums and tracks. It is never mixed with what services told: the
-- store applies it when it reads (rulings.go), so that undoing a rule restores exactly what was.

-- +goose Up
CREATE TABLE music_rules (
    id        INTEGER PRIMARY KEY,         -- from the same sequence as those of corrections, which are listed with these
    kind      TEXT NOT NULL,               -- merge, divide, rename or picture
    entity    TEXT NOT NULL,               -- artist, album or track
    entity_id INTEGER NOT NULL,            -- what it is about; joined_ids says what has become of it
    name      TEXT NOT NULL,               -- what that was called then
    artist    TEXT NOT NULL,               -- of the album or the track then, else empty
    becomes   TEXT NOT NULL,               -- the new name, or the name of the picture
    listens   INTEGER NOT NULL,            -- how many of its maker it has changed
    made_by   INTEGER REFERENCES users (id) ON DELETE SET NULL,
    made_at   BIGINT NOT NULL,
    undone_at BIGINT NOT NULL DEFAULT 0    -- 0 while it holds
);

CREATE TABLE music_rule_parts (
    rule_id   INTEGER NOT NULL REFERENCES music_rules (id) ON DELETE CASCADE,
    position  INTEGER NOT NULL,
    part      TEXT NOT NULL,               -- into: what comes in its place; leaves: an album or a track that it loses;
                                           -- written: a title of the spellings that it loses
    entity_id INTEGER NOT NULL DEFAULT 0,
    title     TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (rule_id, position)
);
