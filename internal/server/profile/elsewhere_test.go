package profile_test

import (
	"bytes"
	"encoding/xml"
	"image"
	"image/png"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/server/servertest"
)

// Other sites may show a badge, and nothing else. Browsers ask for it again each time, so it ends with the profile.
func TestOtherSitesShowABadge(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := filled(t)
		path := h.publish(`{"parts":["now","latest"]}`)
		badge := h.open(path + "/badge.svg")
		require.Equal(t, http.StatusOK, badge.Code)
		require.Equal(t, "image/svg+xml", badge.Header().Get("Content-Type"))
		require.Equal(t, "cross-origin", badge.Header().Get("Cross-Origin-Resource-Policy"))
		require.Equal(t, "private, no-cache", badge.Header().Get("Cache-Control"))
		require.Contains(t, badge.Header().Get("Content-Security-Policy"), "default-src 'none'")
		require.Empty(t, badge.Header().Get("Content-Disposition"), "it is shown, not downloaded")
		require.Contains(t, badge.Body.String(), "Vespertine")
		h.Config.Playing.Ends(h.User, "spotify", library.Track{})
		require.Contains(t, h.open(path+"/badge.svg").Body.String(), "Fresh", "what was heard last")
		quiet := h.publish(`{"parts":["now"]}`)
		require.Contains(t, h.open(quiet+"/badge.svg").Header().Get("Content-Type"), "svg", "with nothing playing")
		h.publish(`{"parts":["now","latest"]}`)
		dark := h.open(path + "/badge.svg?theme=dark")
		require.Equal(t, http.StatusOK, dark.Code)
		require.NotEqual(t, badge.Header().Get("ETag"), dark.Header().Get("ETag"))
		require.Equal(t, http.StatusBadRequest, h.open(path+"/badge.svg?theme=pink").Code)
		for _, face := range []string{"", "/card.svg", "/card.png", "/feed.atom"} {
			require.Equal(t, "same-origin", h.open(path+face).Header().Get("Cross-Origin-Resource-Policy"), face)
		}
		w := h.Knock(http.MethodGet, path+"/badge.svg", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors",
			"Sec-Fetch-Dest", "image", "Origin", "https://blog.example")
		require.Equal(t, http.StatusOK, w.Code, "a page of another site shows it")

		h.Session = nil
		codes := map[int]int{}
		for range 30 {
			codes[h.Knock(http.MethodGet, "/profile/x").Code]++
		}
		require.Positive(t, codes[http.StatusTooManyRequests], "requests from one address are limited")
	})
}

// Strangers get the pictures on a page, but can't find out whether the server has any other.
func TestPicturesAreThoseOfThePage(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := setup(t)
		cover := func(album string, ago time.Duration, shade uint8) (name string) {
			h.hear(h.User, "Sigur Rós", album, "Song of "+album, ago)
			found := h.Call(http.MethodGet, "/search?q="+album, "", http.StatusOK)["albums"].([]any)
			id := found[0].(map[string]any)["id"].(string)
			m, b := image.NewGray(image.Rect(0, 0, 8, 8)), bytes.Buffer{}
			for i := range m.Pix {
				m.Pix[i] = shade * 100
			}
			require.NoError(t, png.Encode(&b, m))
			sent := h.Do(http.MethodPut, "/api/v1/albums/"+id+"/picture", b.String(), "image/png")
			require.Equal(t, http.StatusOK, sent.Code)
			shown := regexp.MustCompile(`/art/(\w{64})`).FindStringSubmatch(h.Page("/music/album/" + id))
			require.NotNil(t, shown)
			return shown[1]
		}
		private, public := cover("Private", 400*24*time.Hour, 1), cover("Public", time.Hour, 2)
		require.NotEqual(t, private, public)
		path := h.publish(`{"parts":["albums"]}`)
		at := regexp.MustCompile(`src="(` + path + `/art/(\w{32})/(\w{64}))"`)
		found := at.FindStringSubmatch(h.open(path).Body.String())
		require.NotNil(t, found)
		require.Equal(t, public, found[3])
		w := h.open(found[1])
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, "image/jpeg", w.Header().Get("Content-Type"))
		require.Equal(t, "same-origin", w.Header().Get("Cross-Origin-Resource-Policy"))
		require.Contains(t, h.open(path+"/card.svg").Body.String(), "data:image/jpeg;base64,")
		for _, forged := range []string{private, strings.Repeat("0", 64)} {
			require.Equal(t, http.StatusNotFound, h.open(path+"/art/"+found[2]+"/"+forged).Code)
		}
		h.Page("/")
		preview := h.Page("/settings/profile/preview?albums=yes")
		require.Contains(t, preview, `src="/art/`+public+`"`)
		h.Call(http.MethodDelete, "/profile", "", http.StatusNoContent)
		require.Equal(t, http.StatusNotFound, h.open(found[1]).Code)
	})
}

func TestHostileNamesStayText(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := setup(t)
		const hostile = `</title><script>alert(1)</script>]]>" onload="x`
		h.hear(h.User, hostile, "A & B", hostile+"\u202e", time.Hour)
		h.plays(h.User, hostile, "now")
		path := h.publish(`{"parts":["now","artists","albums","tracks","latest"],"name":"<b onclick=x>& Ann"}`)
		page := h.open(path).Body.String()
		for _, not := range []string{"<script>alert", "<b onclick", `" onload="`, "\u202e"} {
			require.NotContains(t, page, not)
		}
		for _, face := range []string{"/card.svg", "/badge.svg", "/feed.atom"} {
			text := h.open(path + face).Body.String()
			require.NotContains(t, text, "<script", face)
			require.NotContains(t, text, "<b ", face)
			require.NoError(t, xml.Unmarshal([]byte(text), new(struct{ XMLName xml.Name })), face)
		}
		require.NotRegexp(t, `(href|src)="[^d#]`, h.open(path+"/badge.svg").Body.String(), "it refers to itself only")
		settings := h.Page("/settings/profile")
		require.NotContains(t, settings, "<b onclick")
	})
}

func TestTheFeedHasTheLatestListens(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := filled(t)
		path := h.publish(`{"parts":["latest"],"name":"Anna"}`)
		w := h.open(path + "/feed.atom")
		require.Equal(t, "application/atom+xml; charset=utf-8", w.Header().Get("Content-Type"))
		var feed struct {
			Title   string `xml:"title"`
			ID      string `xml:"id"`
			Author  string `xml:"author>name"`
			Updated string `xml:"updated"`
			Entries []struct {
				ID    string `xml:"id"`
				Title string `xml:"title"`
				At    string `xml:"updated"`
			} `xml:"entry"`
		}
		require.NoError(t, xml.Unmarshal(w.Body.Bytes(), &feed))
		require.Equal(t, "Anna", feed.Title)
		require.Equal(t, "Anna", feed.Author)
		require.Equal(t, "http://127.0.0.1:8420"+path, feed.ID)
		require.Len(t, feed.Entries, 20)
		require.Equal(t, "Amiina – Fresh", feed.Entries[0].Title)
		require.Equal(t, feed.Updated, feed.Entries[0].At)
		ids := map[string]bool{}
		for _, e := range feed.Entries {
			ids[e.ID] = true
		}
		require.Len(t, ids, 20)
		before := feed.Entries[0].ID
		h.hear(h.User, "Amiina", "Kurr", "Newer", time.Minute)
		feed.Entries = nil
		require.NoError(t, xml.Unmarshal(h.open(path+"/feed.atom").Body.Bytes(), &feed))
		require.Equal(t, "Amiina – Newer", feed.Entries[0].Title)
		require.Equal(t, before, feed.Entries[1].ID, "a feed reader recognises it")
	})
}
