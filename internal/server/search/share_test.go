package search_test

import (
	"html"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/providers/registry"
	"reprise/internal/server/servertest"
)

func TestWhatIsSharedIsFoundAmongWhatWasHeard(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	for _, name := range []string{"spotify", "lastfm", "listenbrainz", "youtube"} {
		p := *h.Registry.Get(name)
		p.Links = registry.Describe(name).Links
		h.Registry.Replace(&p)
	}
	const songID, mbid = "4uLU6hMCjMI75M1A2tKUQC", "b1a9c0e9-d987-4042-ae91-78d6a3267d69"
	_, err := h.DB.SaveListens(t.Context(), library.Intake{User: h.User, Connection: "spotify",
		Listens: []library.Listen{{SourceID: "1795197851:" + songID, PlayedAt: time.Unix(1795197851, 0),
			Track: library.Track{Title: "Jóga", Artist: "Björk", Album: "Homogenic", RecordingMBID: mbid}}}})
	require.NoError(t, err)
	h.Playlist("Later", "Hoppípolla")
	share := func(title, text, link string) string {
		return html.UnescapeString(h.Page("/share?" +
			url.Values{"title": {title}, "text": {text}, "url": {link}}.Encode()))
	}

	for _, text := range []string{"https://open.spotify.com/track/" + songID + "?si=1", "spotify:track:" + songID,
		"https://www.last.fm/music/Bj%C3%B6rk/_/J%C3%B3ga", "https://listenbrainz.org/track/" + mbid + "/",
		"Björk – Jóga", "Jóga - Björk"} {
		page := share("", text, "")
		for _, part := range []string{"You've listened to this before.", "Jóga", "1 listen", "Open the track",
			">Love<", "Add as a listen"} {
			require.Contains(t, page, part, text)
		}
		require.Contains(t, share("", "", text), "Open the track", text)
	}
	require.Contains(t, share("", "https://www.last.fm/music/Bj%C3%B6rk", ""), "Open the artist")
	require.Contains(t, share("", "https://www.last.fm/music/Bj%C3%B6rk/Homogenic", ""), "Open the album")
	require.Contains(t, share("Björk - Jóga (Official Video) - YouTube", "https://youtu.be/dQw4w9WgXcQ", ""),
		"Open the track", "the link is not known, its name is")

	require.Contains(t, share("Joga", "", ""), "It could be one of these")
	page := share("", "Air – Venus", "")
	require.Contains(t, page, "You haven't listened to “Air – Venus” yet.")
	for _, part := range []string{">Love<", "Add as a listen"} {
		require.Contains(t, page, part)
	}
	require.Contains(t, share("", "Air Venus", ""), "With its artist")
	page = h.Page("/listens/new?track=Venus&artist=Air")
	require.Contains(t, page, `value="Venus"`)
	require.Contains(t, page, `value="Air"`)
	h.Submit("/loved", http.StatusSeeOther, "title", "Venus", "artist", "Air")
	require.Len(t, h.Call(http.MethodGet, "/loves", "", http.StatusOK)["loves"], 1, "it was never heard")
	require.NotContains(t, share("", "Air – Venus", ""), ">Love<")
	h.Submit("/loved", http.StatusBadRequest, "title", "Venus")
	page = share("", "https://youtu.be/dQw4w9WgXcQ", "")
	require.Contains(t, page, "doesn't know this link from YouTube")
	require.Contains(t, page, `action="/search"`)
	for _, nonsense := range []string{"", " ", "https://", "https://example.org/a/b", "…", "\xff"} {
		page = share("", nonsense, "")
		require.Contains(t, page, `action="/search"`, "%q", nonsense)
		require.NotContains(t, page, "Open the", "%q", nonsense)
	}
	require.Contains(t, share("", "", ""), "no link to a song in this")

	require.Len(t, h.Call(http.MethodGet, "/loves", "", http.StatusOK)["loves"], 1, "opening the page changes nothing")
	h.As(h.Other("Bob"))
	require.NotContains(t, share("", "spotify:track:"+songID, ""), "Jóga", "what others hear stays theirs")
}
