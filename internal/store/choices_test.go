package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
)

func TestChoicesOfAPersonAreKept(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	u, err := s.AddUser(t.Context(), accounts.User{Name: "Ann", Role: accounts.Admin}, true)
	require.NoError(t, err)
	require.Zero(t, u.Choices, "the browser's at first")
	want := accounts.Choices{Language: "de", Zone: "Europe/Berlin", Theme: accounts.Dark}
	require.NoError(t, s.SetChoices(t.Context(), u.ID, want))
	u, err = s.UserByName(t.Context(), "ann")
	require.NoError(t, err)
	require.Equal(t, want, u.Choices)
}

func TestSharersAreThoseWhoWantToBe(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	names := func() (all []string) {
		sharers, err := s.Sharers(t.Context())
		require.NoError(t, err)
		for _, u := range sharers {
			all = append(all, u.Name)
		}
		return all
	}
	id := map[string]int64{}
	for _, name := range []string{"Zoe", "ann", "Ben"} {
		u, err := s.AddUser(t.Context(), accounts.User{Name: name, Role: accounts.Admin}, false)
		require.NoError(t, err)
		id[name] = u.ID
		require.False(t, u.SharesListening)
	}
	require.Empty(t, names(), "nobody at first")
	for _, name := range []string{"Zoe", "ann"} {
		require.NoError(t, s.ShareListening(t.Context(), id[name], true))
	}
	require.Equal(t, []string{"ann", "Zoe"}, names())
	u, err := s.Sharer(t.Context(), " ANN ")
	require.NoError(t, err)
	require.Equal(t, id["ann"], u.ID)
	require.True(t, u.SharesListening)
	for _, name := range []string{"Ben", "Cid", ""} {
		_, err = s.Sharer(t.Context(), name)
		require.ErrorIs(t, err, accounts.ErrUnknown, name)
	}
	require.NoError(t, s.ShareListening(t.Context(), id["ann"], false))
	_, err = s.Sharer(t.Context(), "ann")
	require.ErrorIs(t, err, accounts.ErrUnknown)
	_, err = s.BeginRemoval(t.Context(), id["Zoe"])
	require.NoError(t, err)
	require.Empty(t, names())
}
