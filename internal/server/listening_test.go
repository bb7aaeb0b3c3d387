package server

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
)

// A click on an artist filters the whole page, the address holds the filter, and removing it leads back.
func TestEverythingOnListeningIsAFilter(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		empty := h.page("/listening")
		require.Contains(t, empty, "Nothing to count yet.")
		require.Contains(t, empty, "Connect a service")
		h.heard("Glósóli", "Glósóli", "Hoppípolla")
		other := library.Listen{Track: library.Track{Title: "Army of Me", Artist: "Björk & <Friends>", Album: "Post"},
			SourceID: "b", PlayedAt: time.Now().Add(-time.Hour)}
		_, err := h.db.SaveListens(t.Context(),
			library.Intake{User: h.user, Connection: "spotify", Listens: []library.Listen{other}})
		require.NoError(t, err)

		page := h.page("/listening?span=all")
		require.Regexp(t, `<strong><a href="/listens">4</a></strong> <span>listens</span>`, page)
		require.Contains(t, page, "<h3>Top artists</h3>")
		require.Contains(t, page, "Björk &amp; &lt;Friends&gt;")
		link := regexp.MustCompile(`href="(/listening\?artist=[^"]*)">Sigur Rós`).FindStringSubmatch(page)
		require.NotNil(t, link, page)
		filtered := h.page(unescaped(link[1]))
		require.Contains(t, filtered, ">3</a></strong> <span>listens</span>")
		require.NotContains(t, filtered, "Army of Me")
		require.Contains(t, filtered, `aria-label="Remove this filter"`)
		require.Contains(t, h.page("/listening?span=day&at=2001-01-01"), "Nothing was heard in this time.")
		require.Contains(t, h.page("/listening?span=all&hour=3"), "Remove all filters")

		for _, wrong := range []string{"span=decade", "at=yesterday", "at=0001-01-01", "from=2026-01-01",
			"from=2026-02-01&to=2026-01-01", "from=0001-01-01&to=9999-12-31", "hour=24", "weekday=0", "artist=x"} {
			require.Equal(t, http.StatusBadRequest, h.do(http.MethodGet, "/listening?"+wrong, "", "").Code, wrong)
		}
		require.Equal(t, http.StatusNotFound, h.do(http.MethodGet, "/listening?artist=99999", "", "").Code)
	})
}

func unescaped(address string) string {
	u, _ := url.Parse(regexp.MustCompile("&amp;").ReplaceAllString(address, "&"))
	return u.String()
}

func TestStatisticsByTheAPI(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		h.heard("Glósóli", "Glósóli", "Hoppípolla")
		summary := h.call(http.MethodGet, "/stats/summary?span=all", "", http.StatusOK)
		require.EqualValues(t, 3, summary["totals"].(map[string]any)["listens"])
		require.EqualValues(t, 1, summary["totals"].(map[string]any)["artists"])
		require.Nil(t, summary["before"])
		top := h.call(http.MethodGet, "/stats/top/tracks?span=all&limit=1", "", http.StatusOK)["top"].([]any)
		require.Len(t, top, 1)
		require.Equal(t, "Glósóli", top[0].(map[string]any)["name"])
		require.EqualValues(t, 2, top[0].(map[string]any)["listens"])
		require.NotEmpty(t, h.call(http.MethodGet, "/stats/days?span=all", "", http.StatusOK)["days"])
		require.NotEmpty(t, h.call(http.MethodGet, "/stats/hours?span=all", "", http.StatusOK)["hours"])
		h.call(http.MethodGet, "/stats/top/genres", "", http.StatusNotFound)
		h.call(http.MethodGet, "/stats/top/tracks?limit=0", "", http.StatusBadRequest)
		h.call(http.MethodGet, "/stats/summary?spann=all", "", http.StatusBadRequest)
	})
}

// Listens has the filters of Listening, by ID, tag and hour, and its links to Listening and Export keep them.
func TestListensAreFilteredLikeListening(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		h.heard("Glósóli", "Hoppípolla", "Sæglópur")
		other := library.Listen{Track: library.Track{Title: "Army of Me", Artist: "311", Album: "Post"},
			SourceID: "b", PlayedAt: time.Date(1995, 5, 6, 14, 20, 0, 0, time.UTC)}
		_, err := h.db.SaveListens(t.Context(),
			library.Intake{User: h.user, Connection: "spotify", Listens: []library.Listen{other}})
		require.NoError(t, err)
		link := regexp.MustCompile(`href="(/music/artist/(\d+))">311`).FindStringSubmatch(h.page("/listens"))
		require.NotNil(t, link)

		page := h.page("/listens?artist=" + link[2])
		require.Contains(t, page, "Army of Me")
		require.NotContains(t, page, "Glósóli")
		require.Contains(t, page, `href="/export?artist=`+link[2]+`"`)
		require.Contains(t, page, `href="/listening?artist=`+link[2]+`&amp;span=all"`)
		require.Contains(t, h.page("/listening?span=all&artist="+link[2]), `href="/listens?artist=`+link[2]+`"`)
		require.Contains(t, h.page("/export?artist="+link[2]), "1 listen")
		moved := h.do(http.MethodGet, "/listens?q=311", "", "")
		require.Equal(t, "/listens?artist="+link[2], moved.Header().Get("Location"), "a name may be a number")
		require.Equal(t, "/search?q=Army", h.do(http.MethodGet, "/listens?q=Army", "", "").Header().Get("Location"))

		require.NotContains(t, h.page("/listens?hour=14&weekday=6"), "Glósóli")
		require.Contains(t, h.page("/listens?hour=14&weekday=6"), "Army of Me")
		require.Contains(t, h.page("/listens?span=year&at=1995-01-01"), "Army of Me")
		require.Contains(t, h.page("/listens?span=year&at=1994-01-01"), "No listens from that time.")
		jumped := h.page("/listens?at=1995-12-31")
		require.NotContains(t, jumped, "Glósóli")
		later := regexp.MustCompile(`href="(/listens\?after=[^"]*)" rel="prev"`).FindStringSubmatch(jumped)
		require.NotNil(t, later, jumped)
		require.Contains(t, h.page(unescaped(later[1])), "Glósóli")
		require.Contains(t, h.page("/listens?at=1990-01-01"), "Army of Me", "the earliest")
		for _, wrong := range []string{"hour=24", "weekday=0", "album=x", "span=decade", "at=yesterday"} {
			require.Equal(t, http.StatusBadRequest, h.do(http.MethodGet, "/listens?"+wrong, "", "").Code, wrong)
		}
		require.Equal(t, http.StatusNotFound, h.do(http.MethodGet, "/listens?track=99999", "", "").Code)
		all := h.call(http.MethodGet, "/listens?artist="+link[2]+"&source=spotify", "", http.StatusOK)["listens"]
		require.Len(t, all, 1)
	})
}

// The page of an artist has the numbers of the API, and links to the listens behind them.
func TestAnArtistHasNumbers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		h.heard("Glósóli", "Glósóli", "Hoppípolla")
		page := h.page("/music/artist/1")
		require.Contains(t, page, "You&#39;ve listened to this artist 3 times.")
		require.Contains(t, page, `<a href="/listening?span=all">#1 of your artists of all time</a>`)
		first := regexp.MustCompile(`First heard on <a href="(/listens/\d+)">`).FindStringSubmatch(page)
		require.NotNil(t, first)
		require.Contains(t, h.page(first[1]), "Glósóli")
		require.Contains(t, page, `href="/listens?artist=1"`)
		require.Contains(t, page, `<h2>Top tracks</h2>`)
		artist := h.call(http.MethodGet, "/artists/1", "", http.StatusOK)
		require.EqualValues(t, 3, artist["plays"])
		require.EqualValues(t, 1, artist["rank"])
		tracks := artist["top_tracks"].([]any)
		require.Len(t, tracks, 2)
		top := tracks[0].(map[string]any)
		require.EqualValues(t, 2, top["listens"])
		track := h.call(http.MethodGet, "/tracks/"+top["id"].(string), "", http.StatusOK)
		require.EqualValues(t, 2, track["plays"])
		require.Contains(t, h.page("/listens?track="+top["id"].(string)), "2 listens, newest first.")
		h.call(http.MethodGet, "/albums/1", "", http.StatusNotFound)
		h.call(http.MethodGet, "/albums/99999", "", http.StatusNotFound)
	})
}

// Music that only others in the household have heard is not shown by name, whatever ID somebody types.
func TestNamesOfOthersListensStayTheirs(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		h.heard("Glósóli")
		ben := h.other("Ben")
		_, err := h.db.SaveListens(t.Context(), library.Intake{User: ben, Connection: "spotify",
			Listens: []library.Listen{{Track: library.Track{Title: "Secret", Artist: "Nobody Else"}, SourceID: "s",
				PlayedAt: time.Now().Add(-time.Hour)}}})
		require.NoError(t, err)
		links, err := h.db.Links(t.Context(), []library.Track{{Title: "Secret", Artist: "Nobody Else"}})
		require.NoError(t, err)
		address := fmt.Sprint("/listening?span=all&artist=", links[0].Artist)
		require.Equal(t, http.StatusNotFound, h.do(http.MethodGet, address, "", "").Code)
		h.as(ben)
		require.Contains(t, h.page(address), "Nobody Else")
	})
}

// A player is a filter on every page that has filters, and every page shows it and takes it off again.
func TestAPlayerIsAFilterEverywhere(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		h.heard("Hoppípolla")
		require.NotContains(t, h.page("/listening?span=all"), `id="players"`, "nobody names a player")
		at := time.Date(1995, 5, 6, 14, 20, 0, 0, time.UTC)
		for i, player := range []string{"", "Rhythmbox <3", "Strawberry", "Strawberry"} {
			_, err := h.db.SaveListens(t.Context(), library.Intake{User: h.user, Connection: "spotify",
				Listens: []library.Listen{{Track: library.Track{Title: fmt.Sprint("Song ", i), Artist: "Björk"},
					SourceID: fmt.Sprint(i), PlayedAt: at.Add(time.Duration(i) * time.Hour), Player: player}}})
			require.NoError(t, err)
		}
		page := h.page("/listening?span=all")
		link := regexp.MustCompile(`href="(/listening\?[^"]*player=Rhythmbox[^"]*)">(?:.*\s)*?.*Rhythmbox &lt;3`)
		found := link.FindStringSubmatch(page)
		require.NotNil(t, found, page)
		page = h.page(unescaped(found[1]))
		require.Contains(t, page, "Played with Rhythmbox &lt;3")
		require.Regexp(t, `Top tracks(?s:.*)Song 1`, page)
		require.NotContains(t, page, "Song 2")
		require.Contains(t, page, `href="/listens?player=Rhythmbox+%3C3"`, "the listens behind it")
		require.Regexp(t, `href="/listening\?at=[^&]*&amp;span=all" aria-label="Remove this filter"`, page)

		page = h.page("/listens?player=Rhythmbox+%3C3")
		require.Contains(t, page, "Song 1")
		require.NotContains(t, page, "Song 2")
		require.Contains(t, page, `href="/listening?player=Rhythmbox+%3C3&amp;span=all"`)
		require.Contains(t, page, `href="/export?player=Rhythmbox+%3C3"`)
		require.Contains(t, page, "Played with Rhythmbox &lt;3")
		require.Contains(t, h.page("/export?player=Strawberry"), "2 listens")
		require.Contains(t, h.page("/export?player=Strawberry"), `name="player" value="Strawberry"`)
		require.Contains(t, h.page("/listens/delete?player=Strawberry"), "Delete 2 listens?")
		table := h.do(http.MethodGet, "/api/v1/export/stats/players.csv?span=all", "", "").Body.String()
		require.Equal(t, "player,listens\nStrawberry,2\nRhythmbox <3,1\n", strings.TrimPrefix(table, "\ufeff"))
		lines := h.do(http.MethodGet, "/api/v1/export/listens.jsonl?player=Strawberry", "", "").Body.String()
		require.Equal(t, 2, strings.Count(lines, `"player":"Strawberry"`))
		for _, call := range []string{"days", "hours"} {
			require.Len(t, h.call(http.MethodGet, "/stats/"+call+"?span=all&player=Rhythmbox+%3C3", "",
				http.StatusOK)[call], 1)
		}
		require.Len(t, h.call(http.MethodGet, "/stats/top/tracks?span=all&player=Strawberry", "",
			http.StatusOK)["top"], 2)
		require.Contains(t, h.page("/listening?span=all&player=VLC"), "Nothing was heard in this time.")
	})
}
