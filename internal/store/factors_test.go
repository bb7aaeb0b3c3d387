package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/library"
)

// Two servers check the same code at once: one of them takes it.
func TestACodeIsUsedOnce(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	first, err := s.AddFactor(t.Context(), accounts.Factor{User: user, Kind: accounts.Codes, Secret: []byte("a key")})
	require.NoError(t, err)
	f, err := s.AddFactor(t.Context(), accounts.Factor{User: user, Kind: accounts.Codes, Secret: []byte("another")})
	require.NoError(t, err)
	require.ErrorIs(t, s.ConfirmCodes(t.Context(), user, first.ID, 10, nil), library.ErrNotFound,
		"another key took its place")
	require.NoError(t, s.ConfirmCodes(t.Context(), user, f.ID, 10, []string{"one", "two"}))
	require.ErrorIs(t, s.ConfirmCodes(t.Context(), user, f.ID, 10, []string{"three"}), library.ErrNotFound,
		"there's one list of recovery codes")
	all, err := s.Factors(t.Context(), user)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, "another", string(all[0].Secret))
	for step, want := range map[int64]bool{9: false, 10: false} {
		fresh, err := s.UseStep(t.Context(), f.ID, step)
		require.NoError(t, err)
		require.Equal(t, want, fresh, step)
	}
	taken := make(chan bool)
	for range 8 {
		go func() {
			fresh, err := s.UseStep(t.Context(), f.ID, 11)
			taken <- err == nil && fresh
		}()
	}
	n := 0
	for range 8 {
		if <-taken {
			n++
		}
	}
	require.Equal(t, 1, n)

	left, err := s.UseRecovery(t.Context(), user, "one")
	require.NoError(t, err)
	require.Equal(t, 1, left)
	_, err = s.UseRecovery(t.Context(), user, "one")
	require.ErrorIs(t, err, accounts.ErrWrong)
	_, err = s.UseRecovery(t.Context(), user+1, "two")
	require.ErrorIs(t, err, accounts.ErrWrong, "of somebody else")
	was, err := s.RemoveCodes(t.Context(), user)
	require.NoError(t, err)
	require.True(t, was)
	_, err = s.UseRecovery(t.Context(), user, "two")
	require.ErrorIs(t, err, accounts.ErrWrong)
	was, err = s.RemoveCodes(t.Context(), user)
	require.NoError(t, err)
	require.False(t, was)
}

// works has the issuer "here" set up, and passkeys work but for those that say "elsewhere".
var works = accounts.Works{Issuers: []string{"here"}, Passkey: func(secret []byte) bool {
	return string(secret) != "elsewhere"
}}

// A passkey belongs to one person; the only way in stays.
func TestPasskeysAreKept(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	alone, err := s.AddUser(t.Context(), accounts.User{Name: "Without", Role: accounts.Member, CreatedAt: time.Now()},
		false)
	require.NoError(t, err)
	passkey := accounts.Factor{User: alone.ID, Kind: accounts.Passkey, Name: "Phone", Credential: "abc",
		Secret: []byte("public"), Confirmed: true}
	f, err := s.AddFactor(t.Context(), passkey)
	require.NoError(t, err)
	passkey.User = user
	_, err = s.AddFactor(t.Context(), passkey)
	require.ErrorIs(t, err, accounts.ErrTaken)
	require.NoError(t, s.UsePasskey(t.Context(), f, []byte("counted")))
	require.ErrorIs(t, s.UsePasskey(t.Context(), f, []byte("copied")), library.ErrNotFound, "it was used since")
	found, err := s.FactorByCredential(t.Context(), "abc")
	require.NoError(t, err)
	require.Equal(t, []any{alone.ID, "counted"}, []any{found.User, string(found.Secret)})
	require.False(t, found.UsedAt.IsZero())
	_, err = s.FactorByCredential(t.Context(), "")
	require.ErrorIs(t, err, library.ErrNotFound)
	require.ErrorIs(t, s.RenameFactor(t.Context(), user, f.ID, "Mine"), library.ErrNotFound)
	require.NoError(t, s.RenameFactor(t.Context(), alone.ID, f.ID, "Tablet"))
	require.ErrorIs(t, s.RemoveFactor(t.Context(), user, f.ID, works), library.ErrNotFound)
	require.ErrorIs(t, s.RemoveFactor(t.Context(), alone.ID, f.ID, works), accounts.ErrLastWay)
	all, err := s.Factors(t.Context(), alone.ID)
	require.NoError(t, err)
	require.Equal(t, "Tablet", all[0].Name)
	require.NoError(t, s.SetPassword(t.Context(), alone.ID, "-"))
	require.NoError(t, s.RemoveFactor(t.Context(), alone.ID, f.ID, works))

	for i := range accounts.MostPasskeys {
		_, err = s.AddFactor(t.Context(), accounts.Factor{User: user, Kind: accounts.Passkey,
			Credential: string(rune('a' + i)), Confirmed: true})
		require.NoError(t, err)
	}
	_, err = s.AddFactor(t.Context(), accounts.Factor{User: user, Kind: accounts.Passkey, Credential: "more"})
	require.ErrorAs(t, err, new(accounts.InputError))
}
