package listening_test

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
	"reprise/internal/server/servertest"
)

// A click on an artist filters the whole page, the address holds the filter, and removing it leads back.
func TestEverythingOnListeningIsAFilter(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		empty := h.Page("/listening")
		require.Contains(t, empty, "Nothing to count yet.")
		require.Contains(t, empty, "Connect a service")
		h.Heard("Glósóli", "Glósóli", "Hoppípolla")
		other := library.Listen{Track: library.Track{Title: "Army of Me", Artist: "Björk & <Friends>", Album: "Post"},
			SourceID: "b", PlayedAt: time.Now().Add(-time.Hour)}
		_, err := h.DB.SaveListens(t.Context(),
			library.Intake{User: h.User, Connection: "spotify", Listens: []library.Listen{other}})
		require.NoError(t, err)

		page := h.Page("/listening?span=all")
		require.Regexp(t, `<strong><a href="/listens">4</a></strong> <span>listens</span>`, page)
		require.Contains(t, page, "<h3>Top artists</h3>")
		require.Contains(t, page, "Björk &amp; &lt;Friends&gt;")
		link := regexp.MustCompile(`href="(/listening\?artist=[^"]*)">Sigur Rós`).FindStringSubmatch(page)
		require.NotNil(t, link, page)
		filtered := h.Page(unescaped(link[1]))
		require.Contains(t, filtered, ">3</a></strong> <span>listens</span>")
		require.NotContains(t, filtered, "Army of Me")
		require.Contains(t, filtered, `aria-label="Remove this filter"`)
		week := h.Page("/listening?from=" + time.Now().AddDate(0, 0, -7).Format(time.DateOnly) + "&to=" +
			time.Now().AddDate(0, 0, 1).Format(time.DateOnly))
		require.Contains(t, week, "<h3>Top artists</h3>")
		for _, one := range []string{"all of them new", "Discoveries"} { // there is nothing else yet
			require.NotContains(t, week, one)
		}
		require.Contains(t, h.Page("/listening?span=day&at=2001-01-01"), "Nothing was heard in this time.")
		require.Contains(t, h.Page("/listening?span=all&hour=3"), "Remove all filters")

		for _, wrong := range []string{"span=decade", "at=yesterday", "at=0001-01-01", "from=2026-01-01",
			"from=2026-02-01&to=2026-01-01", "from=0001-01-01&to=9999-12-31", "hour=24", "weekday=0", "artist=x"} {
			require.Equal(t, http.StatusBadRequest, h.Do(http.MethodGet, "/listening?"+wrong, "", "").Code, wrong)
		}
		require.Equal(t, http.StatusNotFound, h.Do(http.MethodGet, "/listening?artist=99999", "", "").Code)
	})
}

// A highlighted artist stays highlighted in another span, even where others were heard more. An artist that
// the person never heard cannot be highlighted.
func TestAHighlightIsKeptInTheAddress(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Heard("Glósóli", "Hoppípolla")
		play := func(artist string, ago time.Duration) library.Listen {
			return library.Listen{Track: library.Track{Title: "A", Artist: artist}, PlayedAt: time.Now().Add(-ago),
				SourceID: artist + ago.String()}
		}
		var all []library.Listen
		for i := range 6 {
			all = append(all, play(fmt.Sprint("Other ", i), time.Hour), play(fmt.Sprint("Other ", i), 2*time.Hour))
		}
		_, err := h.DB.SaveListens(t.Context(), library.Intake{User: h.User, Connection: "spotify",
			Listens: append(all, play("Rare", 3*time.Hour), play("Rare", 40*24*time.Hour))})
		require.NoError(t, err)

		page := h.Page("/listening?span=all")
		require.Regexp(t, `aria-current="true">Everything</a>`, page)
		require.NotContains(t, page, `class="rest"`)
		rare, err := h.DB.Links(t.Context(), []library.Track{{Title: "A", Artist: "Rare"}})
		require.NoError(t, err)
		highlight := fmt.Sprint("highlight=", rare[0].Artist)
		page = h.Page("/listening?span=all&" + highlight)
		require.Contains(t, page, `class="rest"`)
		require.Contains(t, page, `class="whole"`)
		require.Regexp(t, `<a class="chip" href="[^"]*" aria-current="true">Rare</a>`, page, "five were heard more")
		week := regexp.MustCompile(`href="(/listening\?[^"]*span=week)">Week`).FindStringSubmatch(page)
		require.NotNil(t, week, page)
		require.Contains(t, week[1], highlight)
		require.Regexp(t, `aria-current="true">Rare</a>`, h.Page(unescaped(week[1])))
		require.NotRegexp(t, `/api/v1/export/stats/[^"]*highlight`, page, "a table has all artists")

		h.As(h.Other("Ben"))
		require.Equal(t, http.StatusNotFound, h.Do(http.MethodGet, "/listening?"+highlight, "", "").Code)
	})
}

func unescaped(address string) string {
	u, _ := url.Parse(regexp.MustCompile("&amp;").ReplaceAllString(address, "&"))
	return u.String()
}

func TestStatisticsByTheAPI(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Heard("Glósóli", "Glósóli", "Hoppípolla")
		summary := h.Call(http.MethodGet, "/stats/summary?span=all", "", http.StatusOK)
		require.EqualValues(t, 3, summary["totals"].(map[string]any)["listens"])
		require.EqualValues(t, 1, summary["totals"].(map[string]any)["artists"])
		require.Nil(t, summary["before"])
		top := h.Call(http.MethodGet, "/stats/top/tracks?span=all&limit=1", "", http.StatusOK)["top"].([]any)
		require.Len(t, top, 1)
		require.Equal(t, "Glósóli", top[0].(map[string]any)["name"])
		require.EqualValues(t, 2, top[0].(map[string]any)["listens"])
		require.NotEmpty(t, h.Call(http.MethodGet, "/stats/days?span=all", "", http.StatusOK)["days"])
		require.NotEmpty(t, h.Call(http.MethodGet, "/stats/hours?span=all", "", http.StatusOK)["hours"])
		h.Call(http.MethodGet, "/stats/top/genres", "", http.StatusNotFound)
		h.Call(http.MethodGet, "/stats/top/tracks?limit=0", "", http.StatusBadRequest)
		h.Call(http.MethodGet, "/stats/summary?spann=all", "", http.StatusBadRequest)
	})
}

// Listens has the filters of Listening, by ID, tag and hour, and its links to Listening and Export keep them.
func TestListensAreFilteredLikeListening(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Heard("Glósóli", "Hoppípolla", "Sæglópur")
		other := library.Listen{Track: library.Track{Title: "Army of Me", Artist: "311", Album: "Post"},
			SourceID: "b", PlayedAt: time.Date(1995, 5, 6, 14, 20, 0, 0, time.UTC)}
		_, err := h.DB.SaveListens(t.Context(),
			library.Intake{User: h.User, Connection: "spotify", Listens: []library.Listen{other}})
		require.NoError(t, err)
		link := regexp.MustCompile(`href="(/music/artist/(\d+))">311`).FindStringSubmatch(h.Page("/listens"))
		require.NotNil(t, link)

		page := h.Page("/listens?artist=" + link[2])
		require.Contains(t, page, "Army of Me")
		require.NotContains(t, page, "Glósóli")
		require.Contains(t, page, `href="/export?artist=`+link[2]+`"`)
		require.Contains(t, page, `href="/listening?artist=`+link[2]+`&amp;span=all"`)
		require.Contains(t, h.Page("/listening?span=all&artist="+link[2]), `href="/listens?artist=`+link[2]+`"`)
		require.Contains(t, h.Page("/export?artist="+link[2]), "1 listen")
		moved := h.Do(http.MethodGet, "/listens?q=311", "", "")
		require.Equal(t, "/listens?artist="+link[2], moved.Header().Get("Location"), "a name may be a number")
		require.Equal(t, "/search?q=Army", h.Do(http.MethodGet, "/listens?q=Army", "", "").Header().Get("Location"))

		require.NotContains(t, h.Page("/listens?hour=14&weekday=6"), "Glósóli")
		require.Contains(t, h.Page("/listens?hour=14&weekday=6"), "Army of Me")
		require.Contains(t, h.Page("/listens?span=year&at=1995-01-01"), "Army of Me")
		require.Contains(t, h.Page("/listens?span=year&at=1994-01-01"), "No listens from that time.")
		jumped := h.Page("/listens?at=1995-12-31")
		require.NotContains(t, jumped, "Glósóli")
		later := regexp.MustCompile(`href="(/listens\?after=[^"]*)" rel="prev"`).FindStringSubmatch(jumped)
		require.NotNil(t, later, jumped)
		require.Contains(t, h.Page(unescaped(later[1])), "Glósóli")
		early := h.Page("/listens?at=1990-01-01")
		require.Contains(t, early, "Army of Me", "the earliest")
		require.Contains(t, early, "There is nothing from that day or before")
		require.NotContains(t, jumped, "There is nothing from that day")
		for _, wrong := range []string{"hour=24", "weekday=0", "album=x", "span=decade", "at=yesterday"} {
			require.Equal(t, http.StatusBadRequest, h.Do(http.MethodGet, "/listens?"+wrong, "", "").Code, wrong)
		}
		require.Equal(t, http.StatusNotFound, h.Do(http.MethodGet, "/listens?track=99999", "", "").Code)
		all := h.Call(http.MethodGet, "/listens?artist="+link[2]+"&source=spotify", "", http.StatusOK)["listens"]
		require.Len(t, all, 1)
	})
}

// A player is a filter on every page that has filters, and every page shows it and takes it off again.
func TestAPlayerIsAFilterEverywhere(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Heard("Hoppípolla")
		require.NotContains(t, h.Page("/listening?span=all"), `id="players"`, "nobody names a player")
		at := time.Date(1995, 5, 6, 14, 20, 0, 0, time.UTC)
		for i, player := range []string{"", "Rhythmbox <3", "Strawberry", "Strawberry"} {
			_, err := h.DB.SaveListens(t.Context(), library.Intake{User: h.User, Connection: "spotify",
				Listens: []library.Listen{{Track: library.Track{Title: fmt.Sprint("Song ", i), Artist: "Björk"},
					SourceID: fmt.Sprint(i), PlayedAt: at.Add(time.Duration(i) * time.Hour), Player: player}}})
			require.NoError(t, err)
		}
		page := h.Page("/listening?span=all")
		link := regexp.MustCompile(`href="(/listening\?[^"]*player=Rhythmbox[^"]*)">(?:.*\s)*?.*Rhythmbox &lt;3`)
		found := link.FindStringSubmatch(page)
		require.NotNil(t, found, page)
		page = h.Page(unescaped(found[1]))
		require.Contains(t, page, "Played with Rhythmbox &lt;3")
		require.Regexp(t, `Top tracks(?s:.*)Song 1`, page)
		require.NotContains(t, page, "Song 2")
		require.Contains(t, page, `href="/listens?player=Rhythmbox+%3C3"`, "the listens behind it")
		require.Regexp(t, `href="/listening\?at=[^&]*&amp;span=all" aria-label="Remove this filter"`, page)

		page = h.Page("/listens?player=Rhythmbox+%3C3")
		require.Contains(t, page, "Song 1")
		require.NotContains(t, page, "Song 2")
		require.Contains(t, page, `href="/listening?player=Rhythmbox+%3C3&amp;span=all"`)
		require.Contains(t, page, `href="/export?player=Rhythmbox+%3C3"`)
		require.Contains(t, page, "Played with Rhythmbox &lt;3")
		require.Contains(t, h.Page("/export?player=Strawberry"), "2 listens")
		require.Contains(t, h.Page("/export?player=Strawberry"), `name="player" value="Strawberry"`)
		require.Contains(t, h.Page("/listens/delete?player=Strawberry"), "Delete 2 listens?")
		table := h.Do(http.MethodGet, "/api/v1/export/stats/players.csv?span=all", "", "").Body.String()
		require.Equal(t, "player,listens\nStrawberry,2\nRhythmbox <3,1\n", strings.TrimPrefix(table, "\ufeff"))
		lines := h.Do(http.MethodGet, "/api/v1/export/listens.jsonl?player=Strawberry", "", "").Body.String()
		require.Equal(t, 2, strings.Count(lines, `"player":"Strawberry"`))
		for _, call := range []string{"days", "hours"} {
			require.Len(t, h.Call(http.MethodGet, "/stats/"+call+"?span=all&player=Rhythmbox+%3C3", "",
				http.StatusOK)[call], 1)
		}
		require.Len(t, h.Call(http.MethodGet, "/stats/top/tracks?span=all&player=Strawberry", "",
			http.StatusOK)["top"], 2)
		require.Contains(t, h.Page("/listening?span=all&player=VLC"), "Nothing was heard in this time.")
	})
}
