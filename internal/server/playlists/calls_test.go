package playlists_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/server/servertest"
)

func TestOnlyWhoHasNoServiceIsSentToConnectOne(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	require.NotContains(t, h.Page("/playlists"), "Connect a service", "its playlists will appear")
	h.As(h.Other("Ben"))
	require.Contains(t, h.Page("/playlists"), "Connect a service")
}

func TestProgramsReadPlaylists(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		list := h.Playlist("Rain", "One", "Two")
		require.Len(t, h.Call(http.MethodGet, "/playlists/"+list, "", http.StatusOK)["tracks"], 2)
		require.Len(t, h.Call(http.MethodGet, "/playlists", "", http.StatusOK)["playlists"], 1)
	})
}
