-- Rules of administrators about artists, albums and tracks. What services reported stays unchanged: the store applies
-- the rules when it reads (rulings.go), so that undoing a rule restores exactly what was.

-- +goose Up
CREATE TABLE music_rules (
    id        INTEGER PRIMARY KEY,         -- from the sequence of corrections, because both are listed together
    kind      TEXT NOT NULL,               -- merge, divide, rename or picture
    entity    TEXT NOT NULL,               -- artist, album or track
    entity_id INTEGER NOT NULL,            -- its subject; joined_ids has what replaced it
    name      TEXT NOT NULL,               -- of the subject at that time
    artist    TEXT NOT NULL,               -- of the album or the track at that time; empty for an artist
    becomes   TEXT NOT NULL,               -- the new name, or the name of the picture
    listens   INTEGER NOT NULL,            -- how many listens of its maker it has changed
    made_by   INTEGER REFERENCES users (id) ON DELETE SET NULL,
    made_at   BIGINT NOT NULL,
    undone_at BIGINT NOT NULL DEFAULT 0    -- 0 while it applies
);

CREATE TABLE music_rule_parts (
    rule_id   INTEGER NOT NULL REFERENCES music_rules (id) ON DELETE CASCADE,
    position  INTEGER NOT NULL,
    part      TEXT NOT NULL,               -- into: what replaces it; leaves: an album or a track that it loses;
                                           -- written: a title whose spellings it loses
    entity_id INTEGER NOT NULL DEFAULT 0,
    title     TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (rule_id, position)
);
