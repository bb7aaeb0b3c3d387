package delivery

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/match"
)

func TestAReportStaysSmall(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 500)
	r := Report{Total: 20_000, Matched: 19_999}
	for range r.Total {
		r.Tracks = append(r.Tracks, ReportTrack{Title: long, Artist: long, How: match.ByScore, Found: long + long})
	}
	r.Tracks[r.Total-1] = ReportTrack{Title: "Lost"}
	kept := r.kept()
	require.Len(t, kept.Tracks, 5_000)
	require.Equal(t, ReportTrack{Title: "Lost"}, kept.Tracks[0])
	require.Equal(t, 19_999, kept.Matched)
	require.Less(t, len(jsonOf(kept)), 2<<20)
	require.Len(t, r.Tracks[0].Title, 500, "the report that is written by stays whole")
	few := Report{Total: 1, Tracks: []ReportTrack{{Title: "Rain"}}}
	require.Equal(t, few, few.kept())
}
