package listenbrainz

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzRead requires that a submission is either refused, or has plays that can be kept.
func FuzzRead(f *testing.F) {
	for _, body := range []string{`{}`, `{"listen_type":"single","payload":[{"listened_at":1795400000,"track_metadata":{
		"artist_name":"A","track_name":"T","additional_info":{"duration_ms":240,"artist_names":["A"],
		"artist_mbids":["x"]}}}]}`,
		`{"listen_type":"playing_now","payload":[{"track_metadata":{"artist_name":"A","track_name":"T"}}]}`,
		`{"listen_type":"import","payload":[{"listened_at":"1e99","track_metadata":{"artist_name":null,
		"track_name":7}}]}`,
		`{"payload":[null]}`, `[`} {
		f.Add([]byte(body))
	}
	now := time.Date(2026, 11, 27, 20, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, body []byte) {
		s, err := Read(body, now)
		if err != nil {
			return
		}
		require.NotEmpty(t, s.Plays)
		for _, p := range s.Plays {
			l := p.Listen()
			require.True(t, l.Clean(now))
			require.NotEmpty(t, l.Title)
			require.NotEmpty(t, l.Artist)
		}
	})
}

// TestALengthInSecondsIsUnderstood: supysonic writes seconds where milliseconds belong.
func TestALengthInSecondsIsUnderstood(t *testing.T) {
	t.Parallel()
	s, err := Read([]byte(`{"listen_type":"single","payload":[{"listened_at":1795400000,"track_metadata":{
		"artist_name":"A","track_name":"T","additional_info":{"duration_ms":240}}}]}`), time.Unix(1795400100, 0))
	require.NoError(t, err)
	require.Equal(t, 4*time.Minute, s.Plays[0].Duration)
}
