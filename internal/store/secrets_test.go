package store

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/oauth"
	"reprise/internal/settings"
	"reprise/internal/store/db"
)

func TestSealedTextsOpenOnlyInTheirPlace(t *testing.T) {
	t.Parallel()
	k := testKey(t, testSecret)
	sealed := k.Seal([]byte("a secret"), "facts.value.1")
	again := k.Seal([]byte("a secret"), "facts.value.1")
	require.NotEqual(t, sealed, again, "sealing is not deterministic")
	require.True(t, strings.HasPrefix(sealed, k.ID()+":"), "names its key")
	require.NotContains(t, sealed, "a secret")
	plain, err := k.Open(sealed, "facts.value.1")
	require.NoError(t, err)
	require.Equal(t, "a secret", string(plain))

	_, err = k.Open(sealed, "facts.value.2")
	require.EqualError(t, err, "open secret of facts.value.2: it was changed or moved")
	_, err = k.Open(sealed[:len(sealed)-4], "facts.value.1")
	require.Error(t, err)
	_, err = k.Open(k.ID()+":!", "facts.value.1")
	require.Error(t, err)
	for _, foreign := range []string{"", "a secret", "00000000:" + strings.Split(sealed, ":")[1]} {
		_, err = k.Open(foreign, "facts.value.1")
		require.ErrorIs(t, err, db.ErrWrongKey)
	}
	_, err = testKey(t, testSecret+"2").Open(sealed, "facts.value.1")
	require.ErrorIs(t, err, db.ErrWrongKey)
	plain, err = testKey(t, testSecret).Open(sealed, "facts.value.1")
	require.NoError(t, err)
	require.Equal(t, "a secret", string(plain))
}

// Phrases could be tried against a stolen backup, a million a second.
func TestAPhraseIsNoSecretKey(t *testing.T) {
	t.Parallel()
	made := db.NewSecret()
	for _, phrase := range []string{"", "correct horse battery staple", "a phrase of forty-four characters, like keys",
		strings.Repeat("0123456789abcdef", 4), made[:40], made + made, strings.TrimRight(made, "=")} {
		_, err := db.NewKey(phrase)
		require.ErrorIs(t, err, db.ErrNoKey, phrase)
	}
	key, err := db.NewKey(made)
	require.NoError(t, err)
	same, err := db.NewKey(" " + made + "\n")
	require.NoError(t, err, "the newline at the end of a file is not part of the key")
	require.Equal(t, key.ID(), same.ID())
	require.NotEqual(t, made, db.NewSecret())
}

func TestASecretOpensOnlyInItsPlace(t *testing.T) {
	t.Parallel()
	moves := map[string]string{
		"another user's row": "UPDATE connections SET credentials = (SELECT credentials FROM connections WHERE " +
			"user_id = 1 AND connection = 'spotify') WHERE user_id = 2",
		"another connection's": "UPDATE connections SET credentials = (SELECT credentials FROM connections WHERE " +
			"user_id = 1 AND connection = 'listenbrainz') WHERE user_id = 2",
		"the waiting one's": "UPDATE connections SET credentials = (SELECT credentials FROM pending_connections " +
			"WHERE user_id = 2) WHERE user_id = 2",
		"an earlier verifier": "UPDATE connections SET credentials = (SELECT verifier FROM oauth_states) WHERE " +
			"user_id = 2",
	}
	for name, move := range moves {
		s, alice := setup(t)
		bob := addUser(t, s, "Bob", accounts.Member)
		require.Equal(t, []int64{1, 2}, []int64{alice, bob})
		connect(t, s, alice, "spotify")
		connect(t, s, alice, "listenbrainz")
		connect(t, s, bob, "spotify")
		require.NoError(t, s.SavePending(t.Context(), connection(bob, "spotify")))
		require.NoError(t, s.SaveState(t.Context(), oauth.State{ID: "state", User: bob, Connection: "spotify",
			Verifier: `{"token":"x"}`}))
		_, err := s.Connection(t.Context(), bob, "spotify")
		require.NoError(t, err)
		_, err = s.Writer.Exec(move)
		require.NoError(t, err)
		_, err = s.Connection(t.Context(), bob, "spotify")
		require.EqualError(t, err, "open secret of connections.credentials.2.spotify: it was changed or moved", name)
	}
}

func TestNoSecretIsOnTheDiskInPlainText(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	dir := t.TempDir()
	s := openIn(t, dir)
	user := addUser(t, s, "Alice", accounts.Admin)
	secrets := []string{"the-access-token", "the-refresh-token", "the-app-password", "the-next-token",
		"the-waiting-token", "the-verifier", "the-session-token", "the-client-secret",
		testSecret}
	c := connection(user, "spotify")
	c.Credentials = library.Credentials{"access_token": secrets[0], "refresh_token": secrets[1],
		"password": secrets[2]}
	c, err := s.SaveConnection(t.Context(), c)
	require.NoError(t, err)
	c.Credentials = library.Credentials{"access_token": secrets[3]}
	require.NoError(t, renewed(t.Context(), s, c))
	c.Credentials = library.Credentials{"access_token": secrets[4]}
	require.NoError(t, s.SavePending(t.Context(), c))
	require.NoError(t, s.SaveState(t.Context(), oauth.State{ID: "x", User: user, Connection: "spotify",
		Verifier: secrets[5], CreatedAt: at(0)}))
	require.NoError(t, s.Sessions().Commit(secrets[6], []byte("session data"), time.Now().Add(time.Hour)))

	require.NoError(t, s.SaveSettings(t.Context(), []settings.Stored{
		{Path: "providers.spotify.client_secret", Value: secrets[7], Secret: true}}, nil))

	requireNone := func(when string) {
		for name, content := range snapshot(t, dir) {
			require.NotEmpty(t, content)
			for _, secret := range secrets {
				require.False(t, strings.Contains(content, secret), "%s in %s %s", secret, name, when)
			}
		}
	}
	require.Contains(t, snapshot(t, dir)[db.FileName+"-wal"], "spotify", "the write-ahead log has the data")
	requireNone("while open")
	for _, column := range []string{"credentials FROM connections", "credentials FROM pending_connections",
		"verifier FROM oauth_states", "value FROM facts", "sealed FROM settings"} {
		var sealed string
		require.NoError(t, s.Reader.QueryRow("SELECT "+column).Scan(&sealed))
		require.True(t, strings.HasPrefix(sealed, s.Key.ID()+":"), "%s names its key", column)
	}
	require.NoError(t, s.Close())
	require.Contains(t, snapshot(t, dir)[db.FileName], "spotify")
	requireNone("when closed")
}
