package navidrome

import (
	"testing"

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
		{"Crazy in Love (feat. Jay-Z)", "Beyoncé, Jay-Z",
			[]string{"Crazy in Love Beyoncé", "Crazy in Love (feat. Jay-Z)", "Crazy in Love"}},
		{"Heroes - 2017 Remaster", "David Bowie", []string{"Heroes David Bowie", "Heroes - 2017 Remaster", "Heroes"}},
		{"(Sittin' On) The Dock of the Bay", "Otis Redding", []string{"(Sittin' On) The Dock of the Bay Otis " +
			"Redding", "(Sittin' On) The Dock of the Bay"}},
		{`"Heroes"*  `, "", []string{"Heroes"}},
		{"", "", nil},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, queries(library.Track{Title: tt.title, Artist: tt.artist}), tt.title)
	}
}
