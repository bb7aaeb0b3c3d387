package music

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
)

// Names that stand alone stay whole, and guests are found, however a credit is written.
func TestAwkwardCreditsAreReadRight(t *testing.T) {
	t.Parallel()
	const known = "Florence + The Machine|Tyler, The Creator|Tyler|Earth, Wind & Fire|Earth|Simon & Garfunkel|" +
		"60 Ft. Dolls|Drake|Rihanna|Frank Ocean|Kendrick Lamar|SZA|Crosby|Hall|Nick Cave|Bob Marley|The Wailers"
	alone := func(name string) bool {
		return slices.ContainsFunc(strings.Split(known, "|"), func(k string) bool { return Normal(k) == Normal(name) })
	}
	for text, want := range map[string]string{
		"":                                   "",
		"Björk":                              "Björk",
		"Florence + The Machine":             "Florence + The Machine",
		"Tyler, The Creator":                 "Tyler, The Creator",
		"TYLER, THE CREATOR":                 "TYLER, THE CREATOR",
		"Earth, Wind & Fire":                 "Earth, Wind & Fire",
		"Crosby, Stills & Nash":              "Crosby, Stills & Nash", // Stills & Nash is unknown
		"Bob Marley & The Wailers":           "Bob Marley & The Wailers",
		"Nick Cave & The Bad Seeds":          "Nick Cave & The Bad Seeds",
		"Hall & Oates":                       "Hall & Oates",
		"AC/DC":                              "AC/DC",
		"The Feathers":                       "The Feathers",
		"Daft Punk":                          "Daft Punk",
		"Soft Cell":                          "Soft Cell",
		"feat. Nobody":                       "feat. Nobody",
		"Nobody feat.":                       "Nobody feat.",
		"60 Ft. Dolls":                       "60 Ft. Dolls",
		"Somebody ft. Somewhere":             "Somebody|Somewhere",
		"60 Ft. Dolls feat. SZA":             "60 Ft. Dolls|SZA",
		"SZA feat. 60 Ft. Dolls":             "SZA|60 Ft. Dolls",
		"Drake, Rihanna":                     "Drake|Rihanna",
		"Drake, Nobody Known":                "Drake, Nobody Known",
		"Drake, Tyler, The Creator":          "Drake, Tyler, The Creator", // no list of known names
		"Drake feat. Rihanna":                "Drake|Rihanna",
		"Drake FEAT. Rihanna & SZA":          "Drake|Rihanna|SZA",
		"Drake (feat. Simon & Garfunkel)":    "Drake|Simon & Garfunkel",
		"Drake [ft. Rihanna]":                "Drake|Rihanna",
		"Drake featuring Tyler, The Creator": "Drake|Tyler, The Creator",
		"Drake feat. Earth, Wind & Fire":     "Drake|Earth, Wind & Fire",
		"Florence + The Machine feat. Kendrick Lamar":     "Florence + The Machine|Kendrick Lamar",
		"Tyler, The Creator feat. Frank Ocean and SZA":    "Tyler, The Creator|Frank Ocean|SZA",
		"Drake feat. Fleet & Foxes":                       "Drake|Fleet & Foxes",
		"Drake; Rihanna; SZA":                             "Drake|Rihanna|SZA",
		"Drake • Rihanna":                                 "Drake|Rihanna",
		"Drake feat. Rihanna feat. SZA":                   "Drake|Rihanna|SZA",
		"Drake feat. drake":                               "Drake",
		"Various Artists":                                 "",
		"Various Artists feat. SZA":                       "SZA",
		"V A R I O U S Artists":                           "",
		"İstanbul feat. SZA":                              "İstanbul feat. SZA", // its lower case is longer
		strings.Repeat("x feat. ", 100) + "y":             "x|y",
		strings.Repeat("Drake, ", 20) + "Rihanna":         strings.Repeat("Drake, ", 20) + "Rihanna", // too many
		"Simon & Garfunkel, Drake feat. Frank Ocean, SZA": "Simon & Garfunkel|Drake|Frank Ocean|SZA",
	} {
		var names []string
		for _, c := range CreditsOf(library.Track{Artist: text}, alone) {
			names = append(names, c.Name)
		}
		require.Equal(t, want, strings.Join(names, "|"), text)
		var asked []string
		NamesIn(text, func(name string) bool { asked = append(asked, name); return alone(name) })
		for _, name := range asked {
			require.True(t, name == text || len(cuttings(text, leadMarks)) == mostMarks ||
				slices.Contains(Possible(text), name), "%q of %q is looked up", name, text)
		}
	}
}
