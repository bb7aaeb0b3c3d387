package navidrome

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
)

func TestPlainWords(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Hells Bells":                           "Hells Bells",
		"Don’t Stop Believin'":                  "Don Stop Believin",
		"Svefn-g-englar":                        "Svefn",
		"The Sound of Silence":                  "Sound of Silence",
		"Me & Julio":                            "Me Julio",
		"Rock 'n' Roll":                         "Rock Roll",
		"Another Brick in the Wall, Pt. 2":      "Another Brick in Wall",
		"(I Can't Get No) Satisfaction":         "Can Get Satisfaction",
		"AC/DC":                                 "AC DC",
		"R.E.M.":                                "R",
		"P!nk":                                  "P",
		"$ave":                                  "$ave",
		"???":                                   "",
		"The The":                               "The The",
		"99 Luftballons":                        "99 Luftballons",
		"丸の内サディスティック":                           "丸の内サディスティック",
		"‘Heroes’ and “Villains”":               "Heroes Villains",
		"\xff\xfe bad \xffbytes":                "bad",
		"":                                      "",
		"...Baby One More Time (Remix) [2 x 4]": "Baby One More Time Remix 2 4",
	} {
		require.Equal(t, want, plainWords(name), name)
	}
}

func TestLongestPlain(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Hells Bells":           "hells bells",
		"Don’t Stop Believin'":  "t stop believin",
		"Svefn-g-englar":        "englar",
		"The Sound of Silence":  "sound of silence",
		"Rock and Roll":         "rock",
		"Another Brick, Pt. 2":  "another brick",
		"Jóga":                  "ga",
		"ЗВЕЗДА ПО ИМЕНИ":       "везда",
		"丸の内サディスティック":           "丸の内サディスティック",
		"(Sittin' On) the Dock": "sittin",
		"Straße":                "stra",
		"???":                   "",
		"":                      "",
	} {
		require.Equal(t, want, longestPlain(name), name)
	}
}

func TestSpellings(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"Don't Stop", "t stop", "don't stop", "Don’t Stop", "Don’t Stop", "Don’t Stop",
		"Don't Stop", "Don’t Stop (2004 Remaster)"}, spellings("Don’t Stop (2004 Remaster)"))
	require.Equal(t, []string{"Heroes", "heroes", `"heroes"`, `"Heroes"`, `"Heroes"`, "“Heroes”",
		`"Heroes"`, "“Heroes”", "heroes"}, spellings("“Heroes”"))
	require.Empty(t, spellings(" "))
}

func FuzzSpellings(f *testing.F) {
	for _, name := range []string{"Don’t Stop", "Svefn-g-englar (Live)", "ЗВЕЗДА", "がき", "\xff'", "&&&", "İstanbul"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		require.LessOrEqual(t, len(longestPlain(name)), 3*len(name)) // some small letters have more bytes
		plainWords(name)
		require.LessOrEqual(t, len(spellings(name)), 9)
	})
}

// A list of artists in a form of its own costs nothing else of the song.
func TestArtistsOfASongAreListed(t *testing.T) {
	t.Parallel()
	two := []library.Credit{{Name: "Ike"}, {Name: "Tina"}}
	for body, want := range map[string][]library.Credit{
		`{"title":"River","artists":[{"id":"1","name":"Ike"},{"name":""},{"id":2,"name":"Tina"}]}`: two,
		`{"title":"River","artists":{"name":"Ike"}}`:                                               two[:1],
		`{"title":"River","artists":["Ike","Tina"]}`:                                               nil,
		`{"title":"River","artists":"Ike"}`:                                                        nil,
		`{"title":"River","artists":null}`:                                                         nil,
		`{"title":"River"}`:                                                                        nil,
	} {
		var s song
		require.NoError(t, json.Unmarshal([]byte(body), &s), body)
		require.Equal(t, library.Track{Title: "River", Artists: want}, s.track(), body)
	}
	var s ownSong
	require.NoError(t, json.Unmarshal([]byte(`{"title":"River","participants":{"artist":[{"name":"Ike"},
		{"name":"Tina"}],"composer":[{"name":"Phil"}]}}`), &s))
	require.Equal(t, two, s.track().Artists)
}
