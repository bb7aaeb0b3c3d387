package search

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/registry"
)

const (
	songID  = "4uLU6hMCjMI75M1A2tKUQC"
	videoID = "dQw4w9_gX-Q"
	someID  = "b1a9c0e9-d987-4042-ae91-78d6a3267d69"
)

// known are all services.
func known() (all []*providers.Provider) {
	for _, d := range registry.Descriptions() {
		all = append(all, &providers.Provider{Description: d})
	}
	return all
}

func TestLinksAreReadAsServicesShareThem(t *testing.T) {
	t.Parallel()
	joga := library.Track{Title: "Jóga", Artist: "Björk"}
	song, video := providers.Link{Kind: "track", ID: songID}, providers.Link{Kind: "track", ID: videoID}
	for link, want := range map[string]struct {
		from string
		providers.Link
	}{
		"https://open.spotify.com/track/" + songID + "?si=0f": {"spotify", song},
		"https://open.spotify.com/intl-de/track/" + songID:    {"spotify", song},
		"open.spotify.com/track/" + songID:                    {"spotify", song},
		"spotify:track:" + songID:                             {"spotify", song},
		"https://open.spotify.com/album/" + songID:            {"spotify", providers.Link{Kind: "album", ID: songID}},
		"https://open.spotify.com/artist/" + songID:           {"spotify", providers.Link{Kind: "artist", ID: songID}},
		"https://open.spotify.com/episode/" + songID:          {"spotify", providers.Link{}},
		"https://open.spotify.com/track/../admin":             {"spotify", providers.Link{}},
		"https://spotify.link/aBcD":                           {"spotify", providers.Link{}},

		"https://www.youtube.com/watch?t=3&v=" + videoID:         {"youtube", video},
		"https://music.youtube.com/watch?v=" + videoID + "&si=x": {"youtube", video},
		"https://m.youtube.com/shorts/" + videoID:                {"youtube", video},
		"https://youtu.be/" + videoID + "?si=abc":                {"youtube", video},
		"https://www.youtube.com/@someone":                       {"youtube", providers.Link{}},
		"https://www.youtube.com/watch?v=%00":                    {"youtube", providers.Link{}},

		"https://www.last.fm/music/Bj%C3%B6rk/_/J%C3%B3ga":   {"lastfm", providers.Link{Kind: "track", Track: joga}},
		"https://www.last.fm/de/music/Björk/Homogenic/Jóga":  {"lastfm", providers.Link{Kind: "track", Track: joga}},
		"https://www.last.fm/music/+noredirect/Björk/_/Jóga": {"lastfm", providers.Link{Kind: "track", Track: joga}},
		"https://www.last.fm/user/ann/library/music/Sigur+R%C3%B3s": {"lastfm",
			providers.Link{Kind: "artist", Track: library.Track{Artist: "Sigur Rós"}}},
		"https://www.last.fm/music/AC%252FDC/Powerage": {"lastfm",
			providers.Link{Kind: "album", Track: library.Track{Artist: "AC/DC", Album: "Powerage"}}},
		"https://www.last.fm/music/Björk/+albums": {"lastfm",
			providers.Link{Kind: "artist", Track: library.Track{Artist: "Björk"}}},

		"https://musicbrainz.org/recording/" + someID: {"musicbrainz",
			providers.Link{Kind: "track", MBID: someID}},
		"https://musicbrainz.org/track/" + someID:        {"musicbrainz", providers.Link{}},
		"https://listenbrainz.org/track/" + someID + "/": {"listenbrainz", providers.Link{Kind: "track", MBID: someID}},
		"https://listenbrainz.org/artist/" + strings.ToUpper(someID): {"listenbrainz",
			providers.Link{Kind: "artist", MBID: someID}},
	} {
		for _, s := range []shared{readShared(known(), "", "\n"+link+".", ""), readShared(known(), "", "", link)} {
			require.Equal(t, want.from, s.From.Name, link)
			require.Equal(t, want.Link, s.Link, link)
		}
	}
}

func TestNamesAreReadBesideLinks(t *testing.T) {
	t.Parallel()
	joga := library.Track{Title: "Jóga", Artist: "Björk"}
	for text, want := range map[string]library.Track{
		"Björk – Jóga": joga, "Björk - Jóga (Official Video) - YouTube": joga,
		"Jóga - song and lyrics by Björk | Spotify":  joga,
		"Björk — Jóga [Official Audio]":              joga,
		"Jóga - Song und Lyrics von Björk | Spotify": joga, "Jóga": {},
		"AC/DC": {}, "-": {}, "": {},
	} {
		s := readShared(known(), text, "https://youtu.be/"+videoID, "")
		require.Equal(t, want, s.Track, text)
		require.Equal(t, videoID, s.ID)
		s = readShared(known(), "", text, "")
		require.Equal(t, want, s.Track, text)
		require.Nil(t, s.From)
	}
	album := readShared(known(), "Homogenic - Album by Björk | Spotify", "https://open.spotify.com/album/"+songID, "")
	require.Equal(t, library.Track{Album: "Homogenic", Artist: "Björk"}, album.Track)
	artist := readShared(known(), "Björk | Spotify", "https://open.spotify.com/artist/"+songID, "")
	require.Equal(t, library.Track{Artist: "Björk"}, artist.Track)
	require.Equal(t, "Jóga", readShared(known(), "Jóga", "https://example.org/a/b", "").Text)
	require.Empty(t, readShared(known(), "", "https://example.org/a/b", "").Text)
	require.Equal(t, "AC/DC", readShared(known(), "", "AC/DC", "").Text)
}

func FuzzWhatIsSharedIsReadOrLeft(f *testing.F) {
	for _, text := range []string{"https://youtu.be/" + videoID, "spotify:track:" + songID, "https://last.fm/music/%25",
		"https://[", "a - b", "\xff https://www.last.fm/music/%ff/_/%ff", strings.Repeat("https://last.fm/ ", 500)} {
		f.Add(text, text, text)
	}
	f.Fuzz(func(t *testing.T, title, text, link string) {
		s := readShared(known(), title, text, link)
		for _, one := range []string{s.Text, s.ID, s.MBID, s.Track.Title, s.Track.Artist, s.Track.Album} {
			require.True(t, utf8.ValidString(one))
			require.LessOrEqual(t, len(one), 2*mostShared+1)
		}
	})
}
