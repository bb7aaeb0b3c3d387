package imports

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/playrules"
)

func TestWhatAFileSaysOfRulesIsBounded(t *testing.T) {
	t.Parallel()
	bad := func(to string, renamed, withheld int) bool {
		r := library.ListenRecord{Track: "Song", Artist: "A", PlayedAt: "2024-03-05T18:00:00Z",
			Ruled: &library.RuledRecord{Renamed: &library.RenamedRecord{Track: "Song - Live", Artist: "A",
				By: make([]library.RuleRecord, renamed)}}}
		for range withheld {
			r.Ruled.Withheld = append(r.Ruled.Withheld, library.WithheldRecord{Connection: library.ConnectionID(to)})
		}
		v := restored(r)
		return !v.bad.IsZero()
	}
	require.False(t, bad("lastfm-2", playrules.Most, mostWithheld))
	require.False(t, bad("", 1, 1), "everywhere")
	require.True(t, bad("lastfm", playrules.Most+1, 1))
	require.True(t, bad("lastfm", 1, mostWithheld+1))
	require.True(t, bad(strings.Repeat("a", 40), 1, 1), "no service is called that")
}
