PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
INSERT INTO goose_db_version VALUES(1,0,1,'2026-11-21 06:49:11');
INSERT INTO goose_db_version VALUES(2,1,1,'2026-11-21 06:49:11');
INSERT INTO goose_db_version VALUES(3,2,1,'2026-11-22 10:48:57');
INSERT INTO goose_db_version VALUES(4,3,1,'2026-11-22 10:48:57');
INSERT INTO goose_db_version VALUES(5,4,1,'2026-11-22 10:48:57');
INSERT INTO goose_db_version VALUES(6,5,1,'2026-11-22 10:48:57');
INSERT INTO goose_db_version VALUES(7,6,1,'2026-11-22 10:48:57');
INSERT INTO goose_db_version VALUES(8,7,1,'2026-11-22 10:48:57');
INSERT INTO goose_db_version VALUES(9,8,1,'2026-11-22 10:48:57');
INSERT INTO goose_db_version VALUES(10,9,1,'2026-11-22 10:48:57');
CREATE TABLE facts (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
INSERT INTO facts VALUES('key_check','183fa51b:6qlggJlKXThY2ipmHZDFXZPy8ZjqorbrI73QRbzgiOfIm/A=');
CREATE TABLE sequences (
    name TEXT PRIMARY KEY,
    last BIGINT NOT NULL
);
INSERT INTO sequences VALUES('users',2);
INSERT INTO sequences VALUES('listens',57);
INSERT INTO sequences VALUES('playlists',3);
INSERT INTO sequences VALUES('notifications',4);
INSERT INTO sequences VALUES('channels',1);
INSERT INTO sequences VALUES('messages',1);
INSERT INTO sequences VALUES('imports',1);
INSERT INTO sequences VALUES('tokens',1);
INSERT INTO sequences VALUES('activity',2);
INSERT INTO sequences VALUES('digests',1);
INSERT INTO sequences VALUES('entities',1);
CREATE TABLE users (
    id            INTEGER PRIMARY KEY,
    name          TEXT NOT NULL,
    name_key      TEXT NOT NULL UNIQUE,
    password_hash TEXT NOT NULL,
    role          TEXT NOT NULL,
    created_at    BIGINT NOT NULL
);
INSERT INTO users VALUES(1,'Alice','alice','hash of Alice','admin',1795197600000);
INSERT INTO users VALUES(2,'Böb','böb','hash of Böb','member',1795197600000);
CREATE TABLE sessions (
    id         TEXT PRIMARY KEY,
    data       TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);
INSERT INTO sessions VALUES('a618979c7230855bb4703c14571b974e8bb577c80e83f7839304729ec5445a13','YWxpY2VzIHNlc3Npb24=',4319719200000);
INSERT INTO sessions VALUES('c8258ff6b71789efe9c0371433bac953652370c1282f9823825b913e2c9a89c4','AAH/',4319719200000);
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
INSERT INTO connections VALUES(1,'spotify','id-1','alice','app',2,'183fa51b:y0FdJ/IdK30FabT8Ovf8IUfZtpl80PMiqs2ciGmniLm8YEpwOzenZF7dY4GGVg/eMUXRyV5zRYEtaZ55tstpuEYEGKijPkwKGcdwmuAIZFHEP89C0gDDwC7gMaLX',1795197660000,1795197720000,0,1795197780000);
INSERT INTO connections VALUES(1,'listenbrainz','id-1','alice','',1,'183fa51b:4hAtoOAAKQt0hhO+3nPnR1td56+vU2GPxWDg6PlbUg98HOL9cmZtWlsGak67cNOB7W06W5sN58iWypPBTTfv88CS',1795197660000,0,0,1795197780000);
INSERT INTO connections VALUES(2,'navidrome','id-1','alice','nas.lan:4533',1,'183fa51b:Cb6JXFP8HuPFTMYUeoZzSodOH2kOIqhjON9ruFHsqO6tyw4weXApn+SNd6qE0D206tDLuk5vCFuY0TwkYE6qt1G6uAC78Dth6GuMNNyLTf0uGKanBBt4EoqBi+WDu1vxOzQPl1xM4ls9dd9UPK0juwW4AJ0p5GP997CS',1795197660000,0,0,1795197780000);
INSERT INTO connections VALUES(2,'spotify','id-1','alice','app',1,'183fa51b:LXbVOqvILDVY5vQ/a3wWN3318UeYDKWbfs/rG7Z5Y+iO4oU/yofsbeuS/ssN75XnqKbT7/ysTPrwkz86jQ==',1795197660000,1795197720000,1,1795197780000);
CREATE TABLE generations (
    user_id    INTEGER NOT NULL REFERENCES users (id),
    provider   TEXT NOT NULL,
    generation BIGINT NOT NULL,
    PRIMARY KEY (user_id, provider)
);
INSERT INTO generations VALUES(1,'spotify',2);
INSERT INTO generations VALUES(1,'listenbrainz',1);
INSERT INTO generations VALUES(2,'navidrome',1);
INSERT INTO generations VALUES(2,'spotify',1);
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
INSERT INTO pending_connections VALUES(1,'spotify','id-2','other account','app','183fa51b:6zo58Tjms3t6K36NG3o676N0kaII3I16k1z7Xtc5BONKlBdJcCQ/dBYkClO5gXWkC4E3LXOkFhN89nQTzw==',1795197660000,1795197720000,1795197600000);
CREATE TABLE oauth_states (
    id         TEXT PRIMARY KEY,
    session    TEXT NOT NULL,
    user_id    INTEGER NOT NULL REFERENCES users (id),
    provider   TEXT NOT NULL,
    verifier   TEXT NOT NULL,
    return_to  TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
INSERT INTO oauth_states VALUES('state','session',1,'spotify','183fa51b:xExFuV6xYAvVMlmuRm8TQj7jxPn51o8h9E24pRqsP3HuWB51','/settings',1795197600000);
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
INSERT INTO streams VALUES(1,'spotify','listens','{"newest":"2026-11-20T18:00:00Z","done":true}',1795197900000,'',0,'','','What Spotify no longer offers is missing.');
INSERT INTO streams VALUES(1,'listenbrainz','listens','lb-position',0,'',0,'','','');
INSERT INTO streams VALUES(2,'navidrome','listens','scan-7',0,'',0,'','','');
INSERT INTO streams VALUES(1,'spotify','playlists','playlists-position',0,'',0,'advice','detail','');
INSERT INTO streams VALUES(1,'spotify','','',0,'auth',1795197960000,'','','');
INSERT INTO streams VALUES(2,'navidrome','playlists','',0,'permission',1795198020000,'','','');
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
INSERT INTO holds VALUES('spotify','app',0,'','rate_limit',1795198080000,4319719200000);
INSERT INTO holds VALUES('spotify','app',1,'listens','rate_limit',1795198080000,4319719200000);
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
INSERT INTO listens VALUES(1,1,-4233124598945257548,'Track 19','Sigur Rós','Ágætis byrjun',1795129200000,180000,'GBAYE0000019','b1a9c0e9-d987-4042-ae91-78d6a3267004',0);
INSERT INTO listens VALUES(2,1,-8154117755160227071,'Track 18','Sigur Rós','Ágætis byrjun',1795132800000,180000,'GBAYE0000018','b1a9c0e9-d987-4042-ae91-78d6a3267003',0);
INSERT INTO listens VALUES(3,1,5343152674589467790,'Track 17','Sigur Rós','Ágætis byrjun',1795136400000,180000,'GBAYE0000017','b1a9c0e9-d987-4042-ae91-78d6a3267002',0);
INSERT INTO listens VALUES(4,1,-2269009863378495661,'Track 16','Sigur Rós','Ágætis byrjun',1795140000000,180000,'GBAYE0000016','b1a9c0e9-d987-4042-ae91-78d6a3267001',0);
INSERT INTO listens VALUES(5,1,-4108747241395106512,'Track 15','Sigur Rós','Ágætis byrjun',1795143600000,180000,'GBAYE0000015','b1a9c0e9-d987-4042-ae91-78d6a3267000',0);
INSERT INTO listens VALUES(6,1,-8844687707103778051,'Track 14','Sigur Rós','Ágætis byrjun',1795147200000,180000,'GBAYE0000014','',0);
INSERT INTO listens VALUES(7,1,-6502765504701278262,'Track 13','Sigur Rós','Ágætis byrjun',1795150800000,180000,'GBAYE0000013','',0);
INSERT INTO listens VALUES(8,1,-5940111077277588049,'Track 12','Sigur Rós','Ágætis byrjun',1795154400000,180000,'GBAYE0000012','',0);
INSERT INTO listens VALUES(9,1,-6109076264751738228,'Track 11','Sigur Rós','Ágætis byrjun',1795158000000,180000,'GBAYE0000011','',0);
INSERT INTO listens VALUES(10,1,-8881015418351510631,'Track 10','Sigur Rós','Ágætis byrjun',1795161600000,180000,'GBAYE0000010','',0);
INSERT INTO listens VALUES(11,1,159479285458108815,'Track 9','Sigur Rós','Ágætis byrjun',1795165200000,180000,'GBAYE0000009','',0);
INSERT INTO listens VALUES(12,1,7590649032710351274,'Track 8','Sigur Rós','Ágætis byrjun',1795168800000,180000,'GBAYE0000008','',0);
INSERT INTO listens VALUES(13,1,-4319360266902340987,'Track 7','Sigur Rós','Ágætis byrjun',1795172400000,180000,'GBAYE0000007','',0);
INSERT INTO listens VALUES(14,1,-4802390463711726376,'Track 6','Sigur Rós','Ágætis byrjun',1795176000000,180000,'GBAYE0000006','',0);
INSERT INTO listens VALUES(15,1,496380430794035963,'Track 5','Sigur Rós','Ágætis byrjun',1795179600000,180000,'GBAYE0000005','',0);
INSERT INTO listens VALUES(16,1,-7106307421631581802,'Track 4','Sigur Rós','Ágætis byrjun',1795183200000,180000,'GBAYE0000004','',0);
INSERT INTO listens VALUES(17,1,9131598006163130981,replace('It''s; a -- "title"\nof two lines','\n',char(10)),'O''Brien','Ágætis byrjun',1795186800000,180000,'GBAYE0000003','',0);
INSERT INTO listens VALUES(18,1,1866184288813617300,'Track 2','Sigur Rós','Ágætis byrjun',1795190400000,180000,'GBAYE0000002','',0);
INSERT INTO listens VALUES(19,1,-4759060347432423721,'Track 1','Sigur Rós','Ágætis byrjun',1795194000000,180000,'GBAYE0000001','',0);
INSERT INTO listens VALUES(20,1,-8649239282709492174,'Track 0','Sigur Rós','Ágætis byrjun',1795197600000,180000,'GBAYE0000000','',0);
INSERT INTO listens VALUES(21,1,5625018733483536365,'Track 29','Sigur Rós','Ágætis byrjun',1795093200000,180000,'GBAYE0000029','b1a9c0e9-d987-4042-ae91-78d6a3267014',0);
INSERT INTO listens VALUES(22,1,3366325157935197984,'Track 28','Sigur Rós','Ágætis byrjun',1795096800000,180000,'GBAYE0000028','b1a9c0e9-d987-4042-ae91-78d6a3267013',0);
INSERT INTO listens VALUES(23,1,-9207434157329005401,'Track 27','Sigur Rós','Ágætis byrjun',1795100400000,180000,'GBAYE0000027','b1a9c0e9-d987-4042-ae91-78d6a3267012',0);
INSERT INTO listens VALUES(24,1,-6085270738304913406,'Track 26','Sigur Rós','Ágætis byrjun',1795104000000,180000,'GBAYE0000026','b1a9c0e9-d987-4042-ae91-78d6a3267011',0);
INSERT INTO listens VALUES(25,1,470526036745144305,'Track 25','Sigur Rós','Ágætis byrjun',1795107600000,180000,'GBAYE0000025','b1a9c0e9-d987-4042-ae91-78d6a3267010',0);
INSERT INTO listens VALUES(26,1,6356212221354220004,'Track 24','Sigur Rós','Ágætis byrjun',1795111200000,180000,'GBAYE0000024','b1a9c0e9-d987-4042-ae91-78d6a3267009',0);
INSERT INTO listens VALUES(27,1,4225971412216927691,'Track 23','Sigur Rós','Ágætis byrjun',1795114800000,180000,'GBAYE0000023','b1a9c0e9-d987-4042-ae91-78d6a3267008',0);
INSERT INTO listens VALUES(28,1,-8752486795804966746,'Track 22','Sigur Rós','Ágætis byrjun',1795118400000,180000,'GBAYE0000022','b1a9c0e9-d987-4042-ae91-78d6a3267007',0);
INSERT INTO listens VALUES(29,1,-5527945321871322667,'Track 21','Sigur Rós','Ágætis byrjun',1795122000000,180000,'GBAYE0000021','b1a9c0e9-d987-4042-ae91-78d6a3267006',0);
INSERT INTO listens VALUES(30,1,1700474656641905832,'Track 20','Sigur Rós','Ágætis byrjun',1795125600000,180000,'GBAYE0000020','b1a9c0e9-d987-4042-ae91-78d6a3267005',0);
INSERT INTO listens VALUES(31,1,2438030434377243090,'Track 44','Sigur Rós','Ágætis byrjun',1795039220000,180000,'','b1a9c0e9-d987-4042-ae91-78d6a3267029',0);
INSERT INTO listens VALUES(32,1,7004910604415921189,'Track 43','Sigur Rós','Ágætis byrjun',1795042820000,180000,'','b1a9c0e9-d987-4042-ae91-78d6a3267028',0);
INSERT INTO listens VALUES(33,1,4610591922311762296,'Track 42','Sigur Rós','Ágætis byrjun',1795046420000,180000,'','b1a9c0e9-d987-4042-ae91-78d6a3267027',0);
INSERT INTO listens VALUES(34,1,-8529499181336841573,'Track 41','Sigur Rós','Ágætis byrjun',1795050020000,180000,'','b1a9c0e9-d987-4042-ae91-78d6a3267026',0);
INSERT INTO listens VALUES(35,1,-3007733846269280714,'Track 40','Sigur Rós','Ágætis byrjun',1795053620000,180000,'','b1a9c0e9-d987-4042-ae91-78d6a3267025',0);
INSERT INTO listens VALUES(36,1,-4590016041283769878,'Track 39','Sigur Rós','Ágætis byrjun',1795057220000,180000,'','b1a9c0e9-d987-4042-ae91-78d6a3267024',0);
INSERT INTO listens VALUES(37,1,1057174756680255183,'Track 38','Sigur Rós','Ágætis byrjun',1795060820000,180000,'','b1a9c0e9-d987-4042-ae91-78d6a3267023',0);
INSERT INTO listens VALUES(38,1,7063305004945290776,'Track 37','Sigur Rós','Ágætis byrjun',1795064420000,180000,'','b1a9c0e9-d987-4042-ae91-78d6a3267022',0);
INSERT INTO listens VALUES(39,1,9081301585756238277,'Track 36','Sigur Rós','Ágætis byrjun',1795068020000,180000,'','b1a9c0e9-d987-4042-ae91-78d6a3267021',0);
INSERT INTO listens VALUES(40,1,-1222235885724890666,'Track 35','Sigur Rós','Ágætis byrjun',1795071620000,180000,'','b1a9c0e9-d987-4042-ae91-78d6a3267020',0);
INSERT INTO listens VALUES(41,1,-6076786098703313093,'Track 34','Sigur Rós','Ágætis byrjun',1795075220000,180000,'','b1a9c0e9-d987-4042-ae91-78d6a3267019',0);
INSERT INTO listens VALUES(42,1,-4714582841262095148,'Track 33','Sigur Rós','Ágætis byrjun',1795078820000,180000,'','b1a9c0e9-d987-4042-ae91-78d6a3267018',0);
INSERT INTO listens VALUES(43,1,6016714859907001889,'Track 32','Sigur Rós','Ágætis byrjun',1795082420000,180000,'','b1a9c0e9-d987-4042-ae91-78d6a3267017',0);
INSERT INTO listens VALUES(44,1,-709154426907637134,'Track 31','Sigur Rós','Ágætis byrjun',1795086020000,180000,'','b1a9c0e9-d987-4042-ae91-78d6a3267016',0);
INSERT INTO listens VALUES(45,1,7490557823096168215,'Track 30','Sigur Rós','Ágætis byrjun',1795089620000,180000,'','b1a9c0e9-d987-4042-ae91-78d6a3267015',0);
INSERT INTO listens VALUES(46,2,-6109076264751738228,'Track 11','Sigur Rós','Ágætis byrjun',1795158000000,180000,'','',1);
INSERT INTO listens VALUES(47,2,-8881015418351510631,'Track 10','Sigur Rós','Ágætis byrjun',1795161600000,180000,'','',0);
INSERT INTO listens VALUES(48,2,159479285458108815,'Track 9','Sigur Rós','Ágætis byrjun',1795165200000,180000,'','',0);
INSERT INTO listens VALUES(49,2,7590649032710351274,'Track 8','Sigur Rós','Ágætis byrjun',1795168800000,180000,'','',0);
INSERT INTO listens VALUES(50,2,-4319360266902340987,'Track 7','Sigur Rós','Ágætis byrjun',1795172400000,180000,'','',1);
INSERT INTO listens VALUES(51,2,-4802390463711726376,'Track 6','Sigur Rós','Ágætis byrjun',1795176000000,180000,'','',0);
INSERT INTO listens VALUES(52,2,496380430794035963,'Track 5','Sigur Rós','Ágætis byrjun',1795179600000,180000,'','',0);
INSERT INTO listens VALUES(53,2,-7106307421631581802,'Track 4','Sigur Rós','Ágætis byrjun',1795183200000,180000,'','',0);
INSERT INTO listens VALUES(54,2,-1003671043440639007,'Track 3','Sigur Rós','Ágætis byrjun',1795186800000,180000,'','',1);
INSERT INTO listens VALUES(55,2,1866184288813617300,'Track 2','Sigur Rós','Ágætis byrjun',1795190400000,180000,'','',0);
INSERT INTO listens VALUES(56,2,-4759060347432423721,'Track 1','Sigur Rós','Ágætis byrjun',1795194000000,180000,'','',0);
INSERT INTO listens VALUES(57,2,-8649239282709492174,'Track 0','Sigur Rós','Ágætis byrjun',1795197600000,180000,'','',0);
CREATE TABLE listen_sources (
    user_id   INTEGER NOT NULL REFERENCES users (id),
    provider  TEXT NOT NULL,
    source_id TEXT NOT NULL,
    listen_id INTEGER NOT NULL REFERENCES listens (id) ON DELETE CASCADE,
    played_at BIGINT NOT NULL, stored_at BIGINT NOT NULL DEFAULT 0, -- as this provider tells it, which may be the start or the end of the play
    PRIMARY KEY (user_id, provider, source_id)
);
INSERT INTO listen_sources VALUES(1,'spotify','play--1140',1,1795129200000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--1080',2,1795132800000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--1020',3,1795136400000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--960',4,1795140000000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--900',5,1795143600000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--840',6,1795147200000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--780',7,1795150800000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--720',8,1795154400000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--660',9,1795158000000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--600',10,1795161600000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--540',11,1795165200000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--480',12,1795168800000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--420',13,1795172400000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--360',14,1795176000000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--300',15,1795179600000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--240',16,1795183200000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--180',17,1795186800000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--120',18,1795190400000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--60',19,1795194000000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--0',20,1795197600000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--1740',21,1795093200000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--1680',22,1795096800000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--1620',23,1795100400000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--1560',24,1795104000000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--1500',25,1795107600000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--1440',26,1795111200000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--1380',27,1795114800000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--1320',28,1795118400000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--1260',29,1795122000000,0);
INSERT INTO listen_sources VALUES(1,'spotify','play--1200',30,1795125600000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-29',31,1795039220000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-28',32,1795042820000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-27',33,1795046420000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-26',34,1795050020000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-25',35,1795053620000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-24',36,1795057220000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-23',37,1795060820000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-22',38,1795064420000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-21',39,1795068020000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-20',40,1795071620000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-19',41,1795075220000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-18',42,1795078820000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-17',43,1795082420000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-16',44,1795086020000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-15',45,1795089620000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-14',21,1795093220000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-13',22,1795096820000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-12',23,1795100420000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-11',24,1795104020000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-10',25,1795107620000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-9',26,1795111220000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-8',27,1795114820000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-7',28,1795118420000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-6',29,1795122020000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-5',30,1795125620000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-4',1,1795129220000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-3',2,1795132820000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-2',3,1795136420000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-1',4,1795140020000,0);
INSERT INTO listen_sources VALUES(1,'listenbrainz','lb-0',5,1795143620000,0);
INSERT INTO listen_sources VALUES(2,'navidrome','nd-11',46,1795158000000,0);
INSERT INTO listen_sources VALUES(2,'navidrome','nd-10',47,1795161600000,0);
INSERT INTO listen_sources VALUES(2,'navidrome','nd-9',48,1795165200000,0);
INSERT INTO listen_sources VALUES(2,'navidrome','nd-8',49,1795168800000,0);
INSERT INTO listen_sources VALUES(2,'navidrome','nd-7',50,1795172400000,0);
INSERT INTO listen_sources VALUES(2,'navidrome','nd-6',51,1795176000000,0);
INSERT INTO listen_sources VALUES(2,'navidrome','nd-5',52,1795179600000,0);
INSERT INTO listen_sources VALUES(2,'navidrome','nd-4',53,1795183200000,0);
INSERT INTO listen_sources VALUES(2,'navidrome','nd-3',54,1795186800000,0);
INSERT INTO listen_sources VALUES(2,'navidrome','nd-2',55,1795190400000,0);
INSERT INTO listen_sources VALUES(2,'navidrome','nd-1',56,1795194000000,0);
INSERT INTO listen_sources VALUES(2,'navidrome','nd-0',57,1795197600000,0);
CREATE TABLE play_counts (
    user_id   INTEGER NOT NULL REFERENCES users (id),
    provider  TEXT NOT NULL,
    track_id  TEXT NOT NULL,
    plays     INTEGER NOT NULL,
    played_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, provider, track_id)
);
INSERT INTO play_counts VALUES(2,'navidrome','nd-track-0',1,1795197600000);
INSERT INTO play_counts VALUES(2,'navidrome','nd-track-1',2,1795194000000);
INSERT INTO play_counts VALUES(2,'navidrome','nd-track-2',3,1795190400000);
INSERT INTO play_counts VALUES(2,'navidrome','nd-track-3',4,1795186800000);
INSERT INTO play_counts VALUES(2,'navidrome','nd-track-4',5,1795183200000);
INSERT INTO play_counts VALUES(2,'navidrome','nd-track-5',6,1795179600000);
INSERT INTO play_counts VALUES(2,'navidrome','nd-track-6',7,1795176000000);
INSERT INTO play_counts VALUES(2,'navidrome','nd-track-7',8,1795172400000);
INSERT INTO play_counts VALUES(2,'navidrome','nd-track-8',9,1795168800000);
INSERT INTO play_counts VALUES(2,'navidrome','nd-track-9',10,1795165200000);
INSERT INTO play_counts VALUES(2,'navidrome','nd-track-10',11,1795161600000);
INSERT INTO play_counts VALUES(2,'navidrome','nd-track-11',12,1795158000000);
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
INSERT INTO playlists VALUES(1,1,'spotify','rain','Rain','s1',25,2,1,0);
INSERT INTO playlists VALUES(2,1,'spotify','gone','Gone','s2',3,-1,0,1);
INSERT INTO playlists VALUES(3,2,'navidrome','empty','Leer — ''''','',0,-1,1,0);
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
INSERT INTO playlist_tracks VALUES(1,0,'Track 0','Artist','Album',0,'isrc','mbid','id 0');
INSERT INTO playlist_tracks VALUES(1,1,'Track 1','Artist','Album',1000,'isrc','mbid','id 1');
INSERT INTO playlist_tracks VALUES(1,2,'Track 2','Artist','Album',2000,'isrc','mbid','id 2');
INSERT INTO playlist_tracks VALUES(1,3,'Track 3','Artist','Album',3000,'isrc','mbid','id 3');
INSERT INTO playlist_tracks VALUES(1,4,'Track 4','Artist','Album',4000,'isrc','mbid','id 4');
INSERT INTO playlist_tracks VALUES(1,5,'Track 5','Artist','Album',5000,'isrc','mbid','id 5');
INSERT INTO playlist_tracks VALUES(1,6,'Track 6','Artist','Album',6000,'isrc','mbid','id 6');
INSERT INTO playlist_tracks VALUES(1,7,'Track 7','Artist','Album',7000,'isrc','mbid','id 7');
INSERT INTO playlist_tracks VALUES(1,8,'Track 8','Artist','Album',8000,'isrc','mbid','id 8');
INSERT INTO playlist_tracks VALUES(1,9,'Track 9','Artist','Album',9000,'isrc','mbid','id 9');
INSERT INTO playlist_tracks VALUES(1,10,'Track 10','Artist','Album',10000,'isrc','mbid','id 10');
INSERT INTO playlist_tracks VALUES(1,11,'Track 11','Artist','Album',11000,'isrc','mbid','id 11');
INSERT INTO playlist_tracks VALUES(1,12,'Track 12','Artist','Album',12000,'isrc','mbid','id 12');
INSERT INTO playlist_tracks VALUES(1,13,'Track 13','Artist','Album',13000,'isrc','mbid','id 13');
INSERT INTO playlist_tracks VALUES(1,14,'Track 14','Artist','Album',14000,'isrc','mbid','id 14');
INSERT INTO playlist_tracks VALUES(1,15,'Track 15','Artist','Album',15000,'isrc','mbid','id 15');
INSERT INTO playlist_tracks VALUES(1,16,'Track 16','Artist','Album',16000,'isrc','mbid','id 16');
INSERT INTO playlist_tracks VALUES(1,17,'Track 17','Artist','Album',17000,'isrc','mbid','id 17');
INSERT INTO playlist_tracks VALUES(1,18,'Track 18','Artist','Album',18000,'isrc','mbid','id 18');
INSERT INTO playlist_tracks VALUES(1,19,'Track 19','Artist','Album',19000,'isrc','mbid','id 19');
INSERT INTO playlist_tracks VALUES(1,20,'Track 20','Artist','Album',20000,'isrc','mbid','id 20');
INSERT INTO playlist_tracks VALUES(1,21,'Track 21','Artist','Album',21000,'isrc','mbid','id 21');
INSERT INTO playlist_tracks VALUES(1,22,'Track 22','Artist','Album',22000,'isrc','mbid','id 22');
INSERT INTO playlist_tracks VALUES(1,23,'Track 23','Artist','Album',23000,'isrc','mbid','id 23');
INSERT INTO playlist_tracks VALUES(1,24,'Track 24','Artist','Album',24000,'isrc','mbid','id 24');
INSERT INTO playlist_tracks VALUES(2,0,'Track 0','Artist','Album',0,'isrc','mbid','id 0');
INSERT INTO playlist_tracks VALUES(2,1,'Track 1','Artist','Album',1000,'isrc','mbid','id 1');
INSERT INTO playlist_tracks VALUES(2,2,'Track 2','Artist','Album',2000,'isrc','mbid','id 2');
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
INSERT INTO notifications VALUES(1,1,'spotify','auth',2,'error','auth','auth title','It isn''t over.','detail','Reconnect','/connect/spotify',1795198140000,0,0);
INSERT INTO notifications VALUES(2,1,'spotify','expires-30',2,'warning','auth','expires-30 title','It isn''t over.','detail','Reconnect','/connect/spotify',1795198140000,1795243751423,0);
INSERT INTO notifications VALUES(3,2,'navidrome','capped',1,'warning','auth','capped title','It isn''t over.','detail','Reconnect','/connect/navidrome',1795198140000,0,1795243751423);
INSERT INTO notifications VALUES(4,2,'navidrome','permission:playlists',1,'error','auth','permission:playlists title','It isn''t over.','detail','Reconnect','/connect/navidrome',1795198140000,0,0);
CREATE TABLE forwarding (
    user_id  INTEGER NOT NULL REFERENCES users (id),
    provider TEXT NOT NULL,
    kind     TEXT NOT NULL,    -- of the deliveries: submit_listens, scrobble or archive
    batch    INTEGER NOT NULL, -- how many listens one delivery carries at the most
    from_at  BIGINT NOT NULL,  -- listens that were played earlier are not carried
    oldest   BIGINT NOT NULL,  -- nor are those that are older than so many milliseconds; 0 for any age
    since    BIGINT NOT NULL,  -- when it was switched on
    PRIMARY KEY (user_id, provider)
);
INSERT INTO forwarding VALUES(2,'lastfm','scrobble',50,1795197600000,0,1795197600000);
INSERT INTO forwarding VALUES(1,'listenbrainz','submit_listens',10,0,0,1795197600000);
INSERT INTO forwarding VALUES(2,'s3','archive',1,0,0,1795197600000);
CREATE TABLE deliveries (
    id         INTEGER PRIMARY KEY, -- that of River's job
    user_id    INTEGER NOT NULL REFERENCES users (id),
    provider   TEXT NOT NULL,
    kind       TEXT NOT NULL,
    ref        TEXT NOT NULL,    -- what it is about: the number of a playlist, or a month; empty for listens
    items      INTEGER NOT NULL, -- how many listens or playlists it carries
    created_at BIGINT NOT NULL,
    category   TEXT NOT NULL DEFAULT '', -- of the latest failure
    reason     TEXT NOT NULL DEFAULT '', -- in words
    answer     TEXT NOT NULL DEFAULT '', -- the upstream's own
    dead_since BIGINT NOT NULL DEFAULT 0
);
INSERT INTO deliveries VALUES(1,1,'listenbrainz','submit_listens','',10,1795344537951,'','','',0);
INSERT INTO deliveries VALUES(2,1,'listenbrainz','submit_listens','',5,1795344537952,'','','',0);
INSERT INTO deliveries VALUES(3,2,'s3','archive','2026-11',1,1795344537955,'','','',0);
INSERT INTO deliveries VALUES(4,1,'s3','archive','scheduled',1,1795344537956,'','','',0);
INSERT INTO deliveries VALUES(5,1,'s3','archive','running',1,1795344537957,'','','',0);
INSERT INTO deliveries VALUES(6,1,'s3','archive','retrying',1,1795344537958,'','','',0);
INSERT INTO deliveries VALUES(7,1,'s3','archive','parked',1,1795344537959,'','','',0);
INSERT INTO deliveries VALUES(8,1,'s3','archive','dead',1,1795344537962,'','','',0);
INSERT INTO deliveries VALUES(9,1,'s3','archive','done',1,1795344537967,'','','',0);
INSERT INTO deliveries VALUES(10,2,'navidrome','write_playlist','3',1,1795344537968,'','','',0);
CREATE TABLE forwards (
    listen_id   INTEGER NOT NULL REFERENCES listens (id) ON DELETE CASCADE,
    provider    TEXT NOT NULL,
    user_id     INTEGER NOT NULL REFERENCES users (id),
    delivery_id INTEGER NOT NULL,
    PRIMARY KEY (listen_id, provider)
);
INSERT INTO forwards VALUES(6,'listenbrainz',1,1);
INSERT INTO forwards VALUES(7,'listenbrainz',1,1);
INSERT INTO forwards VALUES(8,'listenbrainz',1,1);
INSERT INTO forwards VALUES(9,'listenbrainz',1,1);
INSERT INTO forwards VALUES(10,'listenbrainz',1,1);
INSERT INTO forwards VALUES(11,'listenbrainz',1,1);
INSERT INTO forwards VALUES(12,'listenbrainz',1,1);
INSERT INTO forwards VALUES(13,'listenbrainz',1,1);
INSERT INTO forwards VALUES(14,'listenbrainz',1,1);
INSERT INTO forwards VALUES(15,'listenbrainz',1,1);
INSERT INTO forwards VALUES(16,'listenbrainz',1,2);
INSERT INTO forwards VALUES(17,'listenbrainz',1,2);
INSERT INTO forwards VALUES(18,'listenbrainz',1,2);
INSERT INTO forwards VALUES(19,'listenbrainz',1,2);
INSERT INTO forwards VALUES(20,'listenbrainz',1,2);
CREATE TABLE copies (
    user_id    INTEGER NOT NULL REFERENCES users (id),
    provider   TEXT NOT NULL,
    kind       TEXT NOT NULL,
    ref        TEXT NOT NULL,
    wanted     BIGINT NOT NULL, -- grows with every change of ours
    written    BIGINT NOT NULL, -- what wanted was when it was written last; 0 for never
    remote_id  TEXT NOT NULL DEFAULT '', -- the playlist's there, or the object's ETag
    report     TEXT NOT NULL DEFAULT '', -- what came of it (JSON)
    written_at BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, provider, kind, ref)
);
INSERT INTO copies VALUES(2,'s3','archive','2026-11',1,0,'','',0);
INSERT INTO copies VALUES(2,'navidrome','write_playlist','3',1,0,'','',0);
CREATE TABLE track_matches (
    user_id    INTEGER NOT NULL REFERENCES users (id),
    provider   TEXT NOT NULL,
    track      TEXT NOT NULL, -- what was looked for
    source_id  TEXT NOT NULL, -- empty: nothing was found
    title      TEXT NOT NULL,
    artist     TEXT NOT NULL,
    how        TEXT NOT NULL,
    score      DOUBLE PRECISION NOT NULL,
    checked_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, provider, track)
);
INSERT INTO track_matches VALUES(2,'navidrome','abc','song-1','Song','Band','isrc',1.0,1795250000000);
CREATE TABLE imports (
    id         INTEGER PRIMARY KEY,
    user_id    INTEGER NOT NULL REFERENCES users (id),
    provider   TEXT NOT NULL,
    name       TEXT NOT NULL,   -- as its person knows the file
    file       TEXT NOT NULL,   -- its name in the data directory's folder of imports
    size       BIGINT NOT NULL,
    state      TEXT NOT NULL,   -- waiting, running, done, failed or canceled
    entry      INTEGER NOT NULL DEFAULT 0, -- where reading goes on: in which file of an archive,
    entry_row  INTEGER NOT NULL DEFAULT 0, -- and after how many of its rows
    bytes_done  BIGINT NOT NULL DEFAULT 0,
    bytes_total BIGINT NOT NULL DEFAULT 0,
    row_count  INTEGER NOT NULL DEFAULT 0,
    added      INTEGER NOT NULL DEFAULT 0,
    known      INTEGER NOT NULL DEFAULT 0,
    skipped    INTEGER NOT NULL DEFAULT 0,
    bad        INTEGER NOT NULL DEFAULT 0,
    problems   TEXT NOT NULL DEFAULT '', -- the first bad rows, one per line
    reason     TEXT NOT NULL DEFAULT '', -- why it failed, in words
    created_at BIGINT NOT NULL,
    ended_at   BIGINT NOT NULL DEFAULT 0
);
INSERT INTO imports VALUES(1,1,'spotify','history.zip','f1',100,'done',0,0,0,0,10,9,0,0,0,'','',1795250000000,1795250001000);
CREATE TABLE gaps (
    user_id    INTEGER NOT NULL REFERENCES users (id),
    provider   TEXT NOT NULL,
    from_at    BIGINT NOT NULL,
    to_at      BIGINT NOT NULL,
    lost_to    BIGINT NOT NULL, -- what was played before is no longer offered; 0: nothing is lost
    recovered  INTEGER NOT NULL,
    noticed_at BIGINT NOT NULL,
    filled     INTEGER NOT NULL DEFAULT 0,
    filled_at  BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, provider, from_at)
);
INSERT INTO gaps VALUES(1,'spotify',1795100000000,1795110000000,1795105000000,7,1795111000000,2,1795112000000);
CREATE TABLE key_cooldowns (
    provider    TEXT NOT NULL,
    fingerprint TEXT NOT NULL, -- SHA-256 of the key
    category    TEXT NOT NULL,
    until       BIGINT NOT NULL,
    PRIMARY KEY (provider, fingerprint)
);
INSERT INTO key_cooldowns VALUES('youtube','f00d','quota',1795260000000);
CREATE TABLE entities (
    id          INTEGER PRIMARY KEY,
    kind        TEXT NOT NULL,    -- artist, album or track
    match_key   BIGINT NOT NULL,  -- equal for the names that services give to the same thing; a track's is that of its listens
    artist      TEXT NOT NULL,
    title       TEXT NOT NULL,
    album       TEXT NOT NULL,
    duration_ms INTEGER NOT NULL,
    isrc        TEXT NOT NULL,
    mbid        TEXT NOT NULL,    -- as a listen told, or as was found
    UNIQUE (kind, match_key)
);
INSERT INTO entities VALUES(1,'artist',42,'Sigur Rós','','',0,'','mbid-1');
CREATE TABLE entity_names (
    kind      TEXT NOT NULL,
    match_key BIGINT NOT NULL,
    artist    TEXT NOT NULL,
    album     TEXT NOT NULL,
    PRIMARY KEY (kind, match_key, artist, album)
);
INSERT INTO entity_names VALUES('artist',42,'Sigur Rós','');
CREATE TABLE enrichment_marks (
    name TEXT PRIMARY KEY,
    last BIGINT NOT NULL
);
INSERT INTO enrichment_marks VALUES('musicbrainz',1);
CREATE TABLE enrichment (
    source      TEXT NOT NULL,
    entity_id   INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    state       TEXT NOT NULL,   -- waiting, done, not_there or failed
    due_at      BIGINT NOT NULL, -- 0: when another source has found its MBID
    failures    INTEGER NOT NULL DEFAULT 0,
    reason      TEXT NOT NULL DEFAULT '',
    asked_at    BIGINT NOT NULL DEFAULT 0,
    mbid        TEXT NOT NULL DEFAULT '',
    name        TEXT NOT NULL DEFAULT '',
    tags        TEXT NOT NULL DEFAULT '', -- one per line
    released    TEXT NOT NULL DEFAULT '',
    picture     TEXT NOT NULL DEFAULT '', -- its name in the cache of pictures
    PRIMARY KEY (entity_id, source)
);
INSERT INTO enrichment VALUES('musicbrainz',1,'done',1795260000000,0,'',0,'','','','','');
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
INSERT INTO digests VALUES(1,1,'2026-11-16','written','','','A week.','',0,0,0,0,'','','',1795250000000,0);
CREATE TABLE digest_people (
    user_id INTEGER PRIMARY KEY REFERENCES users (id),
    since   BIGINT NOT NULL
);
INSERT INTO digest_people VALUES(1,1795250000000);
CREATE TABLE runs (
    user_id    INTEGER NOT NULL REFERENCES users (id),
    provider   TEXT NOT NULL,
    stream     TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    took_ms    BIGINT NOT NULL,
    row_count  INTEGER NOT NULL, -- new listens, or playlists read
    result     TEXT NOT NULL,    -- ok, retriable or fatal
    category   TEXT NOT NULL,
    words      TEXT NOT NULL,
    detail     TEXT NOT NULL,
    PRIMARY KEY (user_id, provider, stream, started_at)
);
INSERT INTO runs VALUES(1,'spotify','listens',1795250000000,850,3,'ok','','','');
INSERT INTO runs VALUES(2,'navidrome','playlists',1795250000000,8,0,'retriable','network','Navidrome cannot be reached','refused');
CREATE TABLE quarters (
    start_at  BIGINT NOT NULL,
    provider  TEXT NOT NULL,
    endpoint  TEXT NOT NULL,
    attempts  BIGINT NOT NULL,
    failures  BIGINT NOT NULL,
    refused   BIGINT NOT NULL,
    took_ms   BIGINT NOT NULL,
    open_ms   BIGINT NOT NULL,
    PRIMARY KEY (start_at, provider, endpoint)
);
INSERT INTO quarters VALUES(1795249800000,'spotify','GET /v1/me',3,1,0,900,0);
CREATE TABLE tokens (
    id           INTEGER PRIMARY KEY,
    user_id      INTEGER NOT NULL REFERENCES users (id),
    name         TEXT NOT NULL,
    hash         TEXT NOT NULL UNIQUE, -- SHA-256 of the token
    last_four    TEXT NOT NULL,
    scope        TEXT NOT NULL,        -- read, operate or admin
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL DEFAULT 0,
    expires_at   BIGINT NOT NULL DEFAULT 0, -- 0: never
    UNIQUE (user_id, name)
);
INSERT INTO tokens VALUES(1,1,'script','aa11','wxyz','read',1795250000000,0,0);
CREATE TABLE activity (
    id       INTEGER PRIMARY KEY,
    at       BIGINT NOT NULL,
    user_id  INTEGER NOT NULL, -- whom it is about; 0 for the installation
    actor_id INTEGER NOT NULL, -- who did it; 0 for the server, and for somebody without an account
    actor    TEXT NOT NULL,
    action   TEXT NOT NULL,
    provider TEXT NOT NULL DEFAULT '',
    subject  TEXT NOT NULL DEFAULT '',
    detail   TEXT NOT NULL DEFAULT ''
);
INSERT INTO activity VALUES(1,1795250000000,1,1,'Alice','paused','spotify','','');
INSERT INTO activity VALUES(2,1795250001000,1,1,'Alice','resumed','spotify','','');
CREATE TABLE channels (
    id              INTEGER PRIMARY KEY,
    user_id         INTEGER NOT NULL REFERENCES users (id),
    kind            TEXT NOT NULL,    -- ntfy, gotify, discord, telegram, email, webhook or webpush
    name            TEXT NOT NULL,
    url             TEXT NOT NULL,    -- sealed
    setting         TEXT NOT NULL DEFAULT '', -- the setting that it stems from; empty: a person's own
    least           TEXT NOT NULL,    -- the least severity that is told
    quiet_from      INTEGER NOT NULL DEFAULT -1, -- minutes of the day; -1 for no quiet hours
    quiet_to        INTEGER NOT NULL DEFAULT -1,
    zone            TEXT NOT NULL DEFAULT '',    -- IANA name, for the quiet hours; empty: that of the server
    errors_at_night INTEGER NOT NULL DEFAULT 0,
    version         BIGINT NOT NULL DEFAULT 1,   -- grows with every change by a person
    stopped_at      BIGINT NOT NULL DEFAULT 0,
    category        TEXT NOT NULL DEFAULT '',    -- of the latest failure
    reason          TEXT NOT NULL DEFAULT '',    -- in words
    failures        INTEGER NOT NULL DEFAULT 0,  -- in a row
    failing_since   BIGINT NOT NULL DEFAULT 0,
    last_sent_at    BIGINT NOT NULL DEFAULT 0,
    created_at      BIGINT NOT NULL
);
INSERT INTO channels VALUES(1,1,'ntfy','Phone','183fa51b:NErEKYkFYb0AVyhK3dOQf51N9Ej75vFTMp/8vcYax6xCmAEGVTRnPTQvFrOldPAT','','warning',-1,-1,'',0,1,0,'','',0,0,0,1795250000000);
CREATE TABLE messages (
    id              INTEGER PRIMARY KEY,
    channel_id      INTEGER NOT NULL REFERENCES channels (id) ON DELETE CASCADE,
    notification_id INTEGER NOT NULL,
    opened_at       BIGINT NOT NULL,  -- which opening of it
    event           TEXT NOT NULL,    -- opened or resolved
    severity        TEXT NOT NULL,
    provider        TEXT NOT NULL,
    cause           TEXT NOT NULL,
    category        TEXT NOT NULL,
    title           TEXT NOT NULL,
    message         TEXT NOT NULL,
    action_url      TEXT NOT NULL,
    resolved_at     BIGINT NOT NULL DEFAULT 0,
    created_at      BIGINT NOT NULL,
    ended_at        BIGINT NOT NULL DEFAULT 0, -- when it was sent, or dropped; those that were sent together have the same
    sent            INTEGER NOT NULL DEFAULT 0,
    UNIQUE (channel_id, notification_id, opened_at, event)
);
INSERT INTO messages VALUES(1,1,1,1795250000000,'opened','error','spotify','auth','auth','Spotify','Reconnect.','/connect/spotify',0,1795250000000,0,0);
CREATE TABLE river_queue (
    name text PRIMARY KEY NOT NULL,
    created_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    metadata blob NOT NULL DEFAULT (json('{}')),
    paused_at timestamp,
    updated_at timestamp NOT NULL
);
CREATE TABLE river_leader (
    elected_at timestamp NOT NULL,
    expires_at timestamp NOT NULL,
    leader_id text NOT NULL,
    name text PRIMARY KEY NOT NULL DEFAULT 'default' CHECK (name = 'default'),
    CONSTRAINT name_length CHECK (length(name) > 0 AND length(name) < 128),
    CONSTRAINT leader_id_length CHECK (length(leader_id) > 0 AND length(leader_id) < 128)
);
CREATE TABLE river_migration (
    line text NOT NULL,
    version integer NOT NULL,
    created_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT line_length CHECK (length(line) > 0 AND length(line) < 128),
    CONSTRAINT version_gte_1 CHECK (version >= 1),
    PRIMARY KEY (line, version)
);
INSERT INTO river_migration VALUES('main',1,'2026-11-22 10:48:57');
INSERT INTO river_migration VALUES('main',2,'2026-11-22 10:48:57');
INSERT INTO river_migration VALUES('main',3,'2026-11-22 10:48:57');
INSERT INTO river_migration VALUES('main',4,'2026-11-22 10:48:57');
INSERT INTO river_migration VALUES('main',5,'2026-11-22 10:48:57');
INSERT INTO river_migration VALUES('main',6,'2026-11-22 10:48:57');
CREATE TABLE river_client (
    id text PRIMARY KEY NOT NULL,
    created_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    metadata blob NOT NULL DEFAULT (json('{}')),
    paused_at timestamp,
    updated_at timestamp NOT NULL,
    CONSTRAINT name_length CHECK (length(id) > 0 AND length(id) < 128)
);
CREATE TABLE river_client_queue (
    river_client_id text NOT NULL REFERENCES river_client (id) ON DELETE CASCADE,
    name text NOT NULL,
    created_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    max_workers integer NOT NULL DEFAULT 0,
    metadata blob NOT NULL DEFAULT (json('{}')),
    num_jobs_completed integer NOT NULL DEFAULT 0,
    num_jobs_running integer NOT NULL DEFAULT 0,
    updated_at timestamp NOT NULL,
    PRIMARY KEY (river_client_id, name),
    CONSTRAINT name_length CHECK (length(name) > 0 AND length(name) < 128),
    CONSTRAINT num_jobs_completed_zero_or_positive CHECK (num_jobs_completed >= 0),
    CONSTRAINT num_jobs_running_zero_or_positive CHECK (num_jobs_running >= 0)
);
CREATE TABLE river_job (
    id integer PRIMARY KEY, -- SQLite makes this autoincrementing automatically
    args blob NOT NULL DEFAULT '{}',
    attempt integer NOT NULL DEFAULT 0,
    attempted_at timestamp,
    attempted_by blob, -- json
    created_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    errors blob, -- json
    finalized_at timestamp,
    kind text NOT NULL,
    max_attempts integer NOT NULL,
    metadata blob NOT NULL DEFAULT (json('{}')),
    priority integer NOT NULL DEFAULT 1,
    queue text NOT NULL DEFAULT 'default',
    state text NOT NULL DEFAULT 'available',
    scheduled_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    tags blob NOT NULL DEFAULT (json('[]')),
    unique_key blob,
    unique_states integer,
    CONSTRAINT finalized_or_finalized_at_null CHECK (
        (finalized_at IS NULL AND state NOT IN ('cancelled', 'completed', 'discarded')) OR
        (finalized_at IS NOT NULL AND state IN ('cancelled', 'completed', 'discarded'))
    ),
    CONSTRAINT priority_in_range CHECK (priority >= 1 AND priority <= 4),
    CONSTRAINT queue_length CHECK (length(queue) > 0 AND length(queue) < 128),
    CONSTRAINT kind_length CHECK (length(kind) > 0 AND length(kind) < 128),
    CONSTRAINT state_valid CHECK (state IN ('available', 'cancelled', 'completed', 'discarded', 'pending', 'retryable', 'running', 'scheduled'))
);
INSERT INTO river_job VALUES(1,X'7b22736368656d615f76657273696f6e223a312c22757365725f6964223a312c2270726f7669646572223a226c697374656e627261696e7a222c226964656d706f74656e63795f6b6579223a2233333338376663373433663531333834393631383932343761633936396561353561376131326631636338643965623439616132623732376161306264316134227d',0,NULL,NULL,'2026-11-22 10:48:57.951',NULL,NULL,'submit_listens',5,'{"river:unique_nonce":"d144a31c01356c16"}',3,'listenbrainz_1','available','2026-11-22 10:48:57.951','[]',X'45b28d6ad5bd47f18ce77dccc87d54c7188478745fe6b04a9684652cefc29917',255);
INSERT INTO river_job VALUES(2,X'7b22736368656d615f76657273696f6e223a312c22757365725f6964223a312c2270726f7669646572223a226c697374656e627261696e7a222c226964656d706f74656e63795f6b6579223a2235346433353233626364653638306566666361343339343938396464653337646563333263383933653531333233303533666437623938333931303466373835227d',0,NULL,NULL,'2026-11-22 10:48:57.952',NULL,NULL,'submit_listens',5,'{"river:unique_nonce":"988dbd102b2991a7"}',3,'listenbrainz_1','available','2026-11-22 10:48:57.952','[]',X'09ed6b993364526c996fed1d5e1a676db29f3a9c270c516adc76837aba1022a9',255);
INSERT INTO river_job VALUES(3,X'7b22736368656d615f76657273696f6e223a312c22757365725f6964223a322c2270726f7669646572223a227333222c22726566223a22323032362d3131222c226964656d706f74656e63795f6b6579223a2233343234386335343630346265363631386636396435626339363430613635656535393037656663316430633939303233313735653930623266623939333665227d',0,NULL,NULL,'2026-11-22 10:48:57.955',NULL,NULL,'archive',5,'{"river:unique_nonce":"fce54b1d505cc318"}',3,'s3_2','available','2026-11-22 10:48:57.955','[]',X'0313b074f9d1d81f33f6d61911bb42952ff8b0a4498707fc9ac4191442dd92d8',251);
INSERT INTO river_job VALUES(4,X'7b22736368656d615f76657273696f6e223a312c22757365725f6964223a312c2270726f7669646572223a227333222c22726566223a227363686564756c6564222c226964656d706f74656e63795f6b6579223a2261333839623138323166303139656330363335623065366136643866353438353863313665316539343666333162366264346331313635653061396565363331227d',0,NULL,NULL,'2026-11-22 10:48:57.956',NULL,NULL,'archive',5,'{"river:unique_nonce":"77f8833178c54331"}',1,'s3_1','available','2026-11-22 10:48:57.956','[]',X'38a895692b9013bc73d9fc8eea91bf40a3f9d3ec37ca9725dec8b9e7659e017d',251);
INSERT INTO river_job VALUES(5,X'7b22736368656d615f76657273696f6e223a312c22757365725f6964223a312c2270726f7669646572223a227333222c22726566223a2272756e6e696e67222c226964656d706f74656e63795f6b6579223a2236386661333433313865643435663265343636323861363838313637343466393961373938333531343838653836663239626433386638613131353161373830227d',1,'2026-11-22 10:48:57.958',NULL,'2026-11-22 10:48:57.957',NULL,NULL,'archive',5,'{"river:unique_nonce":"690f97577f69608f"}',1,'s3_1','running','2026-11-22 10:48:57.957','[]',X'eed68d164ba28d35573560302c1b33c067eef097e1a2bfad053aacbba1d6fcbb',251);
INSERT INTO river_job VALUES(6,X'7b22736368656d615f76657273696f6e223a312c22757365725f6964223a312c2270726f7669646572223a227333222c22726566223a227265747279696e67222c226964656d706f74656e63795f6b6579223a2266393161356238656639393866343464343061653566313966303166373666336235663866623462343839356336306230346262363163616636393862646534227d',1,NULL,NULL,'2026-11-22 10:48:57.958',NULL,NULL,'archive',5,'{"river:unique_nonce":"f6d9f6a9acc424c4"}',1,'s3_1','retryable','2026-11-22 10:48:57.959','[]',X'5f25034ba6700d81902926f4509fcadedfabf32094dfd7556d9221a000f4720f',251);
INSERT INTO river_job VALUES(7,X'7b22736368656d615f76657273696f6e223a312c22757365725f6964223a312c2270726f7669646572223a227333222c22726566223a227061726b6564222c226964656d706f74656e63795f6b6579223a2262636436343139663638303537653033623434396339643039353236643231313532303238633139613661343239646439383530366138343836653964356265227d',0,NULL,NULL,'2026-11-22 10:48:57.959',NULL,NULL,'archive',5,'{"river:unique_nonce":"ffa12b016e54a593"}',1,'s3_1','scheduled','2300-01-01 00:00:00','[]',X'f141cb10c1a7e8aaadacb6407747528521ad86287f59024c8f2192f8cbcecd1a',251);
INSERT INTO river_job VALUES(8,X'7b22736368656d615f76657273696f6e223a312c22757365725f6964223a312c2270726f7669646572223a227333222c22726566223a2264656164222c226964656d706f74656e63795f6b6579223a2230376634646533323337623636393231663834623366653235623830386263383061343133623738663635303162313034613063326334376234333566363738227d',1,NULL,NULL,'2026-11-22 10:48:57.962',NULL,'2026-11-22 10:48:57.966','archive',5,'{"river:unique_nonce":"e0b2114133d85ab8"}',1,'s3_1','cancelled','2026-11-22 10:48:57.962','[]',X'f95380f32102a6bf4a31894635cc082884b810e0c9edff39e3c7dbccf3d73290',251);
INSERT INTO river_job VALUES(9,X'7b22736368656d615f76657273696f6e223a312c22757365725f6964223a312c2270726f7669646572223a227333222c22726566223a22646f6e65222c226964656d706f74656e63795f6b6579223a2231666262383963353033343932306464376631666638373466373533363731663731643863616433333264666564353135376637363438653235343962316264227d',1,NULL,NULL,'2026-11-22 10:48:57.967',NULL,'2026-11-22 10:48:57.968','archive',5,'{"river:unique_nonce":"d54bc59b71b0a92a"}',1,'s3_1','completed','2026-11-22 10:48:57.967','[]',X'c838d79e2c525937ac28edcc13158ef10555cb95b863dcc9e6a946a46637bc14',251);
INSERT INTO river_job VALUES(10,X'7b22736368656d615f76657273696f6e223a312c22757365725f6964223a322c2270726f7669646572223a226e61766964726f6d65222c22726566223a2233222c226964656d706f74656e63795f6b6579223a2263366336393138373534303666376430653361663865346162396665343632643266353331373434613433313764653864666635373832316237353565313135227d',0,NULL,NULL,'2026-11-22 10:48:57.968',NULL,NULL,'write_playlist',5,'{"river:unique_nonce":"295d4c1ab5b25423"}',1,'navidrome_2','available','2026-11-22 10:48:57.969','[]',X'af7af7059d019c1df2c21955808f16c7020539a7a79f7ed457a617d77fb62f35',251);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('goose_db_version',10);
CREATE INDEX sessions_expiry ON sessions (expires_at);
CREATE INDEX listens_newest ON listens (user_id, played_at, id);
CREATE INDEX listen_sources_listen ON listen_sources (listen_id);
CREATE INDEX notifications_open ON notifications (user_id, resolved_at);
CREATE INDEX deliveries_owner ON deliveries (user_id, provider, id);
CREATE INDEX forwards_delivery ON forwards (delivery_id);
CREATE INDEX forwards_owner ON forwards (user_id, provider, delivery_id);
CREATE INDEX imports_owner ON imports (user_id, id);
CREATE INDEX enrichment_due ON enrichment (source, due_at, entity_id);
CREATE INDEX enrichment_pictures ON enrichment (picture, failures, due_at) WHERE picture <> '';
CREATE INDEX enrichment_progress ON enrichment (source, state, failures, due_at);
CREATE INDEX listens_by_artist ON listens (user_id, artist, played_at);
CREATE INDEX runs_age ON runs (started_at);
CREATE INDEX activity_user ON activity (user_id, id);
CREATE INDEX channels_owner ON channels (user_id, id);
CREATE INDEX messages_waiting ON messages (channel_id, ended_at);
CREATE INDEX messages_notification ON messages (notification_id);
CREATE INDEX river_job_kind ON river_job (kind);
CREATE INDEX river_job_state_and_finalized_at_index ON river_job (state, finalized_at) WHERE finalized_at IS NOT NULL;
CREATE INDEX river_job_prioritized_fetching_index ON river_job (state, queue, priority, scheduled_at, id);
CREATE UNIQUE INDEX river_job_unique_idx ON river_job (unique_key)
    WHERE unique_key IS NOT NULL
        AND unique_states IS NOT NULL
        AND CASE state
            WHEN 'available' THEN unique_states & (1 << 0)
            WHEN 'cancelled' THEN unique_states & (1 << 1)
            WHEN 'completed' THEN unique_states & (1 << 2)
            WHEN 'discarded' THEN unique_states & (1 << 3)
            WHEN 'pending'   THEN unique_states & (1 << 4)
            WHEN 'retryable' THEN unique_states & (1 << 5)
            WHEN 'running'   THEN unique_states & (1 << 6)
            WHEN 'scheduled' THEN unique_states & (1 << 7)
            ELSE 0
        END >= 1;
COMMIT;
