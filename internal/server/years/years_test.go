package years_test

import (
	"bytes"
	"encoding/json"
	"image/png"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/server/servertest"
)

// eachDay stores plays of a track by an artist from a service, one a day from a day on.
func eachDay(h *servertest.Household, title, artist, from string, days int) {
	h.T.Helper()
	at, err := time.Parse(time.DateOnly, from)
	require.NoError(h.T, err)
	var all []library.Listen
	for i := range days {
		all = append(all, library.Listen{SourceID: title + from + string(rune('a'+i%26)) + string(rune('a'+i/26)),
			PlayedAt: at.AddDate(0, 0, i).Add(20 * time.Hour),
			Track: library.Track{Title: title, Artist: artist, Album: "Album of " + title,
				Duration: 4 * time.Minute}})
	}
	_, err = h.DB.SaveListens(h.T.Context(), library.Intake{User: h.User, Connection: "lastfm", Listens: all})
	require.NoError(h.T, err)
}

// A year has the same numbers as Listening: how much was heard, compared with the year before, the top artists, and the
// discoveries that stayed.
func TestAYearIsTold(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		require.Contains(t, h.Page("/listening/years"), "No year to look back on yet.")
		require.Contains(t, h.Page("/listening/years/1999"), "Nothing was heard in 1999.")
		eachDay(h, "Hunter", "Björk", "1998-03-01", 10)
		eachDay(h, "Hoppípolla", "Sigur Rós", "1999-01-01", 20)
		eachDay(h, "Army", "Björk & <Friends>", "1999-02-10", 3)
		eachDay(h, "Hoppípolla", "Sigur Rós", "1999-04-01", 2)

		page := h.Page("/listening/years/1999")
		for _, want := range []string{"Your 1999", "25 listens, 100 minutes of music by 2 artists.",
			"That&#39;s 2.5 times as much as in 1998.", "Artist of the year", "Track of the year",
			"The longest streak: 20 days in a row, from 1 January 1999 to 20 January 1999.",
			"The favorite hour: from 20:00 to 21:00.", "Discoveries that stayed", "in 2 months",
			"Björk &amp; &lt;Friends&gt;", "February 1999", "Download PNG", "Download SVG"} {
			require.True(t, strings.Contains(page, want), want)
		}
		require.NotContains(t, page, "isn&#39;t over yet")
		require.Contains(t, page, `href="/listening/years/1999/story"`)
		story := h.Page("/listening/years/1999/story")
		require.Equal(t, 2+3+3+1, strings.Count(story, "<section>"), "the winners, the moments, and more")
		require.Contains(t, story, `autofocus`)
		require.Equal(t, http.StatusSeeOther, h.Do(http.MethodGet, "/listening/years/2000/story", "", "").Code)
		list := h.Page("/listening/years")
		require.Less(t, strings.Index(list, ">1999<"), strings.Index(list, ">1998<"))
		require.Contains(t, h.Page("/listening?span=year&at=1999-05-05"), `href="/listening/years/1999"`)
		v := h.Call(http.MethodGet, "/stats/years/1999", "", http.StatusOK)
		require.EqualValues(t, 25, v["totals"].(map[string]any)["listens"])
		require.EqualValues(t, 10, v["before"].(map[string]any)["listens"])
		require.EqualValues(t, 20, v["longest_streak"])
		require.EqualValues(t, 20, v["busiest_hour"])
		months := v["months"].([]any)
		require.Len(t, months, 12)
		require.Equal(t, "Björk & <Friends>", months[1].(map[string]any)["leader"].(map[string]any)["name"])
		require.Nil(t, months[2].(map[string]any)["leader"])
		require.Equal(t, "Sigur Rós", v["stayed"].([]any)[0].(map[string]any)["name"])
		require.Len(t, h.Call(http.MethodGet, "/stats/years", "", http.StatusOK)["years"], 2)

		eachDay(h, "Now", "Sigur Rós", "2000-01-01", 1) // in a zone five hours ahead
		require.Contains(t, h.Page("/listening/years/2000"), "2000 isn&#39;t over yet.")
		for _, none := range []string{"2001", "1899", "99", "x", "02000"} {
			require.Equal(t, http.StatusNotFound, h.Do(http.MethodGet, "/listening/years/"+none, "", "").Code, none)
			h.Call(http.MethodGet, "/stats/years/"+none, "", http.StatusNotFound)
		}
		h.As(h.Other("Ben"))
		require.Contains(t, h.Page("/listening/years/1999"), "Nothing was heard in 1999.", "somebody else's")
	})
}

// The card is a picture in two themes and two shapes.
func TestTheCardOfAYear(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		const hostile = `</title><script>alert(1)</script>" onload="x`
		eachDay(h, hostile, "宇多田ヒカル & "+strings.Repeat("فيروز ", 60), "1999-01-01", 3)
		get := func(path string, headers ...string) *httptest.ResponseRecorder {
			return h.Knock(http.MethodGet, "/api/v1/stats/years/1999/card"+path, headers...)
		}
		h.Page("/")
		svg := get(".svg?theme=dark")
		require.Equal(t, http.StatusOK, svg.Code)
		require.Equal(t, "image/svg+xml", svg.Header().Get("Content-Type"))
		require.Contains(t, svg.Header().Get("Content-Disposition"), "attachment")
		require.NotContains(t, svg.Body.String(), "<script")
		require.Contains(t, svg.Body.String(), "&lt;script&gt;")
		require.NotRegexp(t, `(href|src)="[^d#]`, svg.Body.String(), "it refers to nothing outside")
		seen := map[string]bool{}
		for query, width := range map[string]int{"": 1200, "?theme=dark": 1200, "?shape=square": 1080,
			"?shape=square&theme=dark&show=numbers,months": 1080} {
			w := get(".png" + query)
			require.Equal(t, http.StatusOK, w.Code, w.Body)
			m, err := png.Decode(bytes.NewReader(w.Body.Bytes()))
			require.NoError(t, err)
			require.Equal(t, width, m.Bounds().Dx())
			tag := w.Header().Get("ETag")
			require.False(t, seen[tag])
			seen[tag] = true
			require.Equal(t, http.StatusNotModified, get(".png"+query, "If-None-Match", tag).Code)
		}
		for _, wrong := range []string{".png?theme=pink", ".svg?shape=round", ".svg?show=sources", ".png?size=9"} {
			require.Equal(t, http.StatusBadRequest, get(wrong).Code, wrong)
		}
		require.Equal(t, http.StatusOK, h.Knock(http.MethodGet, "/api/v1/stats/years/1998/card.png").Code, "empty")
	})
}

// Anyone with the link sees what its person chose and nothing else, until it is taken back.
func TestALinkShowsWhatWasChosen(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		eachDay(h, "Hoppípolla", "Sigur Rós", "1999-01-01", 20)
		h.Call(http.MethodGet, "/stats/years/1999/link", "", http.StatusNotFound)
		h.Call(http.MethodPut, "/stats/years/1999/link", `{"parts":[]}`, http.StatusUnprocessableEntity)
		h.Call(http.MethodPut, "/stats/years/1999/link", `{"parts":["sources"]}`, http.StatusUnprocessableEntity)
		h.Page("/")
		preview := h.Knock(http.MethodGet, "/listening/years/1999/preview?artists=yes").Body.String()
		require.Contains(t, preview, "Sigur Rós")
		require.NotContains(t, preview, "Hoppípolla")
		made := h.Submit("/listening/years/1999/link", http.StatusSeeOther, "artists", "yes")
		require.Equal(t, "/listening/years/1999#share", made.Header().Get("Location"), "a reload repeats nothing")
		page := h.Page("/listening/years/1999")
		require.Contains(t, page, "The link is ready.")
		require.Equal(t, http.StatusSeeOther, h.Knock(http.MethodGet, "/listening/years/1999/link").Code)
		address := regexp.MustCompile(`http://127\.0\.0\.1:8420(/year/\w{26})`).FindStringSubmatch(page)
		require.NotNil(t, address, page)
		require.Contains(t, h.Page("/listening/years/1999"), address[1], "it is shown again")
		kept, err := h.DB.Share(t.Context(), h.User, library.ShareYear, "1999")
		require.NoError(t, err)
		require.Equal(t, accounts.HashToken(address[1][len("/year/"):]), kept.Hash, "it is found by its hash")

		owner := h.Session
		open := func(path string) *httptest.ResponseRecorder {
			h.Session = nil
			defer func() { h.Session = owner }()
			time.Sleep(2 * time.Second)
			w := h.Knock(http.MethodGet, path)
			require.Empty(t, w.Result().Cookies())
			require.Contains(t, w.Header().Get("X-Robots-Tag"), "noindex")
			return w
		}
		w := open(address[1])
		require.Equal(t, http.StatusOK, w.Code)
		seen := w.Body.String()
		require.Contains(t, seen, "Sigur Rós")
		require.Contains(t, seen, `<meta name="robots" content="noindex`)
		require.Contains(t, seen, `<meta property="og:image" content="http://127.0.0.1:8420`+address[1]+`/card.png"`)
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		require.Equal(t, "no-referrer", w.Header().Get("Referrer-Policy"))
		for _, not := range []string{"Hoppípolla", "20 listens,", "Ann", "January 1999", "/listening", "/music/",
			"lastfm", "Last.fm"} {
			require.NotContains(t, seen, not)
		}
		main := regexp.MustCompile(`(?s)<main.*?</main>`)
		preview = strings.ReplaceAll(preview, "/api/v1/stats/years/1999/card.svg?show=artists&amp;",
			address[1]+"/card.svg?")
		require.Equal(t, main.FindString(preview), main.FindString(seen), "the preview is exact")
		card := open(address[1] + "/card.svg").Body.String()
		require.Contains(t, card, "Sigur Rós")
		require.NotContains(t, card, "Hoppípolla")
		require.Equal(t, "image/png", open(address[1]+"/card.png").Header().Get("Content-Type"))
		for _, path := range []string{"/year/x", "/year/" + kept.Hash, "/year/x/card.png", address[1] + "X"} {
			require.Equal(t, http.StatusNotFound, open(path).Code, path)
		}
		h.Session = owner
		require.Equal(t, seen, h.Knock(http.MethodGet, address[1]).Body.String(), "a session changes nothing")

		v := h.Call(http.MethodPut, "/stats/years/1999/link", `{"parts":["tracks"]}`, http.StatusOK)
		require.Equal(t, "http://127.0.0.1:8420"+address[1], v["url"], "the same link")
		require.Contains(t, open(address[1]).Body.String(), "Hoppípolla")
		v = h.Call(http.MethodPut, "/stats/years/1999/link", `{"parts":["numbers"],"new":true}`, http.StatusOK)
		gone := open(address[1])
		require.Equal(t, http.StatusNotFound, gone.Code, "it was replaced")
		require.Contains(t, gone.Body.String(), "It has been deleted or replaced")
		another := strings.TrimPrefix(v["url"].(string), "http://127.0.0.1:8420")
		require.Contains(t, open(another).Body.String(), "20 listens,")
		b, err := json.Marshal(h.Call(http.MethodGet, "/stats/years/1999/link", "", http.StatusOK))
		require.NoError(t, err)
		require.NotContains(t, string(b), kept.Hash)

		ann := h.User
		h.As(h.Other("Ben"))
		h.Call(http.MethodGet, "/stats/years/1999/link", "", http.StatusNotFound)
		h.Call(http.MethodDelete, "/stats/years/1999/link", "", http.StatusNotFound)
		h.Submit("/listening/years/1999/link/delete", http.StatusSeeOther)
		h.As(ann)
		h.Page("/")
		owner = h.Session
		require.Equal(t, http.StatusOK, open(another).Code, "somebody else cannot take it back")
		h.Call(http.MethodDelete, "/stats/years/1999/link", "", http.StatusNoContent)
		for _, path := range []string{another, another + "/card.png", another + "/card.svg"} {
			require.Equal(t, http.StatusNotFound, open(path).Code, path)
		}
		h.Call(http.MethodDelete, "/stats/years/1999/link", "", http.StatusNotFound)
		require.Contains(t, h.Page("/activity"), "deleted the link to 1999 in review.")

		h.Session = nil
		codes := map[int]int{}
		for range 30 {
			codes[h.Knock(http.MethodGet, "/year/x").Code]++
		}
		require.Positive(t, codes[http.StatusTooManyRequests], "an address cannot try as often as it likes")
	})
}
