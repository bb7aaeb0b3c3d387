package corrections_test

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/resilience"
	"reprise/internal/server/servertest"
)

// heardAt stores a listen of each title that a connection told of.
func heardAt(h *servertest.Household, conn library.ConnectionID, titles ...string) {
	h.T.Helper()
	var page []library.Listen
	for i, title := range titles {
		page = append(page, library.Listen{Track: library.Track{Title: title, Artist: "Sigur Rós"},
			SourceID: string(conn) + ":" + title, PlayedAt: time.Now().Add(-time.Duration(i+1) * time.Hour)})
	}
	_, err := h.DB.SaveListens(h.T.Context(), library.Intake{User: h.User, Connection: conn, Listens: page})
	require.NoError(h.T, err)
}

// listenIDs returns the ids of all listens, the newest first.
func listenIDs(h *servertest.Household) (ids []string) {
	for _, l := range h.Call(http.MethodGet, "/listens", "", http.StatusOK)["listens"].([]any) {
		ids = append(ids, l.(map[string]any)["id"].(string))
	}
	return ids
}

func TestProgramsDeleteAtAServiceToo(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		heardAt(h, "spotify", "Hoppípolla")
		heardAt(h, "listenbrainz", "Ára bátur", "Hoppípolla", "Glósóli")
		dry := h.Call(http.MethodPost, "/listens/delete", `{"artist":"Sigur Rós","dry_run":true}`, http.StatusOK)
		require.EqualValues(t, 4, dry["count"])
		require.ElementsMatch(t, []any{
			map[string]any{"connection": "listenbrainz", "listens": 3.0, "deletes": true, "history": nil},
			map[string]any{"connection": "spotify", "listens": 1.0, "deletes": false, "history": nil},
		}, dry["held_by"])

		first := "/listens/" + listenIDs(h)[0]
		h.Call(http.MethodDelete, first+"?there=spotify", "", http.StatusUnprocessableEntity)
		h.Call(http.MethodDelete, first+"?there=listenbrainz-2", "", http.StatusNotFound)
		h.Call(http.MethodPost, "/listens/delete", `{"artist":"Sigur Rós","there":["lastfm"]}`,
			http.StatusUnprocessableEntity)
		require.Len(t, listenIDs(h), 4, "what cannot be done as it was asked for is not done")

		made := h.Call(http.MethodDelete, first+"?there=listenbrainz", "", http.StatusOK)
		require.Equal(t, []any{map[string]any{"connection": "listenbrainz", "listens": 1.0, "accepted": 0.0}},
			made["there"])
		one := h.Only("kind=delete_listens")
		require.Equal(t, []any{"scheduled", "Delete Ára bátur by Sigur Rós at ListenBrainz", made["id"]},
			[]any{one["state"], one["subject"], one["ref"]})
		require.Contains(t, h.Page("/deliveries"), "1 deletion for")
		h.Carry()
		require.Equal(t, []string{"listenbrainz:Ára bátur"}, h.Far.Deleted)
		all := h.Call(http.MethodPost, "/listens/delete", `{"artist":"Sigur Rós","there":["listenbrainz"]}`,
			http.StatusOK)
		require.EqualValues(t, 3, all["count"])
		h.Carry()
		require.Len(t, h.Far.Deleted, 3, "one of the three was Spotify's alone")
		now := h.Call(http.MethodPost, "/corrections/"+made["id"].(string)+"/undo", "", http.StatusOK)
		require.Equal(t, []any{map[string]any{"connection": "listenbrainz", "listens": 1.0, "accepted": 1.0}},
			now["there"])
	})
}

func TestAPersonDeletesAtAServiceToo(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		heardAt(h, "listenbrainz", "Ára bátur", "Hoppípolla")
		heardAt(h, "lastfm", "Ára bátur")
		ask := "/listens/delete?listen=" + strings.Join(listenIDs(h), "&listen=")
		page := h.Page(ask)
		require.Contains(t, page, "Delete 2 listens at")
		require.Regexp(t, "Last.fm.* has no way for programs to delete listens", page)
		action := func() string {
			return html.UnescapeString(regexp.MustCompile(`action="(/listens/delete\?[^"]+)"`).
				FindStringSubmatch(h.Page(ask))[1])
		}
		h.Far.Fail(servertest.Answer(http.StatusUnauthorized, resilience.Auth, resilience.ScopeConnection, "No."))
		h.Submit(action(), http.StatusSeeOther, "there", "listenbrainz")
		require.Empty(t, listenIDs(h))
		h.Carry()
		require.Equal(t, "parked", h.Only("kind=delete_listens")["state"])
		require.Regexp(t, "2 deletions for .*ListenBrainz.* are waiting for you", h.Page("/deliveries"))
		require.Contains(t, h.Page("/corrections"), "2 listens will be deleted at")
		undo := regexp.MustCompile(`action="(/corrections/\d+/undo)"`).FindStringSubmatch(h.Page("/corrections"))
		h.Submit(undo[1], http.StatusSeeOther)
		require.NotContains(t, fmt.Sprint(h.Call(http.MethodGet, "/deliveries", "", http.StatusOK)["deliveries"]),
			"delete_listens", "what waited is taken back")

		h.Submit(action(), http.StatusSeeOther) // the box is not ticked
		h.Carry()
		require.Empty(t, h.Far.Deleted)
		require.Empty(t, h.Call(http.MethodGet, "/deliveries?kind=delete_listens", "", http.StatusOK)["deliveries"])
	})
}
