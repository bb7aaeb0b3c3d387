package export_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/server/servertest"
)

// base is the address that the test server's links begin with.
const base = "http://127.0.0.1:8420"

// asStranger fetches an address without a session.
func asStranger(h *servertest.Household, address string) (status int, kind, text string) {
	owner := h.Session
	h.Session = nil
	defer func() { h.Session = owner }()
	w := h.Knock(http.MethodGet, strings.TrimPrefix(address, base))
	return w.Code, w.Header().Get("Content-Type"), w.Body.String()
}

func TestAPlaylistHasAnAddressOfItsOwn(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		id := h.Playlist("Rain", "One", "Two")
		page := "/playlists/" + id
		require.Contains(t, h.Page(page), "Create an address")
		h.Call(http.MethodGet, page+"/address", "", http.StatusNotFound)

		made := h.Submit(page+"/address", http.StatusSeeOther)
		require.Equal(t, page+"#file", made.Header().Get("Location"))
		html := h.Page(page)
		require.Contains(t, html, "The address is ready.")
		address := regexp.MustCompile(base + `/list/\w{26}\.m3u8`).FindString(html)
		require.NotEmpty(t, address)
		status, kind, text := asStranger(h, address)
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, kind, "mpegurl")
		require.Contains(t, text, "#PLAYLIST:Rain")
		require.Contains(t, text, "Two")

		h.Playlist("Rain", "Two", "Three")
		_, _, text = asStranger(h, address)
		require.Contains(t, text, "Three", "as it is now")
		require.NotContains(t, text, "One")
		for _, ending := range []string{".xspf", ".jspf", ".csv"} {
			status, _, text = asStranger(h, strings.TrimSuffix(address, ".m3u8")+ending)
			require.Equal(t, http.StatusOK, status, ending)
			require.Contains(t, text, "Three", ending)
		}

		again := h.Call(http.MethodPut, page+"/address", "", http.StatusOK)
		require.NotEqual(t, address, again["m3u8"], "it was replaced")
		status, _, text = asStranger(h, address)
		require.Equal(t, http.StatusNotFound, status)
		require.Contains(t, text, "No longer shared")
		require.Equal(t, again, h.Call(http.MethodGet, page+"/address", "", http.StatusOK))

		h.Call(http.MethodDelete, page+"/address", "", http.StatusNoContent)
		status, _, _ = asStranger(h, again["m3u8"].(string))
		require.Equal(t, http.StatusNotFound, status)
		h.Submit(page+"/address/end", http.StatusSeeOther) // as from a tab that was left open
		require.Contains(t, h.Page("/activity"), "deleted the address of the playlist")
	})
}

func TestAnAddressShowsNothingElse(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		id := h.Playlist("Rain", "One")
		made := h.Call(http.MethodPut, "/playlists/"+id+"/address", "", http.StatusOK)
		code := strings.TrimSuffix(strings.TrimPrefix(made["jspf"].(string), base+"/list/"), ".jspf")
		for _, file := range []string{code, code + ".exe", code[:25] + ".jspf", ".jspf",
			strings.ToLower(code) + ".jspf"} {
			status, _, text := asStranger(h, "/list/"+file)
			require.Equal(t, http.StatusNotFound, status, file)
			require.NotContains(t, text, "Sigur Rós")
		}
		status, _, _ := asStranger(h, "/year/"+code)
		require.Equal(t, http.StatusNotFound, status, "a code works for one kind of share only")

		h.As(h.Other("Ben"))
		h.Call(http.MethodGet, "/playlists/"+id+"/address", "", http.StatusNotFound)
		h.Call(http.MethodPut, "/playlists/"+id+"/address", "", http.StatusNotFound)
		h.Call(http.MethodDelete, "/playlists/"+id+"/address", "", http.StatusNotFound)
	})
}
