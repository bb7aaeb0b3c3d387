package match

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
)

// A song of a library is taken only where it is surely the track.
func TestSureOfALibrary(t *testing.T) {
	t.Parallel()
	named := func(id, title, artist string, seconds int) library.Track {
		return library.Track{SourceID: id, Title: title, Artist: artist, Duration: time.Duration(seconds) * time.Second}
	}
	jogas := func(id string, seconds int) library.Track { return named(id, "Jóga", "Björk", seconds) }
	joga := named("", "Jóga", "Björk", 305)
	with := func(t library.Track, f func(*library.Track)) library.Track { f(&t); return t }
	tests := []struct {
		name  string
		track library.Track
		songs []library.Track
		want  string
	}{
		{"nothing there", joga, nil, ""},
		{"case, accents and signs", joga, []library.Track{named("a", "JOGA!", "bjork", 304)}, "a"},
		{"a length that nobody knows", named("", "Jóga", "Björk", 0), []library.Track{jogas("a", 304)}, "a"},
		{"another length", joga, []library.Track{jogas("live", 350)}, ""},
		{"another artist", joga, []library.Track{named("cover", "Jóga", "Kronos Quartet", 305)}, ""},
		{"a remix", joga, []library.Track{named("remix", "Jóga (Howie B Mix)", "Björk", 305)}, ""},
		{"the nearest length", joga, []library.Track{jogas("a", 309), jogas("b", 304), jogas("c", 301)}, "b"},
		{"the first of two", joga, []library.Track{jogas("a", 305), jogas("b", 305)}, "a"},
		{
			"the same album", with(joga, func(t *library.Track) { t.Album = "Homogenic" }),
			[]library.Track{jogas("hits", 305), with(jogas("album", 302), func(t *library.Track) {
				t.Album = "homogenic"
			})}, "album",
		},
		{
			"the same ISRC, whatever the names", with(joga, func(t *library.Track) { t.ISRC = "GBAAA9700123" }),
			[]library.Track{jogas("names", 305), with(named("isrc", "Joga (2010 Remaster)", "Björk & Band", 0),
				func(t *library.Track) { t.ISRC = "gbaaa9700123" })}, "isrc",
		},
		{
			"the same recording, whatever the names",
			with(joga, func(t *library.Track) { t.RecordingMBID = "c21be27a-6f0d-4c1b-9d1e-0b1f5a0c7c11" }),
			[]library.Track{jogas("names", 305), with(named("mbid", "?", "?", 0), func(t *library.Track) {
				t.RecordingMBID = "C21BE27A-6F0D-4C1B-9D1E-0B1F5A0C7C11"
			})}, "mbid",
		},
		{"names of signs only", named("", "!!!", "†", 0),
			[]library.Track{named("a", "???", "†", 0), named("b", "!!!", "†", 0)}, "b"},
		{"no names at all", library.Track{}, []library.Track{jogas("a", 305)}, ""},
	}
	for _, tt := range tests {
		got, ok := Sure(tt.track, tt.songs)
		require.Equal(t, tt.want, got.SourceID, tt.name)
		require.Equal(t, tt.want != "", ok, tt.name)
	}
}
