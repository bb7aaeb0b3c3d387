package imports

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkRead reads an export of each provider without storing it.
func BenchmarkRead(b *testing.B) {
	for provider, line := range map[string]string{
		"spotify": `{"ts":"2024-03-05T18:04:30Z","platform":"android","ms_played":270000,"conn_country":"IS",` +
			`"master_metadata_track_name":"Hoppípolla","master_metadata_album_artist_name":"Sigur Rós",` +
			`"master_metadata_album_album_name":"Takk...","spotify_track_uri":"spotify:track:4uLU6hMCjMI75M1A2tKUQC",` +
			`"episode_name":null,"episode_show_name":null,"spotify_episode_uri":null,"reason_start":"trackdone",` +
			`"reason_end":"trackdone","shuffle":false,"skipped":false,"offline":false,"incognito_mode":false},`,
		"listenbrainz": `{"listened_at":1709661600,"recording_msid":"m-1","track_metadata":{` +
			`"artist_name":"Sigur Rós",` +
			`"track_name":"Hoppípolla","additional_info":{"duration_ms":270000,"media_player":"x"}}}` + "\n",
		"lastfm": `"1709661600","05 Mar 2024, 18:00","Sigur Rós","","Takk...","","Hoppípolla",""` + "\n",
	} {
		const n = 10_000
		text := bytes.Repeat([]byte(line), n)
		switch provider {
		case "spotify":
			text = fmt.Appendf(nil, "[%s]", text[:len(text)-1])
		case "lastfm":
			text = append([]byte("uts,utc_time,artist,artist_mbid,album,album_mbid,track,track_mbid\n"), text...)
		}
		b.Run(provider, func(b *testing.B) {
			for b.Loop() {
				rows := 0
				m := newMeter(bytes.NewReader(text), int64(len(text)))
				err := formats[provider].read(m, Answers{}, func(v row) bool {
					rows++
					return v.bad.IsZero()
				})
				require.NoError(b, err)
				require.Equal(b, n, rows)
			}
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
