package store

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/postgrestest"
)

// linkStore returns a store with an administrator, and what makes and redeems links in it.
func linkStore(t testing.TB) (*Store, *accounts.Links, int64) {
	t.Helper()
	s, admin := setup(t)
	a := accounts.New(s, 2)
	return s, accounts.NewLinks(s, a), admin
}

func TestAnInvitationWorksOnce(t *testing.T) {
	t.Parallel()
	s, links, admin := linkStore(t)
	l, code, err := links.Invite(t.Context(), admin, " Bob ", accounts.Member)
	require.NoError(t, err)
	require.NotContains(t, l.Hash, code)
	require.Zero(t, number(t, s, "SELECT count(*) FROM links WHERE hash = $1", code), "the code is not stored")
	hash := accounts.HashToken(code)
	for range 3 { // a preview of the link is no use of it
		found, err := links.Find(t.Context(), accounts.Invitation, hash)
		require.NoError(t, err)
		require.Equal(t, "Bob", found.Name)
	}
	_, err = links.Find(t.Context(), accounts.Reset, hash)
	require.ErrorIs(t, err, accounts.ErrLink)
	_, err = links.Join(t.Context(), hash, "Robert", "short")
	require.ErrorAs(t, err, new(accounts.InputError))
	_, err = links.Join(t.Context(), hash, "alice", "a good password")
	require.ErrorIs(t, err, accounts.ErrTaken)
	u, err := links.Join(t.Context(), hash, "Robert", "a good password")
	require.NoError(t, err, "what was mistyped did not use it up")
	require.Equal(t, accounts.Member, u.Role)
	_, err = links.Join(t.Context(), hash, "Carol", "a good password")
	require.ErrorIs(t, err, accounts.ErrLink)
	all, err := s.Users(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
}

func TestALinkEndsByItself(t *testing.T) {
	t.Parallel()
	if postgrestest.On() {
		t.Skip("a real server does not live in a bubble")
	}
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := openIn(t, dir)
		admin := addUser(t, s, "Alice", accounts.Admin)
		a := accounts.New(s, 2)
		links := accounts.NewLinks(s, a)
		_, invitation, err := links.Invite(t.Context(), admin, "", accounts.Member)
		require.NoError(t, err)
		_, reset, err := links.Reset(t.Context(), admin, admin)
		require.NoError(t, err)
		time.Sleep(accounts.ResetLife)
		_, err = links.Choose(t.Context(), accounts.HashToken(reset), "a good password")
		require.ErrorIs(t, err, accounts.ErrLink)
		time.Sleep(accounts.InvitationLife - accounts.ResetLife - time.Second)
		_, err = links.Find(t.Context(), accounts.Invitation, accounts.HashToken(invitation))
		require.NoError(t, err)
		time.Sleep(time.Second)
		_, err = links.Join(t.Context(), accounts.HashToken(invitation), "Bob", "a good password")
		require.ErrorIs(t, err, accounts.ErrLink)
		require.NoError(t, s.Tidy(t.Context()))
		require.Zero(t, number(t, s, "SELECT count(*) FROM links"))
	})
}

func TestAResetEndsWithTheNextPassword(t *testing.T) {
	t.Parallel()
	s, links, admin := linkStore(t)
	bob := addUser(t, s, "Bob", accounts.Member)
	_, first, err := links.Reset(t.Context(), admin, bob)
	require.NoError(t, err)
	l, second, err := links.Reset(t.Context(), admin, bob)
	require.NoError(t, err)
	require.Equal(t, "Bob", l.Name)
	_, err = links.Choose(t.Context(), accounts.HashToken(first), "a good password")
	require.ErrorIs(t, err, accounts.ErrLink, "the newer one takes its place")
	u, err := links.Choose(t.Context(), accounts.HashToken(second), "a good password")
	require.NoError(t, err)
	require.Equal(t, bob, u.ID)
	_, err = links.Choose(t.Context(), accounts.HashToken(second), "a better password")
	require.ErrorIs(t, err, accounts.ErrLink)

	_, third, err := links.Reset(t.Context(), admin, bob)
	require.NoError(t, err)
	require.NoError(t, s.SetPassword(t.Context(), bob, "hash"))
	_, err = links.Choose(t.Context(), accounts.HashToken(third), "a good password")
	require.ErrorIs(t, err, accounts.ErrLink, "Bob has chosen one meanwhile")
	_, _, err = links.Reset(t.Context(), admin, 99)
	require.ErrorIs(t, err, accounts.ErrUnknown)
}

// A former administrator must not come back by an invitation of their own.
func TestAFormerAdministratorsLinksEnd(t *testing.T) {
	t.Parallel()
	s, links, admin := linkStore(t)
	for _, end := range []string{"demoted", "removed"} {
		bob := addUser(t, s, "Bob", accounts.Admin)
		_, code, err := links.Invite(t.Context(), bob, "Bob again", accounts.Admin)
		require.NoError(t, err)
		_, kept, err := links.Invite(t.Context(), admin, "", accounts.Member)
		require.NoError(t, err)
		if end == "demoted" {
			_, err = s.SetRole(t.Context(), bob, accounts.Member)
			require.NoError(t, err)
		}
		_, err = s.BeginRemoval(t.Context(), bob)
		require.NoError(t, err)
		_, err = links.Join(t.Context(), accounts.HashToken(code), "Bob", "a good password")
		require.ErrorIs(t, err, accounts.ErrLink, end)
		_, err = links.Find(t.Context(), accounts.Invitation, accounts.HashToken(kept))
		require.NoError(t, err)
	}
}

func TestInvitationsCanBeTakenBack(t *testing.T) {
	t.Parallel()
	s, links, admin := linkStore(t)
	l, code, err := links.Invite(t.Context(), admin, "", accounts.Member)
	require.NoError(t, err)
	open, err := s.Invitations(t.Context())
	require.NoError(t, err)
	require.Equal(t, l.ID, open[0].ID)
	for _, want := range []bool{true, false} {
		there, err := s.DeleteInvitation(t.Context(), l.ID)
		require.NoError(t, err)
		require.Equal(t, want, there)
	}
	_, err = links.Join(t.Context(), accounts.HashToken(code), "Bob", "a good password")
	require.ErrorIs(t, err, accounts.ErrLink)
	for range 100 {
		_, _, err = links.Invite(t.Context(), admin, "", accounts.Member)
		require.NoError(t, err)
	}
	_, _, err = links.Invite(t.Context(), admin, "", accounts.Member)
	require.ErrorAs(t, err, new(accounts.InputError))
}
