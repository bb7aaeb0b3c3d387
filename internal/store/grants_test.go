package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
)

// A grant is asked with while its session goes on, by one server at a time; its secret is stored sealed.
func TestGrantsBelongToTheirSessions(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	sessions, ctx := s.Sessions(), t.Context()
	soon := time.Now().Add(time.Minute)
	id, err := s.AddGrant(ctx, accounts.Grant{Issuer: "https://auth.example.org", Subject: "1", Token: "one"})
	require.NoError(t, err)
	due := func() []accounts.DueGrant {
		all, err := s.DueGrants(ctx, soon)
		require.NoError(t, err)
		return all
	}
	require.Empty(t, due(), "nobody is signed in yet")
	require.NoError(t, s.OwnGrant(ctx, id, user, false))
	require.NoError(t, sessions.Commit("token", []byte("x"), time.Now().Add(time.Hour)))
	require.NoError(t, sessions.Use(ctx, "token", user, accounts.Session{Agent: "Firefox on Linux", Grant: id}, 0))
	d := due()[0]
	require.Equal(t, []any{user, "one", "Firefox on Linux"}, []any{d.User, d.Token, d.Session.Agent})
	all, err := sessions.Of(ctx, user)
	require.NoError(t, err)
	require.Equal(t, all[0].ID, d.Session.ID)
	for _, first := range []bool{true, false} {
		time.Sleep(2 * time.Millisecond) // the time of asking differs
		taken, err := s.TakeGrant(ctx, d)
		require.NoError(t, err)
		require.Equal(t, first, taken)
	}
	d.Token = "two"
	require.NoError(t, s.KeepGrant(ctx, id, d.Grant))
	require.Equal(t, "two", due()[0].Token)
	require.Zero(t, number(t, s, "SELECT count(*) FROM grants WHERE secret LIKE '%two%'"))

	// one that can't be opened keeps no other from being asked about
	broken, err := s.AddGrant(ctx, accounts.Grant{Issuer: "https://auth.example.org", Subject: "2", Token: "three"})
	require.NoError(t, err)
	require.NoError(t, s.OwnGrant(ctx, broken, user, false))
	require.NoError(t, sessions.Commit("broken", []byte("x"), time.Now().Add(time.Hour)))
	require.NoError(t, sessions.Use(ctx, "broken", user, accounts.Session{Grant: broken}, 0))
	_, err = s.Writer.ExecContext(ctx, "UPDATE grants SET secret = 'x' WHERE id = $1", broken)
	require.NoError(t, err)
	others, err := s.DueGrants(ctx, soon)
	require.Error(t, err)
	require.Len(t, others, 1)
	_, err = s.EndGrant(ctx, broken)
	require.NoError(t, err)

	for _, there := range []bool{true, false} {
		ended, err := s.EndGrant(ctx, id)
		require.NoError(t, err)
		require.Equal(t, there, ended)
	}
	_, ok, err := sessions.Find("token")
	require.NoError(t, err)
	require.False(t, ok)
	taken, err := s.TakeGrant(ctx, d)
	require.NoError(t, err)
	require.False(t, taken)

	// a session that got another token just then ends, too
	require.NoError(t, sessions.Commit("another token", []byte("x"), time.Now().Add(time.Hour)))
	require.NoError(t, sessions.Use(ctx, "another token", user, accounts.Session{Grant: id}, 50))
	_, ok, err = sessions.Find("another token")
	require.NoError(t, err)
	require.False(t, ok)

	// what no session has goes after a while
	_, err = s.AddGrant(ctx, accounts.Grant{Token: "three"})
	require.NoError(t, err)
	require.NoError(t, s.Tidy(ctx))
	require.Equal(t, 1, number(t, s, "SELECT count(*) FROM grants"))
	require.NoError(t, s.Exec(ctx, "UPDATE grants SET asked_at = 1"))
	require.NoError(t, s.Tidy(ctx))
	require.Zero(t, number(t, s, "SELECT count(*) FROM grants"))
}
