package connections_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/players"
	"reprise/internal/server/servertest"
	syncer "reprise/internal/sync"
)

func TestProgramsOperateAConnection(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		named := h.Call(http.MethodPatch, "/connections/navidrome", `{"name":"Home"}`, http.StatusOK)
		require.Equal(t, "Home", named["display_name"])
		require.Equal(t, "paused", h.Call(http.MethodPost, "/connections/navidrome/pause", "",
			http.StatusAccepted)["state"])
		h.Call(http.MethodPost, "/connections/navidrome/sync", "", http.StatusConflict)
		for _, action := range []string{"resume", "retry", "sync"} {
			h.Call(http.MethodPost, "/connections/navidrome/"+action, "", http.StatusAccepted)
		}
		made := h.Call(http.MethodPut, "/connections/navidrome-2", `{"name":"Attic"}`, http.StatusOK)
		require.Equal(t, "Attic", made["display_name"])
		require.Len(t, h.Call(http.MethodGet, "/connections", "", http.StatusOK)["connections"], 6)
		h.Call(http.MethodDelete, "/connections/navidrome-2", "", http.StatusNoContent)
		require.Len(t, h.Call(http.MethodGet, "/connections", "", http.StatusOK)["connections"], 5)
		require.Equal(t, "Home", h.Call(http.MethodGet, "/connections/navidrome", "", http.StatusOK)["display_name"])
		require.Empty(t, h.Call(http.MethodGet, "/connections/navidrome/runs", "", http.StatusOK)["runs"])
	})
}

// A server that says nothing of plays says so until a player of its person has sent some.
func TestTheAdviceToAddAPlayerEnds(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		ctx, c := t.Context(), library.ConnectionID("spotify") // which reads listens here
		require.NoError(t, h.DB.SavePosition(ctx, h.User, c, library.Listens, library.NotOffered, syncer.AddPlayer))
		note := func() any { return h.Call(http.MethodGet, "/connections/spotify", "", http.StatusOK)["note"] }
		require.Contains(t, note(), "This server doesn't say what was played on it.")
		p, err := h.DB.AddPlayer(ctx, players.Player{User: h.User, Name: "Phone", Kind: players.Any},
			players.NewSecret(), 5)
		require.NoError(t, err)
		require.NotNil(t, note(), "it has not sent anything")
		_, err = h.DB.TakePlays(ctx, p, []library.Listen{{PlayedAt: time.Now().Add(-time.Minute),
			Track: library.Track{Title: "Rain", Artist: "The Beatles"}}})
		require.NoError(t, err)
		require.Nil(t, note())
	})
}
