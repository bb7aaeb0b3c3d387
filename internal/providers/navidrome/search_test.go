package navidrome

import (
	"testing"
	"time"

	"reprise/internal/library"

	"github.com/stretchr/testify/require"
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
		require.Equal(t, tt.want, queries(library.Track{Title: tt.title, Artist: tt.artist}), tt.title)
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	song := func(id, title, artist string, seconds int) library.Track {
		return library.Track{SourceID: id, Title: title, Artist: artist, Duration: time.Duration(seconds) * time.Second}
	}
	joga := song("", "Jóga", "Björk", 305)
	with := func(t library.Track, f func(*library.Track)) library.Track { f(&t); return t }
	tests := []struct {
		name  string
		track library.Track
		songs []library.Track
		want  string
	}{
		{"nothing there", joga, nil, ""},
		{"case, accents and signs", joga, []library.Track{song("a", "JOGA!", "bjork", 304)}, "a"},
		{"a length that nobody knows", song("", "Jóga", "Björk", 0), []library.Track{song("a", "Jóga", "Björk", 304)}, "a"},
		{"another length", joga, []library.Track{song("live", "Jóga", "Björk", 350)}, ""},
		{"another artist", joga, []library.Track{song("cover", "Jóga", "Kronos Quartet", 305)}, ""},
		{"a remix", joga, []library.Track{song("remix", "Jóga (Howie B Mix)", "Björk", 305)}, ""},
		{"the nearest length", joga, []library.Track{song("a", "Jóga", "Björk", 309), song("b", "Jóga", "Björk", 304), song("c", "Jóga", "Björk", 301)}, "b"},
		{"the first of two", joga, []library.Track{song("a", "Jóga", "Björk", 305), song("b", "Jóga", "Björk", 305)}, "a"},
		{
			"the same album", with(joga, func(t *library.Track) { t.Album = "Homogenic" }),
			[]library.Track{song("hits", "Jóga", "Björk", 305), with(song("album", "Jóga", "Björk", 302), func(t *library.Track) { t.Album = "homogenic" })}, "album",
		},
		{
			"the same ISRC, whatever the names", with(joga, func(t *library.Track) { t.ISRC = "GBAAA9700123" }),
			[]library.Track{song("names", "Jóga", "Björk", 305), with(song("isrc", "Joga (2010 Remaster)", "Björk & Band", 0), func(t *library.Track) { t.ISRC = "gbaaa9700123" })}, "isrc",
		},
		{
			"the same recording before all", with(joga, func(t *library.Track) { t.ISRC, t.RecordingMBID = "GBAAA9700123", "c21be27a" }),
			[]library.Track{with(song("isrc", "Jóga", "Björk", 305), func(t *library.Track) { t.ISRC = "GBAAA9700123" }),
				with(song("mbid", "?", "?", 0), func(t *library.Track) { t.RecordingMBID = "C21BE27A" })}, "mbid",
		},
		{"names of signs only", song("", "!!!", "†", 0), []library.Track{song("a", "???", "†", 0), song("b", "!!!", "†", 0)}, "b"},
		{"no names at all", library.Track{}, []library.Track{song("a", "Jóga", "Björk", 305)}, ""},
	}
	for _, tt := range tests {
		got, ok := choose(tt.track, tt.songs)
		require.Equal(t, tt.want, got.SourceID, tt.name)
		require.Equal(t, tt.want != "", ok, tt.name)
	}
}
