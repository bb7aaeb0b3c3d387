package server

import (
	"net/http"
	"net/url"
	"regexp"
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
		require.Contains(t, filtered, "<strong>3</strong> <span>listens</span>")
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
