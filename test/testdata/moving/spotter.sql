CREATE TABLE users (id integer PRIMARY KEY, username text NOT NULL);
CREATE TABLE listens (id integer PRIMARY KEY, track_name text NOT NULL, artist_name text NOT NULL, album_name text NOT NULL,
  source text NOT NULL, played_at datetime NOT NULL, url text, user_listens integer NOT NULL);
INSERT INTO listens VALUES (1, 'Glass, Half', 'Odd Lot', 'Ledger', 'navidrome', '2026-11-19 08:30:00+00:00', NULL, 1);
INSERT INTO listens VALUES (2, 'Carry', 'Odd Lot', 'Ledger', 'spotify', '2026-11-19 09:35:30.5+01:00', NULL, 1);
