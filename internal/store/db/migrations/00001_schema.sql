-- What a database of Reprise 0.1.0 has, on both engines; postgres.go says what differs there.

-- +goose Up
-- +goose StatementBegin

CREATE TABLE facts (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE sequences (
    name TEXT PRIMARY KEY,
    last BIGINT NOT NULL
);

CREATE TABLE users (
    id               INTEGER PRIMARY KEY,
    name             TEXT NOT NULL,
    name_key         TEXT NOT NULL UNIQUE,
    password_hash    TEXT NOT NULL,
    role             TEXT NOT NULL,
    created_at       BIGINT NOT NULL,
    language         TEXT NOT NULL DEFAULT '',
    zone             TEXT NOT NULL DEFAULT '',
    theme            TEXT NOT NULL DEFAULT '',
    browser_language TEXT NOT NULL DEFAULT '',
    shares_listening INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE sessions (
    id           TEXT PRIMARY KEY,
    data         TEXT NOT NULL,
    expires_at   BIGINT NOT NULL,
    user_id      INTEGER NOT NULL DEFAULT 0,
    agent        TEXT NOT NULL DEFAULT '',
    address      TEXT NOT NULL DEFAULT '',
    signed_in_at BIGINT NOT NULL DEFAULT 0,
    seen_at      BIGINT NOT NULL DEFAULT 0,
    way          TEXT NOT NULL DEFAULT '', -- how somebody came in
    issuer       TEXT NOT NULL DEFAULT '', -- of OpenID Connect; empty for another way
    client       TEXT NOT NULL DEFAULT '', -- what this server was called there
    there        TEXT NOT NULL DEFAULT '', -- the session at the issuer, if it has a name
    grant_id     TEXT NOT NULL DEFAULT ''  -- of grants; empty if the issuer isn't asked again
);
CREATE INDEX sessions_expiry ON sessions (expires_at);

-- What issuers of OpenID Connect are asked with, about those who have come from there.
CREATE TABLE grants (
    id       TEXT PRIMARY KEY,
    user_id  INTEGER NOT NULL DEFAULT 0, -- 0 until somebody is signed in with it
    secret   TEXT NOT NULL,              -- sealed
    asked_at BIGINT NOT NULL,
    admin    INTEGER NOT NULL DEFAULT 0  -- 1 if the issuer last said that its person administers
);

-- Whom an issuer of OpenID Connect knows by a subject.
CREATE TABLE identities (
    issuer     TEXT NOT NULL,
    subject    TEXT NOT NULL,
    user_id    INTEGER NOT NULL REFERENCES users (id),
    name       TEXT NOT NULL, -- as the issuer calls them
    created_at BIGINT NOT NULL,
    used_at    BIGINT NOT NULL,
    PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_user ON identities (user_id);

-- What people show beside or in place of a password.
CREATE TABLE factors (
    id         INTEGER PRIMARY KEY,
    user_id    INTEGER NOT NULL REFERENCES users (id),
    kind       TEXT NOT NULL,             -- codes, passkey
    name       TEXT NOT NULL,
    credential TEXT NOT NULL DEFAULT '',  -- by which a browser names a passkey
    secret     TEXT NOT NULL,             -- sealed
    confirmed  INTEGER NOT NULL,
    step       BIGINT NOT NULL DEFAULT 0, -- of the last code that was used, in half minutes
    created_at BIGINT NOT NULL,
    used_at    BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX factors_user ON factors (user_id);
CREATE UNIQUE INDEX factors_credential ON factors (credential) WHERE credential <> '';

CREATE TABLE recovery_codes (
    user_id INTEGER NOT NULL REFERENCES users (id),
    hash    TEXT NOT NULL,
    PRIMARY KEY (user_id, hash)
);

CREATE TABLE connections (
    user_id       INTEGER NOT NULL REFERENCES users (id),
    connection    TEXT NOT NULL,
    account_id    TEXT NOT NULL,
    account       TEXT NOT NULL,
    app           TEXT NOT NULL,
    generation    BIGINT NOT NULL,
    credentials   TEXT NOT NULL,
    authorized_at BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL,
    paused        INTEGER NOT NULL,
    created_at    BIGINT NOT NULL,
    name          TEXT NOT NULL DEFAULT '',
    renewal_until BIGINT NOT NULL DEFAULT 0, -- the end of the claim of a server that renews its token; 0 without one
    PRIMARY KEY (user_id, connection)
);

-- How many connections a user has had with a provider: generations go on where a disconnect ended them.
CREATE TABLE generations (
    user_id    INTEGER NOT NULL REFERENCES users (id),
    connection TEXT NOT NULL,
    generation BIGINT NOT NULL,
    PRIMARY KEY (user_id, connection)
);

-- A proved credential of another account that waits for its person's choice.
CREATE TABLE pending_connections (
    user_id       INTEGER NOT NULL REFERENCES users (id),
    connection    TEXT NOT NULL,
    account_id    TEXT NOT NULL,
    account       TEXT NOT NULL,
    app           TEXT NOT NULL,
    credentials   TEXT NOT NULL,
    authorized_at BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    PRIMARY KEY (user_id, connection)
);

CREATE TABLE oauth_states (
    id         TEXT PRIMARY KEY,
    session    TEXT NOT NULL,
    user_id    INTEGER NOT NULL REFERENCES users (id),
    connection TEXT NOT NULL,
    verifier   TEXT NOT NULL,
    return_to  TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

-- What is known of one stream of a connection; stream '' stands for the whole connection.
CREATE TABLE streams (
    user_id         INTEGER NOT NULL REFERENCES users (id),
    connection      TEXT NOT NULL,
    stream          TEXT NOT NULL,
    reading         TEXT NOT NULL DEFAULT '',
    last_success_at BIGINT NOT NULL DEFAULT 0,
    stop_category   TEXT NOT NULL DEFAULT '',
    stop_since      BIGINT NOT NULL DEFAULT 0,
    advice          TEXT NOT NULL DEFAULT '',
    detail          TEXT NOT NULL DEFAULT '',
    note            TEXT NOT NULL DEFAULT '',
    crashes         INTEGER NOT NULL DEFAULT 0,
    stop_admin      INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, connection, stream)
);

-- What the server that calls a service knows of a connection to it: see live.go in internal/sync.
CREATE TABLE live_states (
    user_id    INTEGER NOT NULL REFERENCES users (id),
    connection TEXT NOT NULL,
    state      TEXT NOT NULL, -- in JSON
    PRIMARY KEY (user_id, connection)
);

CREATE TABLE holds (
    connection TEXT NOT NULL,
    app        TEXT NOT NULL,
    user_id    INTEGER NOT NULL, -- 0 for a hold of the whole app
    stream     TEXT NOT NULL,
    category   TEXT NOT NULL,
    since      BIGINT NOT NULL,
    until      BIGINT NOT NULL,
    PRIMARY KEY (connection, app, user_id, stream)
);

CREATE TABLE listens (
    id          INTEGER PRIMARY KEY,
    user_id     INTEGER NOT NULL REFERENCES users (id),
    played_at   BIGINT NOT NULL,
    approximate INTEGER NOT NULL,
    spelling_id INTEGER NOT NULL DEFAULT 0
);

-- Where a provider tells only the last play of each track and their number: the number seen last.
CREATE TABLE play_counts (
    user_id    INTEGER NOT NULL REFERENCES users (id),
    connection TEXT NOT NULL,
    track_id   TEXT NOT NULL,
    plays      INTEGER NOT NULL,
    played_at  BIGINT NOT NULL,
    looked     BIGINT NOT NULL DEFAULT 0, -- the last number of sent_plays before it was read
    PRIMARY KEY (user_id, connection, track_id)
);

-- Plays that were sent to servers that only count them, so that they are not taken for plays that were missed: see
-- sent.go.
CREATE TABLE sent_plays (
    id        BIGINT PRIMARY KEY, -- when it began; see ended
    user_id   INTEGER NOT NULL REFERENCES users (id),
    account   BIGINT NOT NULL, -- a hash of the provider and its id of the account
    track_id  TEXT NOT NULL, -- the song there
    listen_id BIGINT NOT NULL,
    played_at BIGINT NOT NULL,
    began_at  BIGINT NOT NULL,
    ended     BIGINT NOT NULL DEFAULT 0 -- when its outcome was known, from the same sequence as id; 0 before
);
CREATE INDEX sent_plays_song ON sent_plays (account, track_id);
CREATE INDEX sent_plays_listen ON sent_plays (listen_id);

CREATE TABLE playlists (
    id          INTEGER PRIMARY KEY,
    user_id     INTEGER NOT NULL REFERENCES users (id),
    connection  TEXT NOT NULL,
    source_id   TEXT NOT NULL,
    name        TEXT NOT NULL,
    snapshot    TEXT NOT NULL,
    track_count INTEGER NOT NULL,
    shrunk_to   INTEGER NOT NULL, -- a much smaller number of tracks, seen once and not believed yet; -1 for none
    active      INTEGER NOT NULL,
    position    INTEGER NOT NULL,
    since_at    BIGINT NOT NULL DEFAULT 0, -- when it was read for the first time as it is now
    blank       INTEGER NOT NULL DEFAULT 0, -- places whose track the provider doesn't offer any more
    gone        INTEGER NOT NULL DEFAULT 0, -- tracks in it that the provider doesn't offer any more
    locked      INTEGER NOT NULL DEFAULT 0, -- 1: its account can't change it there
    UNIQUE (user_id, connection, source_id)
);

CREATE TABLE playlist_tracks (
    playlist_id    INTEGER NOT NULL REFERENCES playlists (id) ON DELETE CASCADE,
    position       INTEGER NOT NULL,
    title          TEXT NOT NULL,
    artist         TEXT NOT NULL,
    album          TEXT NOT NULL,
    duration_ms    INTEGER NOT NULL,
    isrc           TEXT NOT NULL,
    recording_mbid TEXT NOT NULL,
    source_id      TEXT NOT NULL,
    PRIMARY KEY (playlist_id, position)
);

-- What a playlist was like earlier, each version as the difference to the next, or to what the playlist is like now.
CREATE TABLE playlist_versions (
    playlist_id INTEGER NOT NULL REFERENCES playlists (id) ON DELETE CASCADE,
    number      INTEGER NOT NULL, -- grows
    name        TEXT NOT NULL,
    track_count INTEGER NOT NULL,
    since_at    BIGINT NOT NULL,
    until_at    BIGINT NOT NULL,
    came        INTEGER NOT NULL, -- tracks, with the change that ended it
    went        INTEGER NOT NULL,
    moved       INTEGER NOT NULL,
    back        TEXT NOT NULL, -- see package versions
    pinned      INTEGER NOT NULL,
    lost        INTEGER NOT NULL DEFAULT 0, -- tracks that the provider may have removed, with that change
    taken       INTEGER NOT NULL DEFAULT 0, -- 1: it doesn't offer them any more
    PRIMARY KEY (playlist_id, number)
);

CREATE TABLE notifications (
    id              INTEGER PRIMARY KEY,
    user_id         INTEGER NOT NULL REFERENCES users (id),
    connection      TEXT NOT NULL,
    cause           TEXT NOT NULL,
    generation      BIGINT NOT NULL,
    severity        TEXT NOT NULL,
    category        TEXT NOT NULL,
    title           TEXT NOT NULL,
    message         TEXT NOT NULL,
    detail          TEXT NOT NULL,
    action_label    TEXT NOT NULL,
    action_url      TEXT NOT NULL,
    created_at      BIGINT NOT NULL,
    acknowledged_at BIGINT NOT NULL,
    resolved_at     BIGINT NOT NULL,
    also            TEXT NOT NULL DEFAULT '',
    waits           INTEGER NOT NULL DEFAULT 0,
    seen_at         BIGINT NOT NULL DEFAULT 0,
    replaced_at     BIGINT NOT NULL DEFAULT 0,
    UNIQUE (user_id, connection, cause, generation)
);
CREATE INDEX notifications_open ON notifications (user_id, resolved_at);

-- What a person wants carried to a provider from now on.
CREATE TABLE forwarding (
    user_id    INTEGER NOT NULL REFERENCES users (id),
    connection TEXT NOT NULL,
    kind       TEXT NOT NULL, -- of the deliveries: submit_listens, scrobble or archive
    batch      INTEGER NOT NULL, -- how many listens one delivery carries at the most
    from_at    BIGINT NOT NULL, -- listens that were played earlier are not carried
    oldest     BIGINT NOT NULL, -- nor are those that are older than so many milliseconds; 0 for any age
    since      BIGINT NOT NULL, -- when it was switched on
    PRIMARY KEY (user_id, connection)
);

-- What is, or was, to be sent.
CREATE TABLE deliveries (
    id              INTEGER PRIMARY KEY,
    user_id         INTEGER NOT NULL REFERENCES users (id),
    connection      TEXT NOT NULL,
    kind            TEXT NOT NULL,
    ref             TEXT NOT NULL, -- what it is about: the number of a playlist, or a month; empty for listens
    schema_version  INTEGER NOT NULL, -- of what a delivery means; one of a newer program waits for that
    idempotency_key TEXT NOT NULL,
    items           INTEGER NOT NULL, -- how many listens or playlists it carries
    history         INTEGER NOT NULL, -- 1: it goes out after everything that is new
    state           TEXT NOT NULL, -- scheduled, running, retrying, parked, dead or done
    attempts        INTEGER NOT NULL DEFAULT 0, -- used up
    max_attempts    INTEGER NOT NULL,
    due_at          BIGINT NOT NULL, -- when the next attempt is made, while it is scheduled or retrying
    created_at      BIGINT NOT NULL,
    ended_at        BIGINT NOT NULL DEFAULT 0, -- when it became done or dead; 0 before
    category        TEXT NOT NULL DEFAULT '', -- of the latest failure
    reason          TEXT NOT NULL DEFAULT '', -- in words
    answer          TEXT NOT NULL DEFAULT '', -- the upstream's own
    dead_since      BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX deliveries_owner ON deliveries (user_id, connection, id);
CREATE INDEX deliveries_ended ON deliveries (state, ended_at);
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE state IN ('scheduled', 'retrying');
CREATE INDEX deliveries_next ON deliveries (user_id, connection, history, id)
    WHERE state IN ('scheduled', 'retrying', 'running');
-- A play is sent once; a copy, and the messages of a channel, are sent again after they were sent.
CREATE UNIQUE INDEX deliveries_key ON deliveries (idempotency_key)
    WHERE state <> 'done' OR kind NOT IN ('write_playlist', 'write_loves', 'archive', 'notify');

-- Which listens are or were carried to a provider. delivery_id 0: sent so long ago that the delivery is forgotten.
CREATE TABLE forwards (
    listen_id   INTEGER NOT NULL REFERENCES listens (id) ON DELETE CASCADE,
    connection  TEXT NOT NULL,
    user_id     INTEGER NOT NULL REFERENCES users (id),
    delivery_id INTEGER NOT NULL,
    PRIMARY KEY (listen_id, connection)
);
CREATE INDEX forwards_delivery ON forwards (delivery_id);
CREATE INDEX forwards_owner ON forwards (user_id, connection, delivery_id);

-- What a provider holds a copy of, kept equal to ours: a playlist, or a month of the archive.
CREATE TABLE copies (
    user_id    INTEGER NOT NULL REFERENCES users (id),
    connection TEXT NOT NULL,
    kind       TEXT NOT NULL,
    ref        TEXT NOT NULL,
    wanted     BIGINT NOT NULL, -- grows with every change of ours
    written    BIGINT NOT NULL, -- what wanted was when it was written last; 0 for never
    remote_id  TEXT NOT NULL DEFAULT '', -- the playlist's there, or the object's ETag
    report     TEXT NOT NULL DEFAULT '', -- what came of it (JSON)
    written_at BIGINT NOT NULL DEFAULT 0,
    marks      TEXT NOT NULL DEFAULT '',
    snapshot   TEXT NOT NULL DEFAULT '',
    checked_at BIGINT NOT NULL DEFAULT 0,
    drift      TEXT NOT NULL DEFAULT '',
    choice     TEXT NOT NULL DEFAULT '',
    agreed     TEXT NOT NULL DEFAULT '', -- the songs when both sides were last alike (JSON); for both ways only
    decided    TEXT NOT NULL DEFAULT '', -- whose changes its person keeps; empty: nothing was decided
    pending    TEXT NOT NULL DEFAULT '', -- what is being written in several calls (JSON)
    PRIMARY KEY (user_id, connection, kind, ref)
);

-- Which of a provider's tracks is which, as far as it was looked up.
CREATE TABLE track_matches (
    user_id    INTEGER NOT NULL REFERENCES users (id),
    connection TEXT NOT NULL,
    track      TEXT NOT NULL, -- what was looked for
    source_id  TEXT NOT NULL, -- empty: nothing was found
    title      TEXT NOT NULL,
    artist     TEXT NOT NULL,
    how        TEXT NOT NULL,
    score      DOUBLE PRECISION NOT NULL,
    checked_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, connection, track)
);

CREATE TABLE imports (
    id          INTEGER PRIMARY KEY,
    user_id     INTEGER NOT NULL REFERENCES users (id),
    connection  TEXT NOT NULL,
    name        TEXT NOT NULL, -- as its person knows the file
    file        TEXT NOT NULL, -- its name among the kept ones
    size        BIGINT NOT NULL,
    state       TEXT NOT NULL, -- waiting, running, ready, done, failed or canceled
    entry       INTEGER NOT NULL DEFAULT 0, -- where reading goes on: in which file of an archive,
    entry_row   INTEGER NOT NULL DEFAULT 0, -- and after how many of its rows
    bytes_done  BIGINT NOT NULL DEFAULT 0,
    bytes_total BIGINT NOT NULL DEFAULT 0,
    preview     INTEGER NOT NULL DEFAULT 0, -- it only counts
    question    TEXT NOT NULL DEFAULT '', -- what its person has to say about it
    answers     TEXT NOT NULL DEFAULT '{}',
    sample      TEXT NOT NULL DEFAULT 'null', -- the first rows of a table
    first_at    BIGINT NOT NULL DEFAULT 0,
    last_at     BIGINT NOT NULL DEFAULT 0,
    row_count   INTEGER NOT NULL DEFAULT 0,
    added       INTEGER NOT NULL DEFAULT 0,
    known       INTEGER NOT NULL DEFAULT 0,
    skipped     INTEGER NOT NULL DEFAULT 0,
    bad         INTEGER NOT NULL DEFAULT 0,
    problems    TEXT NOT NULL DEFAULT '', -- the first bad rows, one per line
    reason      TEXT NOT NULL DEFAULT '', -- why it failed, in words
    created_at  BIGINT NOT NULL,
    ended_at    BIGINT NOT NULL DEFAULT 0,
    crashes     INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX imports_owner ON imports (user_id, id);

-- What people have sent, on Postgres. With SQLite it lies in the data directory's folder of imports.
CREATE TABLE upload_pieces (
    file    TEXT NOT NULL,
    piece   INTEGER NOT NULL, -- from 0 on
    user_id INTEGER NOT NULL REFERENCES users (id),
    kept_at BIGINT NOT NULL,
    data    BLOB NOT NULL,
    PRIMARY KEY (file, piece)
);

-- Which songs people's own libraries have.
CREATE TABLE library_songs (
    user_id    INTEGER NOT NULL REFERENCES users (id),
    connection TEXT NOT NULL,
    match_key  BIGINT NOT NULL, -- equal for the names that services give to the same track
    PRIMARY KEY (user_id, connection, match_key)
);

CREATE INDEX playlist_versions_lost ON playlist_versions (playlist_id) WHERE lost > 0;

-- What people think of tracks.
CREATE TABLE loves (
    user_id        INTEGER NOT NULL REFERENCES users (id),
    match_key      BIGINT NOT NULL, -- equal for the names that services give to the same track
    title          TEXT NOT NULL, -- as it was said first
    artist         TEXT NOT NULL,
    recording_mbid TEXT NOT NULL,
    score          INTEGER NOT NULL, -- 1 loved, -1 hated, 0 neither any more
    said_at        BIGINT NOT NULL,
    PRIMARY KEY (user_id, match_key)
);

-- What services have of that, as far as is known: as it was read, or written there.
CREATE TABLE loves_there (
    user_id        INTEGER NOT NULL REFERENCES users (id),
    connection     TEXT NOT NULL,
    match_key      BIGINT NOT NULL,
    title          TEXT NOT NULL, -- as it is there
    artist         TEXT NOT NULL,
    recording_mbid TEXT NOT NULL,
    source_id      TEXT NOT NULL, -- the track's, there
    score          INTEGER NOT NULL,
    known_at       BIGINT NOT NULL,
    seen           INTEGER NOT NULL, -- 1: the service has listed it
    told           INTEGER NOT NULL, -- how often it was sent since
    gone           INTEGER NOT NULL, -- 1: it does not any more, and the person is asked what that means
    refused        TEXT NOT NULL, -- why it does not take what the person thinks (a sentence); empty if it does
    PRIMARY KEY (user_id, connection, match_key)
);

-- Playlists that renew themselves from their person's history.
CREATE TABLE recipes (
    id         INTEGER PRIMARY KEY,
    user_id    INTEGER NOT NULL REFERENCES users (id),
    name       TEXT NOT NULL,
    kind       TEXT NOT NULL,
    months     INTEGER NOT NULL,
    loved      INTEGER NOT NULL,
    year       INTEGER NOT NULL,
    season     TEXT NOT NULL,
    songs      INTEGER NOT NULL,
    minutes    INTEGER NOT NULL,
    library    TEXT NOT NULL, -- a connection; empty for any
    disliked   INTEGER NOT NULL, -- 1: without what anybody dislikes
    every      TEXT NOT NULL,
    renewed_at BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX recipes_owner ON recipes (user_id, id);

-- When a connection was not read for a while, what of it could be read later, and what an import has filled.
CREATE TABLE gaps (
    user_id    INTEGER NOT NULL REFERENCES users (id),
    connection TEXT NOT NULL,
    from_at    BIGINT NOT NULL,
    to_at      BIGINT NOT NULL,
    lost_to    BIGINT NOT NULL, -- what was played before is no longer offered; 0: nothing is lost
    recovered  INTEGER NOT NULL,
    noticed_at BIGINT NOT NULL,
    filled     INTEGER NOT NULL DEFAULT 0,
    filled_at  BIGINT NOT NULL DEFAULT 0,
    stand_ins  TEXT NOT NULL DEFAULT '[]', -- where something was lost, the connections through which such plays came
    PRIMARY KEY (user_id, connection, from_at)
);

-- What comparing a month of a connection's history with the listens here has shown.
CREATE TABLE audits (
    user_id    INTEGER NOT NULL REFERENCES users (id),
    connection TEXT NOT NULL,
    month      INTEGER NOT NULL, -- of UTC, year * 12 + month - 1; 0 for everything before the first
    counted    INTEGER NOT NULL DEFAULT -1, -- plays that the service says it has; -1 if it doesn't say
    listed     INTEGER NOT NULL DEFAULT -1, -- plays that it listed; -1 if it was not read for that
    here       INTEGER NOT NULL DEFAULT 0, -- plays that are here as the connection's
    refilled   INTEGER NOT NULL DEFAULT 0,
    renamed    INTEGER NOT NULL DEFAULT 0,
    short      INTEGER NOT NULL DEFAULT 0, -- plays that it counts and does not list
    tries      INTEGER NOT NULL DEFAULT 0, -- how often that was so in a row
    held       TEXT NOT NULL DEFAULT '[]', -- ids of plays that it lists all of a sudden,
    refused    TEXT NOT NULL DEFAULT '[]', -- those that the person does not want,
    take       INTEGER NOT NULL DEFAULT 0, -- and whether they want the others
    suspect    TEXT NOT NULL DEFAULT '[]', -- ids of plays that it did not list,
    suspect_at BIGINT NOT NULL DEFAULT 0, -- when that was,
    gone       TEXT NOT NULL DEFAULT '[]', -- those that it did not list a day later either,
    decided    TEXT NOT NULL DEFAULT '[]', -- and those that the person has decided about
    asks       INTEGER NOT NULL DEFAULT 0, -- they have to decide about some
    days       TEXT NOT NULL DEFAULT '[]',
    wanted     INTEGER NOT NULL DEFAULT 0,
    checked_at BIGINT NOT NULL DEFAULT 0, -- 0: not compared yet
    failed_at  BIGINT NOT NULL DEFAULT 0, -- when that failed since
    PRIMARY KEY (user_id, connection, month)
);

-- Until when a key of the installation may not be used, as its provider dictated.
CREATE TABLE key_cooldowns (
    provider    TEXT NOT NULL,
    fingerprint TEXT NOT NULL, -- SHA-256 of the key
    category    TEXT NOT NULL,
    until       BIGINT NOT NULL,
    PRIMARY KEY (provider, fingerprint)
);

CREATE TABLE entities (
    id          INTEGER PRIMARY KEY,
    kind        TEXT NOT NULL, -- artist, album or track
    -- equal for the names that services give to the same thing; a track's is that of its listens
    match_key   BIGINT NOT NULL,
    artist      TEXT NOT NULL,
    title       TEXT NOT NULL,
    album       TEXT NOT NULL,
    duration_ms INTEGER NOT NULL,
    isrc        TEXT NOT NULL,
    mbid        TEXT NOT NULL, -- as a listen told, or as was found
    UNIQUE (match_key, kind)
);

-- How far the listens have been looked through (name ''), and the entities for each source.
CREATE TABLE enrichment_marks (
    name TEXT PRIMARY KEY,
    last BIGINT NOT NULL
);

CREATE TABLE enrichment (
    source    TEXT NOT NULL,
    entity_id INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    state     TEXT NOT NULL, -- waiting, done, not_there or failed
    due_at    BIGINT NOT NULL, -- 0: when another source has found its MBID
    failures  INTEGER NOT NULL DEFAULT 0,
    reason    TEXT NOT NULL DEFAULT '',
    asked_at  BIGINT NOT NULL DEFAULT 0,
    mbid      TEXT NOT NULL DEFAULT '',
    name      TEXT NOT NULL DEFAULT '',
    tags      TEXT NOT NULL DEFAULT '', -- one per line
    released  TEXT NOT NULL DEFAULT '',
    picture   TEXT NOT NULL DEFAULT '', -- its name in the cache of pictures
    PRIMARY KEY (entity_id, source)
);
CREATE INDEX enrichment_due ON enrichment (source, due_at, entity_id);
CREATE INDEX enrichment_pictures ON enrichment (picture, failures, due_at) WHERE picture <> '';
CREATE INDEX enrichment_progress ON enrichment (source, state, failures, due_at);

CREATE TABLE digests (
    id                INTEGER PRIMARY KEY,
    user_id           INTEGER NOT NULL REFERENCES users (id),
    week              TEXT NOT NULL, -- the date of its Monday
    state             TEXT NOT NULL, -- waiting, written, failed or deleted
    instructions      TEXT NOT NULL DEFAULT '',
    prompt            TEXT NOT NULL DEFAULT '',
    text              TEXT NOT NULL DEFAULT '',
    model             TEXT NOT NULL DEFAULT '',
    cut               INTEGER NOT NULL DEFAULT 0,
    prompt_tokens     BIGINT NOT NULL DEFAULT 0, -- of all answers that were paid for this week,
    completion_tokens BIGINT NOT NULL DEFAULT 0, -- as is the cost
    cost              BIGINT NOT NULL DEFAULT 0, -- millionths of the currency
    currency          TEXT NOT NULL DEFAULT '', -- empty: the price is not known
    reason            TEXT NOT NULL DEFAULT '', -- why it failed, in words
    detail            TEXT NOT NULL DEFAULT '',
    created_at        BIGINT NOT NULL,
    written_at        BIGINT NOT NULL DEFAULT 0,
    language          TEXT NOT NULL DEFAULT 'en',
    UNIQUE (user_id, week)
);

-- The people who want a digest every week.
CREATE TABLE digest_people (
    user_id INTEGER PRIMARY KEY REFERENCES users (id),
    since   BIGINT NOT NULL
);

CREATE TABLE runs (
    user_id    INTEGER NOT NULL REFERENCES users (id),
    connection TEXT NOT NULL,
    stream     TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    took_ms    BIGINT NOT NULL,
    row_count  INTEGER NOT NULL, -- new listens, or playlists read
    result     TEXT NOT NULL, -- ok, retriable or fatal
    category   TEXT NOT NULL,
    words      TEXT NOT NULL,
    detail     TEXT NOT NULL,
    PRIMARY KEY (user_id, connection, stream, started_at)
);
CREATE INDEX runs_age ON runs (started_at);

CREATE TABLE quarters (
    start_at BIGINT NOT NULL,
    provider TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    failures BIGINT NOT NULL,
    refused  BIGINT NOT NULL,
    took_ms  BIGINT NOT NULL,
    open_ms  BIGINT NOT NULL,
    PRIMARY KEY (start_at, provider, endpoint)
);

CREATE TABLE tokens (
    id           INTEGER PRIMARY KEY,
    user_id      INTEGER NOT NULL REFERENCES users (id),
    name         TEXT NOT NULL,
    hash         TEXT NOT NULL UNIQUE, -- SHA-256 of the token
    last_four    TEXT NOT NULL,
    scope        TEXT NOT NULL, -- read, operate or admin
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL DEFAULT 0,
    expires_at   BIGINT NOT NULL DEFAULT 0, -- 0: never
    UNIQUE (user_id, name)
);

CREATE TABLE activity (
    id         INTEGER PRIMARY KEY,
    at         BIGINT NOT NULL,
    user_id    INTEGER NOT NULL, -- whom it is about; 0 for the installation
    actor_id   INTEGER NOT NULL, -- who did it; 0 for the server, and for somebody without an account
    actor      TEXT NOT NULL,
    action     TEXT NOT NULL,
    connection TEXT NOT NULL DEFAULT '',
    subject    TEXT NOT NULL DEFAULT '',
    detail     TEXT NOT NULL DEFAULT '',
    times      INTEGER NOT NULL DEFAULT 1
);
CREATE INDEX activity_user ON activity (user_id, id);

CREATE TABLE channels (
    id              INTEGER PRIMARY KEY,
    user_id         INTEGER NOT NULL REFERENCES users (id),
    kind            TEXT NOT NULL, -- ntfy, gotify, discord, telegram, email, webhook or webpush
    name            TEXT NOT NULL,
    url             TEXT NOT NULL, -- sealed
    setting         TEXT NOT NULL DEFAULT '', -- the setting that it stems from; empty: a person's own
    least           TEXT NOT NULL, -- the least severity that is told
    quiet_from      INTEGER NOT NULL DEFAULT -1, -- minutes of the day; -1 for no quiet hours
    quiet_to        INTEGER NOT NULL DEFAULT -1,
    zone            TEXT NOT NULL DEFAULT '', -- IANA name, for the quiet hours; empty: that of the server
    errors_at_night INTEGER NOT NULL DEFAULT 0,
    version         BIGINT NOT NULL DEFAULT 1, -- grows with every change by a person
    stopped_at      BIGINT NOT NULL DEFAULT 0,
    category        TEXT NOT NULL DEFAULT '', -- of the latest failure
    reason          TEXT NOT NULL DEFAULT '', -- in words
    failures        INTEGER NOT NULL DEFAULT 0, -- in a row
    failing_since   BIGINT NOT NULL DEFAULT 0,
    last_sent_at    BIGINT NOT NULL DEFAULT 0,
    created_at      BIGINT NOT NULL,
    -- the Monday, as a date in UTC, of the latest week whose report was due; 0 where none is wanted
    reported        BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX channels_owner ON channels (user_id, id);

-- What a channel tells of an opening of a notification, which may open again later with other words.
CREATE TABLE messages (
    id              INTEGER PRIMARY KEY,
    channel_id      INTEGER NOT NULL REFERENCES channels (id) ON DELETE CASCADE,
    notification_id INTEGER NOT NULL,
    opened_at       BIGINT NOT NULL, -- which opening of it; of a report, the Monday of its week
    event           TEXT NOT NULL, -- opened, resolved, or report, which is about no notification
    severity        TEXT NOT NULL,
    connection      TEXT NOT NULL,
    cause           TEXT NOT NULL,
    category        TEXT NOT NULL,
    title           TEXT NOT NULL,
    message         TEXT NOT NULL,
    action_url      TEXT NOT NULL,
    resolved_at     BIGINT NOT NULL DEFAULT 0,
    created_at      BIGINT NOT NULL,
    -- when it was sent, or dropped; those that were sent together have the same
    ended_at        BIGINT NOT NULL DEFAULT 0,
    sent            INTEGER NOT NULL DEFAULT 0,
    answered        INTEGER NOT NULL DEFAULT 0,
    UNIQUE (channel_id, notification_id, opened_at, event)
);
CREATE INDEX messages_waiting ON messages (channel_id, ended_at);
CREATE INDEX messages_notification ON messages (notification_id);
CREATE INDEX sessions_user ON sessions (user_id);

CREATE TABLE links (
    id         INTEGER PRIMARY KEY,
    kind       TEXT NOT NULL, -- invitation or reset
    hash       TEXT NOT NULL UNIQUE, -- SHA-256 of the code in the link
    code       TEXT NOT NULL, -- sealed, to show the link again
    user_id    INTEGER NOT NULL, -- whose password it changes; 0 for an invitation
    name       TEXT NOT NULL, -- proposed to the invited person; may be empty
    role       TEXT NOT NULL, -- of the account that an invitation makes
    made_by    INTEGER NOT NULL, -- the administrator; 0 for the operator
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE TABLE song_questions (
    id          INTEGER PRIMARY KEY,
    user_id     INTEGER NOT NULL REFERENCES users (id),
    connection  TEXT NOT NULL,
    song        TEXT NOT NULL, -- the key that all spellings of the song have in common
    title       TEXT NOT NULL, -- as it was looked for
    artist      TEXT NOT NULL,
    album       TEXT NOT NULL,
    duration_ms BIGINT NOT NULL,
    offered     TEXT NOT NULL, -- the songs that could be it (JSON)
    answer      TEXT NOT NULL DEFAULT '', -- chosen, none, or empty while it is open
    chosen      TEXT NOT NULL DEFAULT '', -- the id of the chosen song there
    refused     TEXT NOT NULL DEFAULT '[]', -- the ids of those that it is not (JSON)
    asked_at    BIGINT NOT NULL,
    answered_at BIGINT NOT NULL DEFAULT 0,
    UNIQUE (user_id, connection, song)
);

CREATE TABLE skipped (
    user_id    INTEGER NOT NULL,
    connection TEXT NOT NULL,
    stream     TEXT NOT NULL,
    playlist   TEXT NOT NULL, -- the provider's id of the playlist that a track is in; empty for a playlist
    source_id  TEXT NOT NULL, -- the provider's id of the item
    kind       TEXT NOT NULL, -- playlist or track
    name       TEXT NOT NULL,
    inside     TEXT NOT NULL, -- the name of the playlist that a track is in
    snapshot   TEXT NOT NULL, -- of the playlist when it was refused
    category   TEXT NOT NULL,
    reason     TEXT NOT NULL,
    answer     TEXT NOT NULL,
    failures   INTEGER NOT NULL, -- in a row
    since      BIGINT NOT NULL,
    tried_at   BIGINT NOT NULL,
    retry_at   BIGINT NOT NULL,
    PRIMARY KEY (user_id, connection, stream, playlist, source_id)
);

CREATE TABLE videos (
    id           TEXT PRIMARY KEY, -- YouTube's
    title        TEXT NOT NULL, -- empty for one of which nothing was ever told
    channel      TEXT NOT NULL,
    published_at BIGINT NOT NULL,
    duration_ms  BIGINT NOT NULL,
    category     TEXT NOT NULL,
    tags         TEXT NOT NULL, -- one per line, as the next two
    allowed_in   TEXT NOT NULL,
    blocked_in   TEXT NOT NULL,
    views        BIGINT NOT NULL, -- -1: not told
    likes        BIGINT NOT NULL,
    comments     BIGINT NOT NULL,
    thumbnail    TEXT NOT NULL,
    availability TEXT NOT NULL, -- public, unlisted, private, deleted or unavailable
    checked_at   BIGINT NOT NULL,
    gone_since   BIGINT NOT NULL -- 0 while it is there
);

CREATE TABLE settings (
    path       TEXT PRIMARY KEY,
    value      TEXT NOT NULL, -- empty where it is sealed
    sealed     TEXT NOT NULL, -- a secret; empty where the value is none
    updated_at BIGINT NOT NULL,
    updated_by BIGINT NOT NULL -- the account; 0 without one, and for one that was removed since
);

CREATE TABLE asks (
    user_id  INTEGER NOT NULL REFERENCES users (id),
    provider TEXT NOT NULL,
    need     TEXT NOT NULL, -- setup, keys or app
    asked_at BIGINT NOT NULL,
    done_at  BIGINT NOT NULL DEFAULT 0, -- 0 while it is open
    PRIMARY KEY (user_id, provider)
);

CREATE TABLE first_steps (
    user_id  INTEGER PRIMARY KEY REFERENCES users (id),
    contact  INTEGER NOT NULL DEFAULT 0, -- whether the question for the contact was answered or left out
    chosen   TEXT NOT NULL DEFAULT '', -- the services, with commas
    left_out TEXT NOT NULL DEFAULT '', -- those of them that were put off, with commas
    ended_at BIGINT NOT NULL DEFAULT 0 -- 0 while they go on
);

-- The names and facts of a track exactly as a service told them, and which artist, album and track they mean.
CREATE TABLE spellings (
    id             INTEGER PRIMARY KEY,
    hash           BIGINT NOT NULL UNIQUE, -- of the next six columns
    title          TEXT NOT NULL,
    artist         TEXT NOT NULL,
    album          TEXT NOT NULL,
    duration_ms    INTEGER NOT NULL,
    isrc           TEXT NOT NULL,
    recording_mbid TEXT NOT NULL,
    match_key      BIGINT NOT NULL, -- equal for the names that services give to the same track
    artist_key     BIGINT NOT NULL, -- of the artist, in upper or lower case
    album_id       INTEGER REFERENCES entities (id), -- NULL without one
    track_id       INTEGER REFERENCES entities (id)
);
CREATE INDEX spellings_by_name ON spellings (artist_key);
CREATE INDEX spellings_of_album ON spellings (album_id);
CREATE INDEX spellings_of_track ON spellings (track_id);
CREATE INDEX spellings_by_mbid ON spellings (recording_mbid) WHERE recording_mbid <> '';
CREATE INDEX spellings_by_isrc ON spellings (isrc) WHERE isrc <> '';

-- All artists of a track.
CREATE TABLE track_artists (
    track_id  INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    artist_id INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    position  INTEGER NOT NULL, -- from 0
    listed    INTEGER NOT NULL, -- 1 if a service has listed the artists one by one, 0 if they were read out of a text
    PRIMARY KEY (track_id, artist_id)
);
CREATE INDEX track_artists_artist ON track_artists (artist_id);

-- Further keys of an entity, which joined it because of an MBID or an ISRC.
CREATE TABLE joined_keys (
    kind      TEXT NOT NULL,
    match_key BIGINT NOT NULL,
    entity_id INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    PRIMARY KEY (match_key, kind)
);
CREATE INDEX joined_keys_entity ON joined_keys (entity_id);

-- The ids of entities that are gone because they joined another one: where links to them lead.
CREATE TABLE joined_ids (
    old_id    INTEGER PRIMARY KEY,
    entity_id INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE
);
CREATE INDEX joined_ids_entity ON joined_ids (entity_id);
CREATE INDEX entities_by_mbid ON entities (mbid) WHERE mbid <> '';

-- The ids of connections as small numbers, which take less room in every source of a listen.
CREATE TABLE connection_numbers (
    number     INTEGER PRIMARY KEY,
    connection TEXT NOT NULL UNIQUE
);

-- What the ids of sources have beside a time is kept once: the plays of a song share it. U+0001 stands for the time.
CREATE TABLE source_names (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

CREATE TABLE listen_sources (
    listen_id  INTEGER NOT NULL REFERENCES listens (id) ON DELETE CASCADE,
    connection INTEGER NOT NULL, -- its number
    source_key BIGINT NOT NULL, -- of the person, the connection and the source's id; see sources.go
    later      BIGINT NOT NULL, -- by how much it tells of a later time than the listen's: of the end of the play
    stored_at  BIGINT NOT NULL, -- when it told it, in seconds
    player     INTEGER NOT NULL DEFAULT 0,
    name_id    INTEGER NOT NULL DEFAULT 0, -- of the source's id without its time
    PRIMARY KEY (listen_id, connection, source_key)
) WITHOUT ROWID;
CREATE INDEX listens_newest ON listens (user_id, played_at, spelling_id);
CREATE INDEX listen_sources_key ON listen_sources (source_key);

CREATE TABLE listen_columns (
    user_id INTEGER NOT NULL REFERENCES users (id),
    span    BIGINT NOT NULL,
    version BIGINT NOT NULL, -- changes with the listens
    data    BLOB, -- NULL until it is built, and from each change on
    PRIMARY KEY (user_id, span)
);

CREATE VIRTUAL TABLE search_texts USING fts5(title, artist, album, content='', detail=column,
    prefix='1 2 3', tokenize='ascii');

CREATE TABLE search_words (
    id   INTEGER PRIMARY KEY,
    word TEXT NOT NULL UNIQUE
);

CREATE TABLE corrections (
    id        INTEGER PRIMARY KEY,
    user_id   INTEGER NOT NULL REFERENCES users (id),
    kind      TEXT NOT NULL,
    listens   INTEGER NOT NULL, -- how many it has changed
    title     TEXT NOT NULL, -- of the only listen it is about, else empty
    artist    TEXT NOT NULL, -- of that listen, or that all of its listens are by
    made_at   BIGINT NOT NULL,
    undone_at BIGINT NOT NULL DEFAULT 0, -- 0 while it holds
    becomes   TEXT NOT NULL DEFAULT '',
    rule_id   INTEGER NOT NULL DEFAULT 0 -- of play_rules, if a rule has made it
);
CREATE INDEX corrections_of_person ON corrections (user_id, id);

-- Listens that were deleted, with their sources and forwards. They take part in the matching like the others, so that
-- what any service tells of them later becomes a further source of them, and none of it a listen.
CREATE TABLE removed_listens (
    id            INTEGER PRIMARY KEY,
    user_id       INTEGER NOT NULL REFERENCES users (id),
    played_at     BIGINT NOT NULL,
    approximate   INTEGER NOT NULL,
    spelling_id   INTEGER NOT NULL,
    correction_id INTEGER NOT NULL REFERENCES corrections (id)
);
CREATE INDEX removed_listens_newest ON removed_listens (user_id, played_at);
CREATE INDEX removed_listens_correction ON removed_listens (correction_id);

CREATE TABLE removed_sources (
    listen_id  INTEGER NOT NULL REFERENCES removed_listens (id) ON DELETE CASCADE,
    connection INTEGER NOT NULL,
    source_key BIGINT NOT NULL,
    later      BIGINT NOT NULL,
    stored_at  BIGINT NOT NULL,
    player     INTEGER NOT NULL DEFAULT 0,
    name_id    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (listen_id, connection, source_key)
) WITHOUT ROWID;
CREATE INDEX removed_sources_key ON removed_sources (source_key);

CREATE TABLE removed_forwards (
    listen_id   INTEGER NOT NULL REFERENCES removed_listens (id) ON DELETE CASCADE,
    connection  TEXT NOT NULL,
    user_id     INTEGER NOT NULL REFERENCES users (id),
    delivery_id INTEGER NOT NULL, -- -1: it waited, and was cancelled
    PRIMARY KEY (listen_id, connection)
);

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

-- What people want of their plays as they come in.
CREATE TABLE play_rules (
    id          INTEGER PRIMARY KEY,
    user_id     INTEGER NOT NULL REFERENCES users (id),
    name        TEXT NOT NULL,
    kind        TEXT NOT NULL,
    off         INTEGER NOT NULL,
    title       TEXT NOT NULL, -- patterns
    artist      TEXT NOT NULL,
    album       TEXT NOT NULL,
    player      TEXT NOT NULL,
    source      TEXT NOT NULL, -- a connection
    shorter_ms  BIGINT NOT NULL,
    longer_ms   BIGINT NOT NULL,
    begins      TEXT NOT NULL, -- a time of day
    ends        TEXT NOT NULL,
    zone        TEXT NOT NULL, -- of these times, if its person has chosen none
    field       TEXT NOT NULL,
    replacement TEXT NOT NULL,
    targets     TEXT NOT NULL -- connections (JSON)
);
CREATE INDEX play_rules_of_person ON play_rules (user_id, id);

-- Listens to which rules gave another name, with the one that they were told by.
CREATE TABLE ruled_listens (
    listen_id   INTEGER PRIMARY KEY,
    user_id     INTEGER NOT NULL REFERENCES users (id),
    spelling_id INTEGER NOT NULL,
    rules       TEXT NOT NULL -- their ids, such as ,3,7,
);
CREATE INDEX ruled_listens_of_person ON ruled_listens (user_id);

-- Listens that rules have not sent somewhere.
CREATE TABLE withheld (
    listen_id  INTEGER NOT NULL,
    connection TEXT NOT NULL, -- empty: anywhere
    rule_id    INTEGER NOT NULL, -- of play_rules
    user_id    INTEGER NOT NULL REFERENCES users (id),
    PRIMARY KEY (listen_id, connection, rule_id)
);
CREATE INDEX withheld_of_person ON withheld (user_id);

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

CREATE TABLE shares (
    id      INTEGER PRIMARY KEY,
    user_id INTEGER NOT NULL REFERENCES users (id),
    kind    TEXT NOT NULL, -- year, playlist, profile or compare
    subject TEXT NOT NULL, -- the year, the playlist's id, or the hash
    hash    TEXT NOT NULL UNIQUE,
    code    TEXT NOT NULL, -- sealed, to show the link again; with the key that signs a comparison
    parts   TEXT NOT NULL, -- of a year or a profile: what it shows, separated by spaces
    name    TEXT NOT NULL, -- of a profile: what it calls its person; of a comparison: for whom the link is
    span    TEXT NOT NULL, -- of a profile: the span of its numbers
    zone    TEXT NOT NULL, -- of a year or a profile: time zone of its days and hours
    made_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL DEFAULT 0, -- 0: never
    used_at    BIGINT NOT NULL DEFAULT 0, -- of a comparison; 0: never
    UNIQUE (user_id, kind, subject)
);

-- The links to comparisons that people got from people with other servers.
CREATE TABLE comparisons (
    id         INTEGER PRIMARY KEY,
    user_id    INTEGER NOT NULL REFERENCES users (id),
    hash       TEXT NOT NULL, -- of the link
    link       TEXT NOT NULL, -- sealed
    host       TEXT NOT NULL,
    name       TEXT NOT NULL, -- of the other person
    document   TEXT NOT NULL, -- what the other server last answered; empty for nothing
    read_at    BIGINT NOT NULL,
    tried_at   BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    problem    TEXT NOT NULL, -- why the last attempt failed; empty if it didn't
    UNIQUE (user_id, hash)
);

CREATE TABLE music_rules (
    id        INTEGER PRIMARY KEY, -- from the sequence of corrections, because both are listed together
    kind      TEXT NOT NULL, -- merge, divide, rename or picture
    entity    TEXT NOT NULL, -- artist, album or track
    entity_id INTEGER NOT NULL, -- its subject; joined_ids has what replaced it
    name      TEXT NOT NULL, -- of the subject at that time
    artist    TEXT NOT NULL, -- of the album or the track at that time; empty for an artist
    becomes   TEXT NOT NULL, -- the new name, or the name of the picture
    listens   INTEGER NOT NULL, -- how many listens of its maker it has changed
    made_by   INTEGER REFERENCES users (id) ON DELETE SET NULL,
    made_at   BIGINT NOT NULL,
    undone_at BIGINT NOT NULL DEFAULT 0 -- 0 while it applies
);

CREATE TABLE music_rule_parts (
    rule_id   INTEGER NOT NULL REFERENCES music_rules (id) ON DELETE CASCADE,
    position  INTEGER NOT NULL,
    -- into: what replaces it; leaves: an album or a track that it loses;
    -- written: a title whose spellings it loses
    part      TEXT NOT NULL,
    entity_id INTEGER NOT NULL DEFAULT 0,
    title     TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (rule_id, position)
);

CREATE TABLE chosen_pictures (
    name TEXT PRIMARY KEY, -- as in the cache of pictures: the hash of the data
    data BLOB NOT NULL -- a JPEG
);

CREATE TABLE checked_listens (
    correction_id INTEGER PRIMARY KEY REFERENCES corrections (id),
    user_id       INTEGER NOT NULL REFERENCES users (id),
    from_at       BIGINT NOT NULL, -- Unix seconds of the first one
    to_at         BIGINT NOT NULL, -- and of the last one
    stretch       INTEGER NOT NULL -- 1: all listens between; 0: these two
);
CREATE INDEX checked_listens_person ON checked_listens (user_id);

CREATE TABLE deletions (
    correction_id INTEGER NOT NULL REFERENCES corrections (id),
    listen_id     INTEGER NOT NULL,
    connection    TEXT NOT NULL,
    user_id       INTEGER NOT NULL REFERENCES users (id),
    delivery_id   INTEGER NOT NULL, -- 0 when it is forgotten
    asked_at      BIGINT NOT NULL DEFAULT 0, -- when the service has accepted it; 0 before
    PRIMARY KEY (correction_id, listen_id, connection)
);
CREATE INDEX deletions_of_delivery ON deletions (delivery_id);
CREATE INDEX deletions_of_person ON deletions (user_id);

CREATE TABLE players (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

-- Programs that send plays by themselves, with an address and a secret of ours.
CREATE TABLE sending_players (
    id           INTEGER PRIMARY KEY, -- of all people; the number in the sources of its plays
    user_id      INTEGER NOT NULL REFERENCES users (id),
    name         TEXT NOT NULL,
    kind         TEXT NOT NULL,
    hash         TEXT NOT NULL UNIQUE, -- SHA-256 of the secret
    last_four    TEXT NOT NULL,
    proof        TEXT NOT NULL DEFAULT '', -- MD5 of the secret, sealed, for protocols that prove it so; else empty
    session_hash TEXT NOT NULL DEFAULT '', -- SHA-256 of the session key that follows from the proof
    api_key      TEXT NOT NULL DEFAULT '', -- the API key that follows from it
    grant_hash   TEXT NOT NULL DEFAULT '', -- SHA-256 of the token that its person has allowed to fetch the session key
    grant_until  BIGINT NOT NULL DEFAULT 0, -- when that token ends
    mirrors      TEXT NOT NULL DEFAULT '', -- the connection to the account that it sends from
    paused       INTEGER NOT NULL DEFAULT 0,
    created_at   BIGINT NOT NULL,
    heard_at     BIGINT NOT NULL DEFAULT 0, -- when it called last
    last_play_at BIGINT NOT NULL DEFAULT 0, -- when its latest play was stored
    UNIQUE (user_id, name)
);
CREATE INDEX sending_players_session ON sending_players (session_hash) WHERE session_hash <> '';
CREATE INDEX sending_players_key ON sending_players (api_key) WHERE api_key <> '';
CREATE INDEX sending_players_grant ON sending_players (grant_hash) WHERE grant_hash <> '';

-- The latest requests of a player that were refused.
CREATE TABLE refused_plays (
    id        INTEGER PRIMARY KEY,
    player_id INTEGER NOT NULL REFERENCES sending_players (id) ON DELETE CASCADE,
    at        BIGINT NOT NULL,
    request   TEXT NOT NULL, -- method and path, without the secret
    reason    TEXT NOT NULL,
    detail    TEXT NOT NULL
);
CREATE INDEX refused_plays_player ON refused_plays (player_id);

-- What media servers are playing: a play follows from several events.
CREATE TABLE plays_under_way (
    player_id  INTEGER NOT NULL REFERENCES sending_players (id) ON DELETE CASCADE,
    item       TEXT NOT NULL, -- the person, the device and the song at the server
    began      BIGINT NOT NULL,
    since      BIGINT NOT NULL, -- when it was last started or continued; 0 while it is halted
    played     BIGINT NOT NULL, -- before that, in milliseconds
    taken      INTEGER NOT NULL, -- 1: it has become a play
    touched_at BIGINT NOT NULL,
    PRIMARY KEY (player_id, item)
);

CREATE TABLE servers (
    id         TEXT NOT NULL PRIMARY KEY, -- of one process
    name       TEXT NOT NULL,
    version    TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    works_at   INTEGER NOT NULL DEFAULT 0, -- when it could call services last
    says       TEXT NOT NULL DEFAULT '' -- what it knows that others show, in JSON
);

-- Which server calls what a service limits: see package leases.
CREATE TABLE leases (
    app       TEXT NOT NULL PRIMARY KEY,
    lease     INTEGER NOT NULL, -- grows each time that the app moves
    server_id TEXT NOT NULL, -- empty for none
    seen_at   INTEGER NOT NULL,
    state     TEXT NOT NULL DEFAULT '', -- what the server knows of it, in JSON
    UNIQUE (app, lease) -- so that a change of the lease waits for transactions under it, and a confirmation does not
);

-- What servers pass on to each other: see cluster.Desk.
CREATE TABLE requests (
    id        TEXT NOT NULL PRIMARY KEY,
    server_id TEXT NOT NULL, -- which is to answer
    asked_at  INTEGER NOT NULL,
    taken     INTEGER NOT NULL DEFAULT 0, -- 1: the server has read it
    request   TEXT NOT NULL, -- sealed
    answer    TEXT NOT NULL DEFAULT '' -- sealed; empty while there is none
);
CREATE INDEX requests_left ON requests (server_id, taken);

-- How often secrets were tried at all servers: see servers.Limits.
CREATE TABLE tries (
    bucket     TEXT NOT NULL PRIMARY KEY, -- the name of a limit, and a number that the secret key gives
    forgets_at INTEGER NOT NULL -- when it will have forgotten its tries
);
CREATE INDEX tries_forgotten ON tries (forgets_at);

CREATE TABLE leader (
    id        INTEGER NOT NULL PRIMARY KEY, -- always 1
    lease     INTEGER NOT NULL, -- grows with each leader
    server_id TEXT NOT NULL,
    seen_at   INTEGER NOT NULL,
    released  INTEGER NOT NULL -- 1: it has stopped in good order
);

-- What calls with an Idempotency-Key were answered, for a day: see answers.go.
CREATE TABLE answers (
    user_id BIGINT NOT NULL, -- 0 for the operator
    id      TEXT NOT NULL, -- fingerprint of the key
    answer  TEXT NOT NULL, -- sealed, because it may hold a token or a code
    kept_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX answers_kept ON answers (kept_at);

CREATE TABLE forwarding_counts (
    user_id    INTEGER NOT NULL REFERENCES users (id),
    connection TEXT NOT NULL,
    span       BIGINT NOT NULL,
    version    BIGINT NOT NULL, -- of the span when they were counted
    account    TEXT NOT NULL, -- the connections that led to the same account then
    forwarded  INTEGER NOT NULL, -- sent, or to be sent
    there      INTEGER NOT NULL, -- reported by the account as well as by another service
    missing    INTEGER NOT NULL, -- neither
    PRIMARY KEY (user_id, connection, span)
);

INSERT INTO leader (id, lease, server_id, seen_at, released) VALUES (1, 0, '', 0, 1);
-- +goose StatementEnd
