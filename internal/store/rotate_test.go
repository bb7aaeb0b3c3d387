package store

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/oauth"
	"reprise/internal/players"
	"reprise/internal/postgrestest"
	"reprise/internal/settings"
	"reprise/internal/store/db"
)

// sealEverything stores a secret with each method that seals one.
func sealEverything(t testing.TB, s *Store, user int64) {
	t.Helper()
	connect(t, s, user, "spotify")
	connect(t, s, user, "navidrome")
	require.NoError(t, s.SavePending(t.Context(), connection(user, "spotify")))
	_, err := s.AddChannel(t.Context(), notify.Channel{User: user, Kind: "ntfy", URL: "ntfy://ntfy.sh/topic",
		Wishes: notify.DefaultWishes()})
	require.NoError(t, err)
	_, err = s.Vapid(t.Context(), func() (string, error) { return "a signing key", nil })
	require.NoError(t, err)
	require.NoError(t, s.SaveState(t.Context(), oauth.State{ID: "a.state", User: user, Connection: "spotify",
		Verifier: "verifier", CreatedAt: at(0)}))
	require.NoError(t, s.KeepAnswer(t.Context(), user, "a.key", []byte("a new token")))
	_, err = s.AddPlayer(t.Context(), players.Player{User: user, Name: "Old", Kind: players.AudioScrobbler},
		players.NewSecret(), 1)
	require.NoError(t, err)
	_, err = s.AddLink(t.Context(), accounts.Link{Kind: accounts.Invitation, Hash: accounts.HashToken("a code"),
		Code: "a code", Role: accounts.Member, ExpiresAt: time.Now().Add(time.Hour)}, 1)
	require.NoError(t, err)
	require.NoError(t, s.KeepShare(t.Context(), library.Share{User: user, Kind: library.ShareYear, Subject: "2025",
		Code: "another code", Hash: accounts.HashToken("another code")}))
	_, err = s.AddFactor(t.Context(), accounts.Factor{User: user, Kind: accounts.Codes, Secret: []byte("a key")})
	require.NoError(t, err)
	_, err = s.AddComparison(t.Context(), library.Comparison{User: user, Link: "https://zoe.example.org/compare/A#B"})
	require.NoError(t, err)
	grant, err := s.AddGrant(t.Context(), accounts.Grant{Token: "to ask with"})
	require.NoError(t, err)
	require.NoError(t, s.OwnGrant(t.Context(), grant, user, false))
	require.NoError(t, s.SaveSettings(t.Context(), []settings.Stored{
		{Path: "providers.spotify.client_secret", Value: "a client secret", Secret: true}}, nil))
}

func TestEverySealedColumnIsListed(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	sealEverything(t, s, user)
	scan := func(r db.Scanner) (name string, err error) { return name, r.Scan(&name) }
	all := `SELECT m.name || '.' || c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c
		WHERE m.type = 'table' AND c.type NOT IN ('INTEGER', 'BIGINT')`
	if postgrestest.On() {
		all = "SELECT table_name || '.' || column_name FROM information_schema.columns WHERE table_schema = " +
			"current_schema() AND data_type <> 'bigint'"
	}
	columns, err := db.List(t.Context(), s.Reader, scan, all)
	require.NoError(t, err)
	require.Greater(t, len(columns), 50)
	var sealed, listed []string
	for _, column := range columns {
		table, name := filepath.Ext("." + column[:len(column)-len(filepath.Ext(column))])[1:],
			filepath.Ext(column)[1:]
		if number(t, s, fmt.Sprintf("SELECT count(*) FROM %s WHERE CAST(%s AS TEXT) LIKE $1", table, name),
			s.Key.ID()+":%") > 0 {
			sealed = append(sealed, column)
		}
	}
	for _, c := range db.SealedColumns {
		listed = append(listed, c.Table+"."+c.Column)
	}
	require.ElementsMatch(t, listed, sealed,
		"sealed columns; each one needs a secret in sealEverything")
	require.PanicsWithValue(t,
		"store: the column of users.name.1 has to be listed in sealedColumns before anything is sealed for it",
		func() { s.Key.Seal([]byte("x"), "users.name.1") })
}

func TestRotateSealsEverySecretWithTheNewKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openIn(t, dir)
	user := addUser(t, s, "Alice", accounts.Admin)
	sealEverything(t, s, user)
	require.NoError(t, s.Exec(t.Context(), "INSERT INTO facts (name, value) VALUES ('open', 'not a secret')"))
	next := testKey(t, "another-key-of-the-tests")
	n, err := s.Rotate(t.Context(), next)
	require.NoError(t, err)
	require.Equal(t, 15, n)
	require.NoError(t, s.Close())
	if !postgrestest.On() {
		b, err := os.ReadFile(filepath.Join(dir, db.FileName))
		require.NoError(t, err)
		require.NotContains(t, string(b), s.Key.ID()+":", "the file has no text that the old key opens")
	}

	_, err = Open(t.Context(), in(t, dir), s.Key, Options{})
	require.ErrorIs(t, err, db.ErrWrongKey)
	again, err := Open(t.Context(), in(t, dir), next, Options{})
	require.NoError(t, err)
	defer again.Close()
	for _, conn := range []library.ConnectionID{"spotify", "navidrome"} {
		c, err := again.Connection(t.Context(), user, conn)
		require.NoError(t, err)
		require.Equal(t, library.Credentials{"token": "credential-of-" + string(conn)}, c.Credentials)
	}
	waiting, err := again.Pending(t.Context(), user, "spotify")
	require.NoError(t, err)
	require.Equal(t, library.Credentials{"token": "credential-of-spotify"}, waiting.Credentials)
	state, err := again.TakeState(t.Context(), oauth.State{ID: "a.state", User: user})
	require.NoError(t, err)
	require.Equal(t, "verifier", state.Verifier)
	codes, err := again.Factors(t.Context(), user)
	require.NoError(t, err)
	require.Equal(t, "a key", string(codes[0].Secret))
	links, err := again.Invitations(t.Context())
	require.NoError(t, err)
	require.Equal(t, "a code", links[0].Code)
	year, err := again.Share(t.Context(), user, library.ShareYear, "2025")
	require.NoError(t, err)
	require.Equal(t, "another code", year.Code)
	require.Equal(t, 1, number(t, again, "SELECT count(*) FROM facts WHERE value = 'not a secret'"))
}

func TestRotateIsAtomic(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	sealEverything(t, s, user)
	good := number(t, s, "SELECT count(*) FROM connections WHERE credentials LIKE $1", s.Key.ID()+":%")
	// Rotating the last column fails, because its secret was moved there.
	require.NoError(t, s.Exec(t.Context(),
		"UPDATE oauth_states SET verifier = (SELECT credentials FROM connections LIMIT 1)"))
	_, err := s.Rotate(t.Context(), testKey(t, "another-key-of-the-tests"))
	require.EqualError(t, err, "open secret of oauth_states.verifier.a.state: it was changed or moved")
	require.Equal(t, good, number(t, s, "SELECT count(*) FROM connections WHERE credentials LIKE $1", s.Key.ID()+":%"))
	_, err = s.Connection(t.Context(), user, "spotify")
	require.NoError(t, err)
	require.NoError(t, s.CheckKey(t.Context()))
}

// The key is lost: what it sealed goes, and nothing else.
func TestForgettingDropsOnlyWhatIsSealed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openIn(t, dir)
	user := addUser(t, s, "Alice", accounts.Admin)
	sealEverything(t, s, user)
	require.NoError(t, s.Exec(t.Context(), "INSERT INTO facts (name, value) VALUES ('open', 'not a secret')"))
	save(t, s, user, "spotify", track("A", 1))
	codes, err := s.Factors(t.Context(), user)
	require.NoError(t, err)
	require.NoError(t, s.ConfirmCodes(t.Context(), user, codes[0].ID, 10, []string{"one"}))
	_, err = s.AddFactor(t.Context(), accounts.Factor{User: user, Kind: accounts.Passkey, Credential: "abc",
		Secret: []byte("public"), Confirmed: true})
	require.NoError(t, err)
	before := map[string]int{}
	for table := range schema(t, s) {
		before[table] = number(t, s, "SELECT count(*) FROM "+table)
	}
	require.NoError(t, s.Close())
	key, kept := testKey(t, "another-key-of-the-tests"), filepath.Join(dir, "before.bak")
	if postgrestest.On() {
		kept = ""
	}
	forgotten, err := ForgetSecrets(t.Context(), in(t, dir), key, kept)
	require.NoError(t, err)
	require.Equal(t, Forgotten{Connections: 2, Channels: 1, SecondSteps: 1, Passkeys: 1}, forgotten)
	forgotten, err = ForgetSecrets(t.Context(), in(t, dir), key, "")
	require.NoError(t, err)
	require.Zero(t, forgotten, "may be repeated")
	if kept != "" {
		b, err := os.ReadFile(kept)
		require.NoError(t, err)
		require.Contains(t, string(b), s.Key.ID()+":", "the copy has everything")
		b, err = os.ReadFile(filepath.Join(dir, db.FileName))
		require.NoError(t, err)
		require.NotContains(t, string(b), s.Key.ID()+":")
	}

	again, err := Open(t.Context(), in(t, dir), key, Options{})
	require.NoError(t, err)
	defer again.Close()
	// Of facts, the key for pushes.
	gone := map[string]int{"facts": 1, "pending_connections": 1, "oauth_states": 1, "answers": 1, "settings": 1,
		"factors": 2, "recovery_codes": 1, "grants": 1}
	for table, n := range before {
		require.Equal(t, n-gone[table], number(t, again, "SELECT count(*) FROM "+table), table)
	}
	all, err := again.Connections(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
	for _, c := range all {
		require.Empty(t, c.Credentials)
		require.Equal(t, "alice", c.Account)
	}
	lost, err := again.LostChannels(t.Context())
	require.NoError(t, err)
	require.Len(t, lost, 1)
	require.Equal(t, notify.AddressLost(), lost[0].Reason)
	require.False(t, lost[0].StoppedAt.IsZero())
	require.Equal(t, 1, number(t, again, "SELECT count(*) FROM facts WHERE value = 'not a secret'"))
}
