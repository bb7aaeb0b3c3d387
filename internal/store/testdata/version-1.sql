-- A database whose newest step is 00001_core.sql, as that version filled it, sealed with the tests' key: two people, listens
-- with several sources, playlists, and something in every other table.
CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
INSERT INTO goose_db_version VALUES (1, 0, 1, '2026-11-21 06:49:11');
INSERT INTO goose_db_version VALUES (2, 1, 1, '2026-11-21 06:49:11');
CREATE TABLE facts (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
INSERT INTO facts VALUES ('key_check', '183fa51b:6qlggJlKXThY2ipmHZDFXZPy8ZjqorbrI73QRbzgiOfIm/A=');
CREATE TABLE sequences (
    name TEXT PRIMARY KEY,
    last BIGINT NOT NULL
);
INSERT INTO sequences VALUES ('users', 2);
INSERT INTO sequences VALUES ('listens', 57);
INSERT INTO sequences VALUES ('playlists', 3);
INSERT INTO sequences VALUES ('notifications', 4);
CREATE TABLE users (
    id            INTEGER PRIMARY KEY,
    name          TEXT NOT NULL,
    name_key      TEXT NOT NULL UNIQUE,
    password_hash TEXT NOT NULL,
    role          TEXT NOT NULL,
    created_at    BIGINT NOT NULL
);
INSERT INTO users VALUES (1, 'Alice', 'alice', 'hash of Alice', 'admin', 1795197600000);
INSERT INTO users VALUES (2, 'Böb', 'böb', 'hash of Böb', 'member', 1795197600000);
CREATE TABLE sessions (
    id         TEXT PRIMARY KEY,
    data       TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);
INSERT INTO sessions VALUES ('a618979c7230855bb4703c14571b974e8bb577c80e83f7839304729ec5445a13', 'YWxpY2VzIHNlc3Npb24=', 4319719200000);
INSERT INTO sessions VALUES ('c8258ff6b71789efe9c0371433bac953652370c1282f9823825b913e2c9a89c4', 'AAH/', 4319719200000);
CREATE TABLE connections (
    user_id       INTEGER NOT NULL REFERENCES users (id),
    provider      TEXT NOT NULL,
    account_id    TEXT NOT NULL,
    account       TEXT NOT NULL,
    app           TEXT NOT NULL,
    generation    BIGINT NOT NULL,
    credentials   TEXT NOT NULL,
    authorized_at BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL,
    paused        INTEGER NOT NULL,
    created_at    BIGINT NOT NULL,
    PRIMARY KEY (user_id, provider)
);
INSERT INTO connections VALUES (1, 'spotify', 'id-1', 'alice', 'app', 2, '183fa51b:y0FdJ/IdK30FabT8Ovf8IUfZtpl80PMiqs2ciGmniLm8YEpwOzenZF7dY4GGVg/eMUXRyV5zRYEtaZ55tstpuEYEGKijPkwKGcdwmuAIZFHEP89C0gDDwC7gMaLX', 1795197660000, 1795197720000, 0, 1795197780000);
INSERT INTO connections VALUES (1, 'listenbrainz', 'id-1', 'alice', '', 1, '183fa51b:4hAtoOAAKQt0hhO+3nPnR1td56+vU2GPxWDg6PlbUg98HOL9cmZtWlsGak67cNOB7W06W5sN58iWypPBTTfv88CS', 1795197660000, 0, 0, 1795197780000);
INSERT INTO connections VALUES (2, 'navidrome', 'id-1', 'alice', 'nas.lan:4533', 1, '183fa51b:Cb6JXFP8HuPFTMYUeoZzSodOH2kOIqhjON9ruFHsqO6tyw4weXApn+SNd6qE0D206tDLuk5vCFuY0TwkYE6qt1G6uAC78Dth6GuMNNyLTf0uGKanBBt4EoqBi+WDu1vxOzQPl1xM4ls9dd9UPK0juwW4AJ0p5GP997CS', 1795197660000, 0, 0, 1795197780000);
INSERT INTO connections VALUES (2, 'spotify', 'id-1', 'alice', 'app', 1, '183fa51b:LXbVOqvILDVY5vQ/a3wWN3318UeYDKWbfs/rG7Z5Y+iO4oU/yofsbeuS/ssN75XnqKbT7/ysTPrwkz86jQ==', 1795197660000, 1795197720000, 1, 1795197780000);
CREATE TABLE generations (
    user_id    INTEGER NOT NULL REFERENCES users (id),
    provider   TEXT NOT NULL,
    generation BIGINT NOT NULL,
    PRIMARY KEY (user_id, provider)
);
INSERT INTO generations VALUES (1, 'spotify', 2);
INSERT INTO generations VALUES (1, 'listenbrainz', 1);
INSERT INTO generations VALUES (2, 'navidrome', 1);
INSERT INTO generations VALUES (2, 'spotify', 1);
CREATE TABLE pending_connections (
    user_id       INTEGER NOT NULL REFERENCES users (id),
    provider      TEXT NOT NULL,
    account_id    TEXT NOT NULL,
    account       TEXT NOT NULL,
    app           TEXT NOT NULL,
    credentials   TEXT NOT NULL,
    authorized_at BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    PRIMARY KEY (user_id, provider)
);
INSERT INTO pending_connections VALUES (1, 'spotify', 'id-2', 'other account', 'app', '183fa51b:6zo58Tjms3t6K36NG3o676N0kaII3I16k1z7Xtc5BONKlBdJcCQ/dBYkClO5gXWkC4E3LXOkFhN89nQTzw==', 1795197660000, 1795197720000, 1795197600000);
CREATE TABLE oauth_states (
    id         TEXT PRIMARY KEY,
    session    TEXT NOT NULL,
    user_id    INTEGER NOT NULL REFERENCES users (id),
    provider   TEXT NOT NULL,
    verifier   TEXT NOT NULL,
    return_to  TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
INSERT INTO oauth_states VALUES ('state', 'session', 1, 'spotify', '183fa51b:xExFuV6xYAvVMlmuRm8TQj7jxPn51o8h9E24pRqsP3HuWB51', '/settings', 1795197600000);
CREATE TABLE streams (
    user_id         INTEGER NOT NULL REFERENCES users (id),
    provider        TEXT NOT NULL,
    stream          TEXT NOT NULL,
    reading         TEXT NOT NULL DEFAULT '',
    last_success_at BIGINT NOT NULL DEFAULT 0,
    stop_category   TEXT NOT NULL DEFAULT '',
    stop_since      BIGINT NOT NULL DEFAULT 0,
    advice          TEXT NOT NULL DEFAULT '',
    detail          TEXT NOT NULL DEFAULT '',
    note            TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (user_id, provider, stream)
);
INSERT INTO streams VALUES (1, 'spotify', 'listens', '{"newest":"2026-11-20T18:00:00Z","done":true}', 1795197900000, '', 0, '', '', 'What Spotify no longer offers is missing.');
INSERT INTO streams VALUES (1, 'listenbrainz', 'listens', 'lb-position', 0, '', 0, '', '', '');
INSERT INTO streams VALUES (2, 'navidrome', 'listens', 'scan-7', 0, '', 0, '', '', '');
INSERT INTO streams VALUES (1, 'spotify', 'playlists', 'playlists-position', 0, '', 0, 'advice', 'detail', '');
INSERT INTO streams VALUES (1, 'spotify', '', '', 0, 'auth', 1795197960000, '', '', '');
INSERT INTO streams VALUES (2, 'navidrome', 'playlists', '', 0, 'permission', 1795198020000, '', '', '');
CREATE TABLE holds (
    provider   TEXT NOT NULL,
    app        TEXT NOT NULL,
    user_id    INTEGER NOT NULL, -- 0 for a hold of the whole app
    stream     TEXT NOT NULL,
    category   TEXT NOT NULL,
    since      BIGINT NOT NULL,
    until      BIGINT NOT NULL,
    PRIMARY KEY (provider, app, user_id, stream)
);
INSERT INTO holds VALUES ('spotify', 'app', 0, '', 'rate_limit', 1795198080000, 4319719200000);
INSERT INTO holds VALUES ('spotify', 'app', 1, 'listens', 'rate_limit', 1795198080000, 4319719200000);
CREATE TABLE listens (
    id             INTEGER PRIMARY KEY,
    user_id        INTEGER NOT NULL REFERENCES users (id),
    match_key      BIGINT NOT NULL,
    title          TEXT NOT NULL,
    artist         TEXT NOT NULL,
    album          TEXT NOT NULL,
    played_at      BIGINT NOT NULL,
    duration_ms    INTEGER NOT NULL,
    isrc           TEXT NOT NULL,
    recording_mbid TEXT NOT NULL,
    approximate    INTEGER NOT NULL
);
INSERT INTO listens VALUES (1, 1, -4233124598945257548, 'Track 19', 'Sigur Rós', 'Ágætis byrjun', 1795129200000, 180000, 'GBAYE0000019', 'b1a9c0e9-d987-4042-ae91-78d6a3267004', 0);
INSERT INTO listens VALUES (2, 1, -8154117755160227071, 'Track 18', 'Sigur Rós', 'Ágætis byrjun', 1795132800000, 180000, 'GBAYE0000018', 'b1a9c0e9-d987-4042-ae91-78d6a3267003', 0);
INSERT INTO listens VALUES (3, 1, 5343152674589467790, 'Track 17', 'Sigur Rós', 'Ágætis byrjun', 1795136400000, 180000, 'GBAYE0000017', 'b1a9c0e9-d987-4042-ae91-78d6a3267002', 0);
INSERT INTO listens VALUES (4, 1, -2269009863378495661, 'Track 16', 'Sigur Rós', 'Ágætis byrjun', 1795140000000, 180000, 'GBAYE0000016', 'b1a9c0e9-d987-4042-ae91-78d6a3267001', 0);
INSERT INTO listens VALUES (5, 1, -4108747241395106512, 'Track 15', 'Sigur Rós', 'Ágætis byrjun', 1795143600000, 180000, 'GBAYE0000015', 'b1a9c0e9-d987-4042-ae91-78d6a3267000', 0);
INSERT INTO listens VALUES (6, 1, -8844687707103778051, 'Track 14', 'Sigur Rós', 'Ágætis byrjun', 1795147200000, 180000, 'GBAYE0000014', '', 0);
INSERT INTO listens VALUES (7, 1, -6502765504701278262, 'Track 13', 'Sigur Rós', 'Ágætis byrjun', 1795150800000, 180000, 'GBAYE0000013', '', 0);
INSERT INTO listens VALUES (8, 1, -5940111077277588049, 'Track 12', 'Sigur Rós', 'Ágætis byrjun', 1795154400000, 180000, 'GBAYE0000012', '', 0);
INSERT INTO listens VALUES (9, 1, -6109076264751738228, 'Track 11', 'Sigur Rós', 'Ágætis byrjun', 1795158000000, 180000, 'GBAYE0000011', '', 0);
INSERT INTO listens VALUES (10, 1, -8881015418351510631, 'Track 10', 'Sigur Rós', 'Ágætis byrjun', 1795161600000, 180000, 'GBAYE0000010', '', 0);
INSERT INTO listens VALUES (11, 1, 159479285458108815, 'Track 9', 'Sigur Rós', 'Ágætis byrjun', 1795165200000, 180000, 'GBAYE0000009', '', 0);
INSERT INTO listens VALUES (12, 1, 7590649032710351274, 'Track 8', 'Sigur Rós', 'Ágætis byrjun', 1795168800000, 180000, 'GBAYE0000008', '', 0);
INSERT INTO listens VALUES (13, 1, -4319360266902340987, 'Track 7', 'Sigur Rós', 'Ágætis byrjun', 1795172400000, 180000, 'GBAYE0000007', '', 0);
INSERT INTO listens VALUES (14, 1, -4802390463711726376, 'Track 6', 'Sigur Rós', 'Ágætis byrjun', 1795176000000, 180000, 'GBAYE0000006', '', 0);
INSERT INTO listens VALUES (15, 1, 496380430794035963, 'Track 5', 'Sigur Rós', 'Ágætis byrjun', 1795179600000, 180000, 'GBAYE0000005', '', 0);
INSERT INTO listens VALUES (16, 1, -7106307421631581802, 'Track 4', 'Sigur Rós', 'Ágætis byrjun', 1795183200000, 180000, 'GBAYE0000004', '', 0);
INSERT INTO listens VALUES (17, 1, 9131598006163130981, 'It''s; a -- "title"
of two lines', 'O''Brien', 'Ágætis byrjun', 1795186800000, 180000, 'GBAYE0000003', '', 0);
INSERT INTO listens VALUES (18, 1, 1866184288813617300, 'Track 2', 'Sigur Rós', 'Ágætis byrjun', 1795190400000, 180000, 'GBAYE0000002', '', 0);
INSERT INTO listens VALUES (19, 1, -4759060347432423721, 'Track 1', 'Sigur Rós', 'Ágætis byrjun', 1795194000000, 180000, 'GBAYE0000001', '', 0);
INSERT INTO listens VALUES (20, 1, -8649239282709492174, 'Track 0', 'Sigur Rós', 'Ágætis byrjun', 1795197600000, 180000, 'GBAYE0000000', '', 0);
INSERT INTO listens VALUES (21, 1, 5625018733483536365, 'Track 29', 'Sigur Rós', 'Ágætis byrjun', 1795093200000, 180000, 'GBAYE0000029', 'b1a9c0e9-d987-4042-ae91-78d6a3267014', 0);
INSERT INTO listens VALUES (22, 1, 3366325157935197984, 'Track 28', 'Sigur Rós', 'Ágætis byrjun', 1795096800000, 180000, 'GBAYE0000028', 'b1a9c0e9-d987-4042-ae91-78d6a3267013', 0);
INSERT INTO listens VALUES (23, 1, -9207434157329005401, 'Track 27', 'Sigur Rós', 'Ágætis byrjun', 1795100400000, 180000, 'GBAYE0000027', 'b1a9c0e9-d987-4042-ae91-78d6a3267012', 0);
INSERT INTO listens VALUES (24, 1, -6085270738304913406, 'Track 26', 'Sigur Rós', 'Ágætis byrjun', 1795104000000, 180000, 'GBAYE0000026', 'b1a9c0e9-d987-4042-ae91-78d6a3267011', 0);
INSERT INTO listens VALUES (25, 1, 470526036745144305, 'Track 25', 'Sigur Rós', 'Ágætis byrjun', 1795107600000, 180000, 'GBAYE0000025', 'b1a9c0e9-d987-4042-ae91-78d6a3267010', 0);
INSERT INTO listens VALUES (26, 1, 6356212221354220004, 'Track 24', 'Sigur Rós', 'Ágætis byrjun', 1795111200000, 180000, 'GBAYE0000024', 'b1a9c0e9-d987-4042-ae91-78d6a3267009', 0);
INSERT INTO listens VALUES (27, 1, 4225971412216927691, 'Track 23', 'Sigur Rós', 'Ágætis byrjun', 1795114800000, 180000, 'GBAYE0000023', 'b1a9c0e9-d987-4042-ae91-78d6a3267008', 0);
INSERT INTO listens VALUES (28, 1, -8752486795804966746, 'Track 22', 'Sigur Rós', 'Ágætis byrjun', 1795118400000, 180000, 'GBAYE0000022', 'b1a9c0e9-d987-4042-ae91-78d6a3267007', 0);
INSERT INTO listens VALUES (29, 1, -5527945321871322667, 'Track 21', 'Sigur Rós', 'Ágætis byrjun', 1795122000000, 180000, 'GBAYE0000021', 'b1a9c0e9-d987-4042-ae91-78d6a3267006', 0);
INSERT INTO listens VALUES (30, 1, 1700474656641905832, 'Track 20', 'Sigur Rós', 'Ágætis byrjun', 1795125600000, 180000, 'GBAYE0000020', 'b1a9c0e9-d987-4042-ae91-78d6a3267005', 0);
INSERT INTO listens VALUES (31, 1, 2438030434377243090, 'Track 44', 'Sigur Rós', 'Ágætis byrjun', 1795039220000, 180000, '', 'b1a9c0e9-d987-4042-ae91-78d6a3267029', 0);
INSERT INTO listens VALUES (32, 1, 7004910604415921189, 'Track 43', 'Sigur Rós', 'Ágætis byrjun', 1795042820000, 180000, '', 'b1a9c0e9-d987-4042-ae91-78d6a3267028', 0);
INSERT INTO listens VALUES (33, 1, 4610591922311762296, 'Track 42', 'Sigur Rós', 'Ágætis byrjun', 1795046420000, 180000, '', 'b1a9c0e9-d987-4042-ae91-78d6a3267027', 0);
INSERT INTO listens VALUES (34, 1, -8529499181336841573, 'Track 41', 'Sigur Rós', 'Ágætis byrjun', 1795050020000, 180000, '', 'b1a9c0e9-d987-4042-ae91-78d6a3267026', 0);
INSERT INTO listens VALUES (35, 1, -3007733846269280714, 'Track 40', 'Sigur Rós', 'Ágætis byrjun', 1795053620000, 180000, '', 'b1a9c0e9-d987-4042-ae91-78d6a3267025', 0);
INSERT INTO listens VALUES (36, 1, -4590016041283769878, 'Track 39', 'Sigur Rós', 'Ágætis byrjun', 1795057220000, 180000, '', 'b1a9c0e9-d987-4042-ae91-78d6a3267024', 0);
INSERT INTO listens VALUES (37, 1, 1057174756680255183, 'Track 38', 'Sigur Rós', 'Ágætis byrjun', 1795060820000, 180000, '', 'b1a9c0e9-d987-4042-ae91-78d6a3267023', 0);
INSERT INTO listens VALUES (38, 1, 7063305004945290776, 'Track 37', 'Sigur Rós', 'Ágætis byrjun', 1795064420000, 180000, '', 'b1a9c0e9-d987-4042-ae91-78d6a3267022', 0);
INSERT INTO listens VALUES (39, 1, 9081301585756238277, 'Track 36', 'Sigur Rós', 'Ágætis byrjun', 1795068020000, 180000, '', 'b1a9c0e9-d987-4042-ae91-78d6a3267021', 0);
INSERT INTO listens VALUES (40, 1, -1222235885724890666, 'Track 35', 'Sigur Rós', 'Ágætis byrjun', 1795071620000, 180000, '', 'b1a9c0e9-d987-4042-ae91-78d6a3267020', 0);
INSERT INTO listens VALUES (41, 1, -6076786098703313093, 'Track 34', 'Sigur Rós', 'Ágætis byrjun', 1795075220000, 180000, '', 'b1a9c0e9-d987-4042-ae91-78d6a3267019', 0);
INSERT INTO listens VALUES (42, 1, -4714582841262095148, 'Track 33', 'Sigur Rós', 'Ágætis byrjun', 1795078820000, 180000, '', 'b1a9c0e9-d987-4042-ae91-78d6a3267018', 0);
INSERT INTO listens VALUES (43, 1, 6016714859907001889, 'Track 32', 'Sigur Rós', 'Ágætis byrjun', 1795082420000, 180000, '', 'b1a9c0e9-d987-4042-ae91-78d6a3267017', 0);
INSERT INTO listens VALUES (44, 1, -709154426907637134, 'Track 31', 'Sigur Rós', 'Ágætis byrjun', 1795086020000, 180000, '', 'b1a9c0e9-d987-4042-ae91-78d6a3267016', 0);
INSERT INTO listens VALUES (45, 1, 7490557823096168215, 'Track 30', 'Sigur Rós', 'Ágætis byrjun', 1795089620000, 180000, '', 'b1a9c0e9-d987-4042-ae91-78d6a3267015', 0);
INSERT INTO listens VALUES (46, 2, -6109076264751738228, 'Track 11', 'Sigur Rós', 'Ágætis byrjun', 1795158000000, 180000, '', '', 1);
INSERT INTO listens VALUES (47, 2, -8881015418351510631, 'Track 10', 'Sigur Rós', 'Ágætis byrjun', 1795161600000, 180000, '', '', 0);
INSERT INTO listens VALUES (48, 2, 159479285458108815, 'Track 9', 'Sigur Rós', 'Ágætis byrjun', 1795165200000, 180000, '', '', 0);
INSERT INTO listens VALUES (49, 2, 7590649032710351274, 'Track 8', 'Sigur Rós', 'Ágætis byrjun', 1795168800000, 180000, '', '', 0);
INSERT INTO listens VALUES (50, 2, -4319360266902340987, 'Track 7', 'Sigur Rós', 'Ágætis byrjun', 1795172400000, 180000, '', '', 1);
INSERT INTO listens VALUES (51, 2, -4802390463711726376, 'Track 6', 'Sigur Rós', 'Ágætis byrjun', 1795176000000, 180000, '', '', 0);
INSERT INTO listens VALUES (52, 2, 496380430794035963, 'Track 5', 'Sigur Rós', 'Ágætis byrjun', 1795179600000, 180000, '', '', 0);
INSERT INTO listens VALUES (53, 2, -7106307421631581802, 'Track 4', 'Sigur Rós', 'Ágætis byrjun', 1795183200000, 180000, '', '', 0);
INSERT INTO listens VALUES (54, 2, -1003671043440639007, 'Track 3', 'Sigur Rós', 'Ágætis byrjun', 1795186800000, 180000, '', '', 1);
INSERT INTO listens VALUES (55, 2, 1866184288813617300, 'Track 2', 'Sigur Rós', 'Ágætis byrjun', 1795190400000, 180000, '', '', 0);
INSERT INTO listens VALUES (56, 2, -4759060347432423721, 'Track 1', 'Sigur Rós', 'Ágætis byrjun', 1795194000000, 180000, '', '', 0);
INSERT INTO listens VALUES (57, 2, -8649239282709492174, 'Track 0', 'Sigur Rós', 'Ágætis byrjun', 1795197600000, 180000, '', '', 0);
CREATE TABLE listen_sources (
    user_id   INTEGER NOT NULL REFERENCES users (id),
    provider  TEXT NOT NULL,
    source_id TEXT NOT NULL,
    listen_id INTEGER NOT NULL REFERENCES listens (id) ON DELETE CASCADE,
    played_at BIGINT NOT NULL, -- as this provider tells it, which may be the start or the end of the play
    PRIMARY KEY (user_id, provider, source_id)
);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--1140', 1, 1795129200000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--1080', 2, 1795132800000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--1020', 3, 1795136400000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--960', 4, 1795140000000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--900', 5, 1795143600000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--840', 6, 1795147200000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--780', 7, 1795150800000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--720', 8, 1795154400000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--660', 9, 1795158000000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--600', 10, 1795161600000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--540', 11, 1795165200000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--480', 12, 1795168800000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--420', 13, 1795172400000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--360', 14, 1795176000000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--300', 15, 1795179600000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--240', 16, 1795183200000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--180', 17, 1795186800000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--120', 18, 1795190400000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--60', 19, 1795194000000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--0', 20, 1795197600000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--1740', 21, 1795093200000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--1680', 22, 1795096800000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--1620', 23, 1795100400000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--1560', 24, 1795104000000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--1500', 25, 1795107600000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--1440', 26, 1795111200000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--1380', 27, 1795114800000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--1320', 28, 1795118400000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--1260', 29, 1795122000000);
INSERT INTO listen_sources VALUES (1, 'spotify', 'play--1200', 30, 1795125600000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-29', 31, 1795039220000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-28', 32, 1795042820000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-27', 33, 1795046420000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-26', 34, 1795050020000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-25', 35, 1795053620000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-24', 36, 1795057220000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-23', 37, 1795060820000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-22', 38, 1795064420000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-21', 39, 1795068020000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-20', 40, 1795071620000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-19', 41, 1795075220000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-18', 42, 1795078820000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-17', 43, 1795082420000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-16', 44, 1795086020000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-15', 45, 1795089620000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-14', 21, 1795093220000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-13', 22, 1795096820000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-12', 23, 1795100420000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-11', 24, 1795104020000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-10', 25, 1795107620000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-9', 26, 1795111220000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-8', 27, 1795114820000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-7', 28, 1795118420000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-6', 29, 1795122020000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-5', 30, 1795125620000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-4', 1, 1795129220000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-3', 2, 1795132820000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-2', 3, 1795136420000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-1', 4, 1795140020000);
INSERT INTO listen_sources VALUES (1, 'listenbrainz', 'lb-0', 5, 1795143620000);
INSERT INTO listen_sources VALUES (2, 'navidrome', 'nd-11', 46, 1795158000000);
INSERT INTO listen_sources VALUES (2, 'navidrome', 'nd-10', 47, 1795161600000);
INSERT INTO listen_sources VALUES (2, 'navidrome', 'nd-9', 48, 1795165200000);
INSERT INTO listen_sources VALUES (2, 'navidrome', 'nd-8', 49, 1795168800000);
INSERT INTO listen_sources VALUES (2, 'navidrome', 'nd-7', 50, 1795172400000);
INSERT INTO listen_sources VALUES (2, 'navidrome', 'nd-6', 51, 1795176000000);
INSERT INTO listen_sources VALUES (2, 'navidrome', 'nd-5', 52, 1795179600000);
INSERT INTO listen_sources VALUES (2, 'navidrome', 'nd-4', 53, 1795183200000);
INSERT INTO listen_sources VALUES (2, 'navidrome', 'nd-3', 54, 1795186800000);
INSERT INTO listen_sources VALUES (2, 'navidrome', 'nd-2', 55, 1795190400000);
INSERT INTO listen_sources VALUES (2, 'navidrome', 'nd-1', 56, 1795194000000);
INSERT INTO listen_sources VALUES (2, 'navidrome', 'nd-0', 57, 1795197600000);
CREATE TABLE play_counts (
    user_id   INTEGER NOT NULL REFERENCES users (id),
    provider  TEXT NOT NULL,
    track_id  TEXT NOT NULL,
    plays     INTEGER NOT NULL,
    played_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, provider, track_id)
);
INSERT INTO play_counts VALUES (2, 'navidrome', 'nd-track-0', 1, 1795197600000);
INSERT INTO play_counts VALUES (2, 'navidrome', 'nd-track-1', 2, 1795194000000);
INSERT INTO play_counts VALUES (2, 'navidrome', 'nd-track-2', 3, 1795190400000);
INSERT INTO play_counts VALUES (2, 'navidrome', 'nd-track-3', 4, 1795186800000);
INSERT INTO play_counts VALUES (2, 'navidrome', 'nd-track-4', 5, 1795183200000);
INSERT INTO play_counts VALUES (2, 'navidrome', 'nd-track-5', 6, 1795179600000);
INSERT INTO play_counts VALUES (2, 'navidrome', 'nd-track-6', 7, 1795176000000);
INSERT INTO play_counts VALUES (2, 'navidrome', 'nd-track-7', 8, 1795172400000);
INSERT INTO play_counts VALUES (2, 'navidrome', 'nd-track-8', 9, 1795168800000);
INSERT INTO play_counts VALUES (2, 'navidrome', 'nd-track-9', 10, 1795165200000);
INSERT INTO play_counts VALUES (2, 'navidrome', 'nd-track-10', 11, 1795161600000);
INSERT INTO play_counts VALUES (2, 'navidrome', 'nd-track-11', 12, 1795158000000);
CREATE TABLE playlists (
    id          INTEGER PRIMARY KEY,
    user_id     INTEGER NOT NULL REFERENCES users (id),
    provider    TEXT NOT NULL,
    source_id   TEXT NOT NULL,
    name        TEXT NOT NULL,
    snapshot    TEXT NOT NULL,
    track_count INTEGER NOT NULL,
    shrunk_to   INTEGER NOT NULL, -- a much smaller number of tracks, seen once and not believed yet; -1 for none
    active      INTEGER NOT NULL,
    position    INTEGER NOT NULL,
    UNIQUE (user_id, provider, source_id)
);
INSERT INTO playlists VALUES (1, 1, 'spotify', 'rain', 'Rain', 's1', 25, 2, 1, 0);
INSERT INTO playlists VALUES (2, 1, 'spotify', 'gone', 'Gone', 's2', 3, -1, 0, 1);
INSERT INTO playlists VALUES (3, 2, 'navidrome', 'empty', 'Leer — ''''', '', 0, -1, 1, 0);
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
INSERT INTO playlist_tracks VALUES (1, 0, 'Track 0', 'Artist', 'Album', 0, 'isrc', 'mbid', 'id 0');
INSERT INTO playlist_tracks VALUES (1, 1, 'Track 1', 'Artist', 'Album', 1000, 'isrc', 'mbid', 'id 1');
INSERT INTO playlist_tracks VALUES (1, 2, 'Track 2', 'Artist', 'Album', 2000, 'isrc', 'mbid', 'id 2');
INSERT INTO playlist_tracks VALUES (1, 3, 'Track 3', 'Artist', 'Album', 3000, 'isrc', 'mbid', 'id 3');
INSERT INTO playlist_tracks VALUES (1, 4, 'Track 4', 'Artist', 'Album', 4000, 'isrc', 'mbid', 'id 4');
INSERT INTO playlist_tracks VALUES (1, 5, 'Track 5', 'Artist', 'Album', 5000, 'isrc', 'mbid', 'id 5');
INSERT INTO playlist_tracks VALUES (1, 6, 'Track 6', 'Artist', 'Album', 6000, 'isrc', 'mbid', 'id 6');
INSERT INTO playlist_tracks VALUES (1, 7, 'Track 7', 'Artist', 'Album', 7000, 'isrc', 'mbid', 'id 7');
INSERT INTO playlist_tracks VALUES (1, 8, 'Track 8', 'Artist', 'Album', 8000, 'isrc', 'mbid', 'id 8');
INSERT INTO playlist_tracks VALUES (1, 9, 'Track 9', 'Artist', 'Album', 9000, 'isrc', 'mbid', 'id 9');
INSERT INTO playlist_tracks VALUES (1, 10, 'Track 10', 'Artist', 'Album', 10000, 'isrc', 'mbid', 'id 10');
INSERT INTO playlist_tracks VALUES (1, 11, 'Track 11', 'Artist', 'Album', 11000, 'isrc', 'mbid', 'id 11');
INSERT INTO playlist_tracks VALUES (1, 12, 'Track 12', 'Artist', 'Album', 12000, 'isrc', 'mbid', 'id 12');
INSERT INTO playlist_tracks VALUES (1, 13, 'Track 13', 'Artist', 'Album', 13000, 'isrc', 'mbid', 'id 13');
INSERT INTO playlist_tracks VALUES (1, 14, 'Track 14', 'Artist', 'Album', 14000, 'isrc', 'mbid', 'id 14');
INSERT INTO playlist_tracks VALUES (1, 15, 'Track 15', 'Artist', 'Album', 15000, 'isrc', 'mbid', 'id 15');
INSERT INTO playlist_tracks VALUES (1, 16, 'Track 16', 'Artist', 'Album', 16000, 'isrc', 'mbid', 'id 16');
INSERT INTO playlist_tracks VALUES (1, 17, 'Track 17', 'Artist', 'Album', 17000, 'isrc', 'mbid', 'id 17');
INSERT INTO playlist_tracks VALUES (1, 18, 'Track 18', 'Artist', 'Album', 18000, 'isrc', 'mbid', 'id 18');
INSERT INTO playlist_tracks VALUES (1, 19, 'Track 19', 'Artist', 'Album', 19000, 'isrc', 'mbid', 'id 19');
INSERT INTO playlist_tracks VALUES (1, 20, 'Track 20', 'Artist', 'Album', 20000, 'isrc', 'mbid', 'id 20');
INSERT INTO playlist_tracks VALUES (1, 21, 'Track 21', 'Artist', 'Album', 21000, 'isrc', 'mbid', 'id 21');
INSERT INTO playlist_tracks VALUES (1, 22, 'Track 22', 'Artist', 'Album', 22000, 'isrc', 'mbid', 'id 22');
INSERT INTO playlist_tracks VALUES (1, 23, 'Track 23', 'Artist', 'Album', 23000, 'isrc', 'mbid', 'id 23');
INSERT INTO playlist_tracks VALUES (1, 24, 'Track 24', 'Artist', 'Album', 24000, 'isrc', 'mbid', 'id 24');
INSERT INTO playlist_tracks VALUES (2, 0, 'Track 0', 'Artist', 'Album', 0, 'isrc', 'mbid', 'id 0');
INSERT INTO playlist_tracks VALUES (2, 1, 'Track 1', 'Artist', 'Album', 1000, 'isrc', 'mbid', 'id 1');
INSERT INTO playlist_tracks VALUES (2, 2, 'Track 2', 'Artist', 'Album', 2000, 'isrc', 'mbid', 'id 2');
CREATE TABLE notifications (
    id              INTEGER PRIMARY KEY,
    user_id         INTEGER NOT NULL REFERENCES users (id),
    provider        TEXT NOT NULL,
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
    UNIQUE (user_id, provider, cause, generation)
);
INSERT INTO notifications VALUES (1, 1, 'spotify', 'auth', 2, 'error', 'auth', 'auth title', 'It isn''t over.', 'detail', 'Reconnect', '/connect/spotify', 1795198140000, 0, 0);
INSERT INTO notifications VALUES (2, 1, 'spotify', 'expires-30', 2, 'warning', 'auth', 'expires-30 title', 'It isn''t over.', 'detail', 'Reconnect', '/connect/spotify', 1795198140000, 1795243751423, 0);
INSERT INTO notifications VALUES (3, 2, 'navidrome', 'capped', 1, 'warning', 'auth', 'capped title', 'It isn''t over.', 'detail', 'Reconnect', '/connect/navidrome', 1795198140000, 0, 1795243751423);
INSERT INTO notifications VALUES (4, 2, 'navidrome', 'permission:playlists', 1, 'error', 'auth', 'permission:playlists title', 'It isn''t over.', 'detail', 'Reconnect', '/connect/navidrome', 1795198140000, 0, 0);
CREATE INDEX sessions_expiry ON sessions (expires_at);
CREATE INDEX listens_newest ON listens (user_id, played_at, id);
CREATE INDEX listen_sources_listen ON listen_sources (listen_id);
CREATE INDEX notifications_open ON notifications (user_id, resolved_at);
