-- What a language model writes about people's weeks.

-- +goose Up
CREATE TABLE digests (
    id                INTEGER PRIMARY KEY,
    user_id           INTEGER NOT NULL REFERENCES users (id),
    week              TEXT NOT NULL,   -- the date of its Monday
    state             TEXT NOT NULL,   -- waiting, written, failed or deleted
    instructions      TEXT NOT NULL DEFAULT '',
    prompt            TEXT NOT NULL DEFAULT '',
    text              TEXT NOT NULL DEFAULT '',
    model             TEXT NOT NULL DEFAULT '',
    cut               INTEGER NOT NULL DEFAULT 0,
    prompt_tokens     BIGINT NOT NULL DEFAULT 0, -- of all answers that were paid for this week,
    completion_tokens BIGINT NOT NULL DEFAULT 0, -- as is the cost
    cost              BIGINT NOT NULL DEFAULT 0, -- millionths of the currency
    currency          TEXT NOT NULL DEFAULT '',  -- empty: the price is not known
    reason            TEXT NOT NULL DEFAULT '',  -- why it failed, in words
    detail            TEXT NOT NULL DEFAULT '',
    created_at        BIGINT NOT NULL,
    written_at        BIGINT NOT NULL DEFAULT 0,
    UNIQUE (user_id, week)
);

-- The people who want a digest every week.
CREATE TABLE digest_people (
    user_id INTEGER PRIMARY KEY REFERENCES users (id),
    since   BIGINT NOT NULL
);
