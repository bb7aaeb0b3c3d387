package music_test

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/server/servertest"
)

func TestListensOfOneArtist(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Heard("One", "Two", "Three")
		other := library.Listen{Track: library.Track{Title: "Army of Me", Artist: "Björk & <Friends>"},
			SourceID: "b", PlayedAt: time.Now().Add(-time.Hour)}
		_, err := h.DB.SaveListens(t.Context(),
			library.Intake{User: h.User, Connection: "spotify", Listens: []library.Listen{other}})
		require.NoError(t, err)
		titles := func(query string) (all []any, next string) {
			answer := h.Call(http.MethodGet, "/listens?"+query, "", http.StatusOK)
			for _, l := range answer["listens"].([]any) {
				all = append(all, l.(map[string]any)["track"])
			}
			next, _ = answer["next"].(string)
			return all, next
		}
		found, next := titles("artist=SIGUR+R%C3%93S&limit=2")
		require.Equal(t, []any{"Three", "Two"}, found)
		rest, end := titles("before=" + next)
		require.Equal(t, []any{"One"}, rest, "the cursor has the filter")
		require.Empty(t, end)
		rest, _ = titles("artist=SIGUR+R%C3%93S&limit=2&before=" + next)
		require.Equal(t, []any{"One"}, rest)
		h.Call(http.MethodGet, "/listens?artist=Other&before="+next, "", http.StatusBadRequest)
		found, _ = titles("to=" + time.Now().Add(-30*time.Minute).UTC().Format(time.RFC3339))
		require.Equal(t, []any{"Army of Me"}, found)
		require.Contains(t, h.Call(http.MethodGet, "/listens?from=yesterday", "", http.StatusBadRequest)["detail"],
			"2026-11-20T21:00:00Z")
		require.Equal(t, []any{}, h.Call(http.MethodGet, "/listens?artist=Nobody", "", http.StatusOK)["listens"])

		page := h.Page("/listens?artist=sigur+r%C3%B3s&limit=2")
		require.Contains(t, page, "3 listens by sigur rós, newest first.")
		require.NotContains(t, page, "Army of Me")
		earlier := regexp.MustCompile(`href="(/listens\?artist=[^"]+)" rel="next"`).FindStringSubmatch(page)
		require.Len(t, earlier, 2)
		page = h.Page(html.UnescapeString(earlier[1]))
		require.Contains(t, page, "One")
		require.Contains(t, page, `<a href="/listens?artist=sigur+r%C3%B3s">Newest</a>`)
		require.Contains(t, h.Page("/listens?artist=%3Cb%3E"), "No listens by &lt;b&gt;.")
		require.Contains(t, h.Page("/listens"), "4 listens, newest first.")
	})
}

// The page of an artist has the numbers of the API, and links to the listens behind them.
func TestAnArtistHasNumbers(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Heard("Glósóli", "Glósóli", "Hoppípolla")
		page := h.Page("/music/artist/1")
		require.Regexp(t, `<dt>Listens</dt><dd><a href="/listens\?artist=1">3</a>`, page)
		require.Contains(t, page, `<a href="/listening?span=all">#1 of your artists of all time</a>`)
		first := regexp.MustCompile(`<dt>First heard</dt><dd><a href="(/listens/\d+)">`).FindStringSubmatch(page)
		require.NotNil(t, first)
		require.Contains(t, h.Page(first[1]), "Glósóli")
		require.Contains(t, page, `href="/listens?artist=1"`)
		require.Contains(t, page, `<h2>Top tracks</h2>`)
		artist := h.Call(http.MethodGet, "/artists/1", "", http.StatusOK)
		require.EqualValues(t, 3, artist["plays"])
		require.EqualValues(t, 1, artist["rank"])
		tracks := artist["top_tracks"].([]any)
		require.Len(t, tracks, 2)
		top := tracks[0].(map[string]any)
		require.EqualValues(t, 2, top["listens"])
		track := h.Call(http.MethodGet, "/tracks/"+top["id"].(string), "", http.StatusOK)
		require.EqualValues(t, 2, track["plays"])
		require.Contains(t, h.Page("/listens?track="+top["id"].(string)), "2 listens, newest first.")
		h.Call(http.MethodGet, "/albums/1", "", http.StatusNotFound)
		h.Call(http.MethodGet, "/albums/99999", "", http.StatusNotFound)
	})
}

// Music that only others in the household have heard is not shown by name, whatever ID somebody types.
func TestNamesOfOthersListensStayTheirs(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Heard("Glósóli")
		ben := h.Other("Ben")
		_, err := h.DB.SaveListens(t.Context(), library.Intake{User: ben, Connection: "spotify",
			Listens: []library.Listen{{Track: library.Track{Title: "Secret", Artist: "Nobody Else"}, SourceID: "s",
				PlayedAt: time.Now().Add(-time.Hour)}}})
		require.NoError(t, err)
		links, err := h.DB.Links(t.Context(), []library.Track{{Title: "Secret", Artist: "Nobody Else"}})
		require.NoError(t, err)
		address := fmt.Sprint("/listening?span=all&artist=", links[0].Artist)
		require.Equal(t, http.StatusNotFound, h.Do(http.MethodGet, address, "", "").Code)
		h.As(ben)
		require.Contains(t, h.Page(address), "Nobody Else")
	})
}
