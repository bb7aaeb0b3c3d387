package server

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
)

// heardAt stores a listen of each title that a connection told of.
func (h *household) heardAt(conn library.ConnectionID, titles ...string) {
	h.t.Helper()
	var page []library.Listen
	for i, title := range titles {
		page = append(page, library.Listen{Track: library.Track{Title: title, Artist: "Sigur Rós"},
			SourceID: string(conn) + ":" + title, PlayedAt: time.Now().Add(-time.Duration(i+1) * time.Hour)})
	}
	_, err := h.db.SaveListens(h.t.Context(), library.Intake{User: h.user, Connection: conn, Listens: page})
	require.NoError(h.t, err)
}

// listenIDs returns the ids of all listens, the newest first.
func (h *household) listenIDs() (ids []string) {
	for _, l := range h.call(http.MethodGet, "/listens", "", http.StatusOK)["listens"].([]any) {
		ids = append(ids, l.(map[string]any)["id"].(string))
	}
	return ids
}

func TestProgramsDeleteAtAServiceToo(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		h.heardAt("spotify", "Hoppípolla")
		h.heardAt("listenbrainz", "Ára bátur", "Hoppípolla", "Glósóli")
		dry := h.call(http.MethodPost, "/listens/delete", `{"artist":"Sigur Rós","dry_run":true}`, http.StatusOK)
		require.EqualValues(t, 4, dry["count"])
		require.ElementsMatch(t, []any{
			map[string]any{"connection": "listenbrainz", "listens": 3.0, "deletes": true, "history": nil},
			map[string]any{"connection": "spotify", "listens": 1.0, "deletes": false, "history": nil},
		}, dry["held_by"])

		first := "/listens/" + h.listenIDs()[0]
		h.call(http.MethodDelete, first+"?there=spotify", "", http.StatusUnprocessableEntity)
		h.call(http.MethodDelete, first+"?there=listenbrainz-2", "", http.StatusNotFound)
		h.call(http.MethodPost, "/listens/delete", `{"artist":"Sigur Rós","there":["lastfm"]}`,
			http.StatusUnprocessableEntity)
		require.Len(t, h.listenIDs(), 4, "what cannot be done as it was asked for is not done")

		made := h.call(http.MethodDelete, first+"?there=listenbrainz", "", http.StatusOK)
		require.Equal(t, []any{map[string]any{"connection": "listenbrainz", "listens": 1.0, "accepted": 0.0}},
			made["there"])
		one := h.only("kind=delete_listens")
		require.Equal(t, []any{"scheduled", "Delete Ára bátur by Sigur Rós at ListenBrainz", made["id"]},
			[]any{one["state"], one["subject"], one["ref"]})
		require.Contains(t, h.page("/deliveries"), "1 deletion for")
		h.carry()
		require.Equal(t, []string{"listenbrainz:Ára bátur"}, h.far.deleted)
		all := h.call(http.MethodPost, "/listens/delete", `{"artist":"Sigur Rós","there":["listenbrainz"]}`,
			http.StatusOK)
		require.EqualValues(t, 3, all["count"])
		h.carry()
		require.Len(t, h.far.deleted, 3, "one of the three was Spotify's alone")
		now := h.call(http.MethodPost, "/corrections/"+made["id"].(string)+"/undo", "", http.StatusOK)
		require.Equal(t, []any{map[string]any{"connection": "listenbrainz", "listens": 1.0, "accepted": 1.0}},
			now["there"])
	})
}

func TestAPersonDeletesAtAServiceToo(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		h.heardAt("listenbrainz", "Ára bátur", "Hoppípolla")
		h.heardAt("lastfm", "Ára bátur")
		ask := "/listens/delete?listen=" + strings.Join(h.listenIDs(), "&listen=")
		page := h.page(ask)
		require.Contains(t, page, "Delete 2 listens at")
		require.Regexp(t, "Last.fm.* has no way for programs to delete listens", page)
		action := func() string {
			return html.UnescapeString(regexp.MustCompile(`action="(/listens/delete\?[^"]+)"`).
				FindStringSubmatch(h.page(ask))[1])
		}
		h.far.fail(answer(http.StatusUnauthorized, resilience.Auth, resilience.ScopeConnection, "No."))
		h.submit(action(), http.StatusSeeOther, "there", "listenbrainz")
		require.Empty(t, h.listenIDs())
		h.carry()
		require.Equal(t, "parked", h.only("kind=delete_listens")["state"])
		require.Regexp(t, "2 deletions for .*ListenBrainz.* are waiting for you", h.page("/deliveries"))
		require.Contains(t, h.page("/corrections"), "2 listens will be deleted at")
		undo := regexp.MustCompile(`action="(/corrections/\d+/undo)"`).FindStringSubmatch(h.page("/corrections"))
		h.submit(undo[1], http.StatusSeeOther)
		require.NotContains(t, fmt.Sprint(h.call(http.MethodGet, "/deliveries", "", http.StatusOK)["deliveries"]),
			"delete_listens", "what waited is taken back")

		h.submit(action(), http.StatusSeeOther) // the box is not ticked
		h.carry()
		require.Empty(t, h.far.deleted)
		require.Empty(t, h.call(http.MethodGet, "/deliveries?kind=delete_listens", "", http.StatusOK)["deliveries"])
	})
}
