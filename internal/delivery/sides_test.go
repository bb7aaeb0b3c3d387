package delivery

import (
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
)

// listed returns tracks by their ids; each is called like its id without the first letter, which is its service.
func listed(ids ...string) (all []library.Track) {
	for _, id := range ids {
		all = append(all, library.Track{SourceID: id, Title: id[1:], Artist: "Sigur Rós"})
	}
	return all
}

func TestSongsOfBothSidesArePaired(t *testing.T) {
	for _, test := range []struct {
		name        string
		base        []pair
		here, there []library.Track
		found, told []string
		mine, yours []string // what both become
	}{
		{name: "new on both sides, by name", base: []pair{{"sOne", "nOne"}},
			here: listed("sOne", "sTwo"), there: listed("nOne", "nTwo"), found: []string{"", ""},
			told: []string{"", ""}, mine: []string{"sOne", "sTwo"}, yours: []string{"nOne", "nTwo"}},
		{name: "new on both sides, by a search", base: []pair{{"sOne", "nOne"}},
			here: listed("sOne", "sTwo"), there: listed("nOne", "nZwei"), found: []string{"", "nZwei"},
			told: []string{"", ""}, mine: []string{"sOne", "sTwo"}, yours: []string{"nOne", "nZwei"}},
		{name: "not there, then added by hand", base: []pair{{"sOne", "nOne"}, {"sTwo", ""}},
			here: listed("sOne", "sTwo"), there: listed("nOne", "nTwo"), found: []string{"", ""},
			told: []string{"", ""}, mine: []string{"sOne", "sTwo"}, yours: []string{"nOne", "nTwo"}},
		{name: "missing on either side, then found to be one",
			base: []pair{{"sOne", "nOne"}, {"sTwo", ""}, {"", "nZwei"}},
			here: listed("sOne", "sTwo"), there: listed("nOne", "nZwei"), found: []string{"", "nZwei"},
			told: []string{"", ""}, mine: []string{"sOne", "sTwo"}, yours: []string{"nOne", "nZwei"}},
		{name: "twice in a list", base: []pair{{"sOne", "nOne"}, {"sTwo", "nTwo"}, {"sOne", "nOne"}},
			here: listed("sOne", "sTwo", "sOne"), there: listed("nOne", "nTwo", "nOne", "nNew"),
			found: []string{"", "", ""}, told: []string{"", "", "", "sNew"},
			mine: []string{"sOne", "sTwo", "sOne", "sNew"}, yours: []string{"nOne", "nTwo", "nOne", "nNew"}},
		{name: "by another id there than before", base: []pair{{"sOne", "nOne"}, {"sTwo", "nTwo"}},
			here: listed("sOne", "sTwo"), there: listed("mOne", "nTwo"), found: []string{"nOne", "nTwo"},
			told: []string{"", ""}, mine: []string{"sOne", "sTwo"}, yours: []string{"mOne", "nTwo"}},
		{name: "by another id here than before", base: []pair{{"sOne", "nOne"}, {"sTwo", "nTwo"}},
			here: listed("rOne", "sTwo"), there: listed("nOne", "nTwo"), found: []string{"", ""},
			told: []string{"sOne", ""}, mine: []string{"rOne", "sTwo"}, yours: []string{"nOne", "nTwo"}},
		{name: "another version there is the same song here", base: []pair{{"sOne", "nOne"}},
			here: listed("sOne"), there: listed("nOne", "nOne live"), found: []string{""}, told: []string{"", "sOne"},
			mine: []string{"sOne"}, yours: []string{"nOne", "nOne live"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := Copy{Agreed: jsonOf(test.base)}
			b := &both{copy: &c, here: test.here, there: test.there, found: test.found, told: test.told}
			require.True(t, b.merge())
			require.Equal(t, test.mine, b.ids(Here))
			require.Equal(t, test.yours, b.ids(There))

			c.Agreed = b.agreed(test.yours)
			again := &both{copy: &c, here: listed(test.mine...), there: listed(test.yours...),
				found: make([]string, len(test.mine)), told: make([]string, len(test.yours))}
			require.True(t, again.merge())
			require.Equal(t, test.mine, again.ids(Here))
			require.Equal(t, test.yours, again.ids(There), "and so it stays")
		})
	}
}
