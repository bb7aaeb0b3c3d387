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
