package navidrome

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/providers"
)

func TestQueries(t *testing.T) {
	t.Parallel()
	tests := []struct {
		title, artist string
		want          []string
	}{
		{"Blue", "Joni Mitchell", []string{"Blue Joni Mitchell", "Blue"}},
		{"Crazy in Love (feat. Jay-Z)", "Beyoncé, Jay-Z", []string{"Crazy in Love Beyoncé", "Crazy in Love (feat. Jay-Z)", "Crazy in Love"}},
		{"Heroes - 2017 Remaster", "David Bowie", []string{"Heroes David Bowie", "Heroes - 2017 Remaster", "Heroes"}},
		{"(Sittin' On) The Dock of the Bay", "Otis Redding", []string{"(Sittin' On) The Dock of the Bay Otis Redding", "(Sittin' On) The Dock of the Bay"}},
		{`"Heroes"*  `, "", []string{"Heroes"}},
		{"", "", nil},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, queries(providers.Track{Title: tt.title, Artist: tt.artist}), tt.title)
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	song := func(id, title, artist string, seconds int) providers.Track {
		return providers.Track{SourceID: id, Title: title, Artist: artist, Duration: time.Duration(seconds) * time.Second}
	}
	joga := song("", "Jóga", "Björk", 305)
	with := func(t providers.Track, f func(*providers.Track)) providers.Track { f(&t); return t }
	tests := []struct {
		name  string
		track providers.Track
		songs []providers.Track
		want  string
	}{
		{"nothing there", joga, nil, ""},
		{"case, accents and signs", joga, []providers.Track{song("a", "JOGA!", "bjork", 304)}, "a"},
		{"a length that nobody knows", song("", "Jóga", "Björk", 0), []providers.Track{song("a", "Jóga", "Björk", 304)}, "a"},
		{"another length", joga, []providers.Track{song("live", "Jóga", "Björk", 350)}, ""},
		{"another artist", joga, []providers.Track{song("cover", "Jóga", "Kronos Quartet", 305)}, ""},
		{"a remix", joga, []providers.Track{song("remix", "Jóga (Howie B Mix)", "Björk", 305)}, ""},
		{"the nearest length", joga, []providers.Track{song("a", "Jóga", "Björk", 309), song("b", "Jóga", "Björk", 304), song("c", "Jóga", "Björk", 301)}, "b"},
		{"the first of two", joga, []providers.Track{song("a", "Jóga", "Björk", 305), song("b", "Jóga", "Björk", 305)}, "a"},
		{
			"the same album", with(joga, func(t *providers.Track) { t.Album = "Homogenic" }),
			[]providers.Track{song("hits", "Jóga", "Björk", 305), with(song("album", "Jóga", "Björk", 302), func(t *providers.Track) { t.Album = "homogenic" })}, "album",
		},
		{
			"the same ISRC, whatever the names", with(joga, func(t *providers.Track) { t.ISRC = "GBAAA9700123" }),
			[]providers.Track{song("names", "Jóga", "Björk", 305), with(song("isrc", "Joga (2010 Remaster)", "Björk & Band", 0), func(t *providers.Track) { t.ISRC = "gbaaa9700123" })}, "isrc",
		},
		{
			"the same recording before all", with(joga, func(t *providers.Track) { t.ISRC, t.RecordingMBID = "GBAAA9700123", "c21be27a" }),
			[]providers.Track{with(song("isrc", "Jóga", "Björk", 305), func(t *providers.Track) { t.ISRC = "GBAAA9700123" }),
				with(song("mbid", "?", "?", 0), func(t *providers.Track) { t.RecordingMBID = "C21BE27A" })}, "mbid",
		},
		{"names of signs only", song("", "!!!", "†", 0), []providers.Track{song("a", "???", "†", 0), song("b", "!!!", "†", 0)}, "b"},
		{"no names at all", providers.Track{}, []providers.Track{song("a", "Jóga", "Björk", 305)}, ""},
	}
	for _, tt := range tests {
		got, ok := choose(tt.track, tt.songs)
		require.Equal(t, tt.want, got.SourceID, tt.name)
		require.Equal(t, tt.want != "", ok, tt.name)
	}
}
