package match

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
)

// A missing value is no disagreement, and neither is one that is written differently.
func TestWhatIsNotToldDoesNotDisagree(t *testing.T) {
	t.Parallel()
	bells := song("Hells Bells", "AC/DC", "Back in Black", 312)
	tests := []struct {
		name  string
		want  library.Track
		songs []library.Track
		found int // -1 for none
	}{
		{"no length and no album", song("Hells Bells", "AC/DC", "", 0), []library.Track{bells}, 0},
		{"no length, and another album", song("Hells Bells", "AC/DC", "Who Made Who", 0), []library.Track{bells}, 0},
		{"an album that the library does not tell", song("Hells Bells", "AC/DC", "Back in Black", 0),
			[]library.Track{song("Hells Bells", "AC/DC", "", 312)}, 0},
		{"a few seconds of silence more", song("Hells Bells", "AC/DC", "", 305), []library.Track{bells}, 0},
		{"the same song on several albums", song("Hells Bells", "AC/DC", "", 0),
			[]library.Track{bells, song("Hells Bells", "AC/DC", "Who Made Who", 310)}, 0},
		{"the album and its later edition", song("Airbag", "Radiohead", "OK Computer OKNOTOK 1997 2017", 0),
			[]library.Track{song("Airbag", "Radiohead", "Demos", 200),
				song("Airbag", "Radiohead", "OK Computer", 284)}, 1},
		{"a remaster on an anniversary's edition", song("Airbag", "Radiohead", "OK Computer", 0),
			[]library.Track{song("Airbag", "Radiohead", "Demos", 200),
				song("Airbag (Remastered)", "Radiohead", "OK Computer (20th Anniversary Edition)", 284)}, 1},
		{"two recordings, and nothing tells which", song("Hells Bells", "AC/DC", "", 0),
			[]library.Track{bells, song("Hells Bells", "AC/DC", "Live Wire", 400)}, -1},
		{"a second volume is another album", song("One", "Metallica", "Best of 2", 0),
			[]library.Track{song("One", "Metallica", "Best of", 447), song("One", "Metallica", "Gold", 300)}, -1},
		{"an interlude of another album", song("Interlude", "Ann", "First", 0),
			[]library.Track{song("Interlude", "Ann", "Second", 60)}, -1},
		{"an interlude of the album", song("Interlude", "Ann", "First", 0),
			[]library.Track{song("Interlude", "Ann", "Second", 60),
				song("Interlude", "Ann", "First (Deluxe)", 90)}, 1},
		{"an interlude of this length", song("Interlude", "Ann", "First", 61),
			[]library.Track{song("Interlude", "Ann", "Hits", 60)}, 0},
		{"an interlude of no album", song("Untitled", "Ann", "", 0),
			[]library.Track{song("Untitled", "Ann", "Second", 60)}, 0},
		{"an untitled one of a near length", song("Untitled 2", "Ann", "First", 68),
			[]library.Track{song("Untitled 2", "Ann", "Second", 60)}, -1},
		{"a concert", song("Hells Bells", "AC/DC", "", 0),
			[]library.Track{song("Hells Bells", "AC/DC", "Live at River Plate", 312)}, -1},
		{"another length", song("Hells Bells", "AC/DC", "Back in Black", 340), []library.Track{bells}, -1},
		{"somebody else's", song("Hells Bells", "Apocalyptica", "", 0), []library.Track{bells}, -1},
	}
	for _, tt := range tests {
		got, ok := Sure(tt.want, tt.songs)
		require.Equal(t, tt.found >= 0, ok, tt.name)
		if ok {
			require.Equal(t, tt.songs[tt.found], got, tt.name)
			require.Equal(t, ByName, Choose(tt.want, tt.songs).How, tt.name)
		}
	}
}

// What is found but not trusted is offered, the most likely first.
func TestCandidatesAreOffered(t *testing.T) {
	t.Parallel()
	want := song("Angel", "Massive Attack", "Mezzanine", 379)
	short, live := song("Angel", "Massive Attack", "Collected", 290), song("Angel (Live)", "Massive Attack", "", 400)
	typo := song("Angell", "Massive Atack", "", 0)
	others := []library.Track{song("Angel", "Robbie Williams", "", 379), song("Teardrop", "Massive Attack", "", 379),
		song("", "", "", 0)}
	require.Equal(t, []library.Track{short, typo, live}, Possible(want, append(others, typo, live, short)))
	require.Empty(t, Possible(want, others))
	require.Empty(t, Possible(want, nil))
	tokyo := song("丸ノ内サディスティック", "Ringo Sheena", "", 0)
	require.Equal(t, []library.Track{tokyo}, Possible(song("丸ノ内サディスティック", "椎名林檎", "", 200),
		[]library.Track{tokyo}), "the artist in another script")
	require.Len(t, Possible(want, alikeTo(want, 40)), mostPossible)
}

func alikeTo(t library.Track, n int) (all []library.Track) {
	for i := range n {
		t.Duration += time.Hour
		t.Album = string(rune('a' + i%26))
		all = append(all, t)
	}
	return all
}

// One song has one key however it is written, and another version of it has another.
func TestKeyOfASong(t *testing.T) {
	t.Parallel()
	same := []library.Track{song("Don't Stop", "Fleetwood Mac", "Rumours", 193),
		song("DON’T STOP (2004 Remaster)", "fleetwood mac", "", 0), song("Don't stop", "Fleetwood  Mac", "x", 999)}
	for _, s := range same {
		require.Equal(t, Key(same[0]), Key(s))
		require.Len(t, Key(s), 32)
	}
	for _, s := range []library.Track{song("Don't Stop (Live)", "Fleetwood Mac", "", 193),
		song("Don't Stop", "Glee Cast", "", 193), song("Don't Stop", "", "", 193),
		song("Don't Stop Fleetwood", "Mac", "", 0),
		song("Don't Stop Me", "Fleetwood Mac", "", 0)} {
		require.NotEqual(t, Key(same[0]), Key(s))
	}
	require.Equal(t, Key(song("Under Pressure", "Queen & David Bowie", "", 0)),
		Key(song("Under Pressure", "David Bowie, Queen", "", 0)))
}
