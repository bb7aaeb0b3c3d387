-- What a member asks the administrators for, at most one thing for each service; and how far the first steps of a
-- person have come. A person without a row there was here before there were any.

-- +goose Up
CREATE TABLE asks (
    user_id  INTEGER NOT NULL REFERENCES users (id),
    provider TEXT NOT NULL,
    need     TEXT NOT NULL,             -- setup, keys or app
    asked_at BIGINT NOT NULL,
    done_at  BIGINT NOT NULL DEFAULT 0, -- 0 while it is open
    PRIMARY KEY (user_id, provider)
);
CREATE TABLE first_steps (
    user_id  INTEGER PRIMARY KEY REFERENCES users (id),
    contact  INTEGER NOT NULL DEFAULT 0,  -- whether the question for the contact was answered or left out
    chosen   TEXT NOT NULL DEFAULT '',    -- the services, with commas
    left_out TEXT NOT NULL DEFAULT '',    -- those of them that were put off, with commas
    ended_at BIGINT NOT NULL DEFAULT 0    -- 0 while they go on
);
