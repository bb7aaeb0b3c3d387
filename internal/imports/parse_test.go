package imports

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"reprise/internal/library"

	"github.com/stretchr/testify/require"
)

// rows reads a text as an export and returns each row on a line of its own.
func rows(t *testing.T, provider, text string) ([]string, error) {
	t.Helper()
	var all []string
	err := formats[provider].read(newMeter(strings.NewReader(text), int64(len(text))), func(v row) bool {
		l := v.listen
		switch {
		case v.bad != "":
			all = append(all, "bad: "+v.bad)
		case v.skip:
			all = append(all, "skipped")
		default:
			all = append(all, fmt.Sprintf("%s | %s – %s – %s | %s | %s", l.PlayedAt.Format(time.RFC3339), l.Artist, l.Title, l.Album, l.Duration, l.SourceID))
		}
		return true
	})
	return all, err
}

func TestEveryFormatIsRead(t *testing.T) {
	t.Parallel()
	hash := library.NameHash("Sigur Rós", "Hoppípolla")
	for name, c := range map[string]struct {
		provider, text string
		want           []string
	}{
		"Spotify, extended": {"spotify", "\xef\xbb\xbf" + ` [
			{"ts":"2024-03-05T18:04:30Z","ms_played":270000,"master_metadata_track_name":"Hoppípolla","master_metadata_album_artist_name":"Sigur Rós","master_metadata_album_album_name":"Takk...","spotify_track_uri":"spotify:track:abc","reason_end":"trackdone","skipped":false},
			{"ts":"2024-03-05T18:05:30Z","ms_played":45000,"master_metadata_track_name":"Glósóli","master_metadata_album_artist_name":"Sigur Rós","master_metadata_album_album_name":null,"spotify_track_uri":null,"reason_end":"fwdbtn","skipped":null},
			{"ts":"2024-03-05T18:06:00Z","ms_played":29999,"master_metadata_track_name":"Short","master_metadata_album_artist_name":"A","spotify_track_uri":"spotify:track:x"},
			{"ts":"2024-03-05T19:06:00Z","ms_played":2999900,"master_metadata_track_name":null,"episode_name":"A podcast"},
			{"ts":"yesterday","ms_played":50000,"master_metadata_track_name":"T","master_metadata_album_artist_name":"A"},
			{"ts":"2024-03-05T19:06:00Z","ms_played":"long"}, 7,
			{"ts":"1970-01-01T00:00:00Z","ms_played":50000,"master_metadata_track_name":"T","master_metadata_album_artist_name":"A"},
			{"title":"another thing"}]`, []string{
			"2024-03-05T18:00:00Z | Sigur Rós – Hoppípolla – Takk... | 4m30s | export/extended:1709661870:270000:abc",
			"2024-03-05T18:04:45Z | Sigur Rós – Glósóli –  | 0s | export/extended:1709661930:45000:" + library.NameHash("Sigur Rós", "Glósóli"),
			"skipped", "skipped", "bad: a time that cannot be read", "bad: not in the form of a play", "bad: not in the form of a play", "bad: played at an impossible time", "bad: no time"}},
		"Spotify, short": {"spotify", `[{"endTime":"2024-03-05 18:04","artistName":"Sigur Rós","trackName":"Hoppípolla","msPlayed":270000},
			{"endTime":"2024-03-05 18:04","podcastName":"P","episodeName":"E","msPlayed":270000}]`, []string{
			"2024-03-05T18:00:00Z | Sigur Rós – Hoppípolla –  | 0s | export/short:1709661840:270000:" + hash, "skipped"}},
		"Last.fm, a table with seconds": {"lastfm", "\"uts\",\"utc_time\",\"artist\",\"artist_mbid\",\"album\",\"album_mbid\",\"track\",\"track_mbid\"\r\n" +
			"\"1709661600\",\"05 Mar 2024, 18:00\",\"Sigur Rós\",\"\",\"Takk...\",\"\",\"Hoppípolla\",\"\"\r\n1,2\r\n", []string{
			"2024-03-05T18:00:00Z | Sigur Rós – Hoppípolla – Takk... | 0s | 1709661600:" + hash, "bad: too few columns"}},
		"Last.fm, a table without a heading": {"lastfm", "Sigur Rós,Takk...,Hoppípolla,05 Mar 2024 18:00\nSigur Rós,,Now,\nA,B,C,soon\n", []string{
			"2024-03-05T18:00:30Z | Sigur Rós – Hoppípolla – Takk... | 0s | export/minutes:1709661600:" + hash, "skipped", "bad: a time that cannot be read"}},
		"Last.fm, a table with semicolons": {"lastfm", "Artist;Album;AlbumId;Track;Date#alice\n\"Sigur Rós\";\"Takk, and more\";\"\";\"Hoppípolla\";\"1709661600000\"\n", []string{
			"2024-03-05T18:00:00Z | Sigur Rós – Hoppípolla – Takk, and more | 0s | 1709661600:" + hash}},
		"Last.fm, pages": {"lastfm", `[{"track":[{"artist":{"#text":"Sigur Rós","mbid":""},"album":{"#text":"Takk..."},"name":"Hoppípolla","date":{"uts":"1709661600","#text":"05 Mar 2024, 18:00"}},
			{"artist":{"name":"Sigur Rós"},"name":"Now","@attr":{"nowplaying":"true"}}],"@attr":{"page":"1"}}]`, []string{
			"2024-03-05T18:00:00Z | Sigur Rós – Hoppípolla – Takk... | 0s | 1709661600:" + hash, "skipped"}},
		"Last.fm, answers one after the other": {"lastfm", `{"recenttracks":{"@attr":{"page":"1"},"track":[{"artist":{"#text":"Sigur Rós"},"name":"Hoppípolla","date":{"uts":1709661600}}]}}
			{"recenttracks":{"track":[{"artist":"Sigur Rós","name":"Glósóli","date":"1709661000"}]}}`, []string{
			"2024-03-05T18:00:00Z | Sigur Rós – Hoppípolla –  | 0s | 1709661600:" + hash,
			"2024-03-05T17:50:00Z | Sigur Rós – Glósóli –  | 0s | 1709661000:" + library.NameHash("Sigur Rós", "Glósóli")}},
		"Last.fm, scrobbles": {"lastfm", `{"username":"alice","scrobbles":[{"track":"Hoppípolla","artist":"Sigur Rós","album":"Takk...","albumId":"","date":1709661600000}]}`, []string{
			"2024-03-05T18:00:00Z | Sigur Rós – Hoppípolla – Takk... | 0s | 1709661600:" + hash}},
		"ListenBrainz, lines": {"listenbrainz", `{"listened_at":1709661600.000000,"inserted_at":1.5,"track_metadata":{"artist_name":"Sigur Rós","track_name":"Hoppípolla","release_name":"Takk...","recording_msid":"m-1","mbid_mapping":null,"additional_info":{"duration_ms":270000}}}

{"listened_at":1709661600,"track_metadata":{"artist_name":"Sigur Rós","track_name":"Hoppípolla","additional_info":{"duration":"270"}}}
{"listened_at":
{"user_id":1}
`, []string{"2024-03-05T18:00:00Z | Sigur Rós – Hoppípolla – Takk... | 4m30s | 1709661600:m-1",
			"2024-03-05T18:00:00Z | Sigur Rós – Hoppípolla –  | 4m30s | export/listens:1709661600:" + hash, "bad: not in the form of a listen", "bad: no time"}},
		"ListenBrainz, a list": {"listenbrainz", `[{"listened_at":1709661600,"recording_msid":"m-1","track_metadata":{"artist_name":"Sigur Rós","track_name":"Hoppípolla"}}]`, []string{
			"2024-03-05T18:00:00Z | Sigur Rós – Hoppípolla –  | 0s | 1709661600:m-1"}},
		"ListenBrainz, an answer": {"listenbrainz", `{"payload":{"listens":[{"listened_at":1709661600,"recording_msid":"m-1","track_metadata":{"artist_name":"Sigur Rós","track_name":"Hoppípolla"}}]}}`, []string{
			"2024-03-05T18:00:00Z | Sigur Rós – Hoppípolla –  | 0s | 1709661600:m-1"}},
	} {
		got, err := rows(t, c.provider, c.text)
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
}

func TestAnotherKindOfFileIsRecognised(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ provider, text string }{
		{"spotify", `{"listened_at":1}`}, {"spotify", "Artist,Track"}, {"spotify", ""}, {"spotify", `"text"`},
		{"lastfm", "%PDF-1.7 and so on\n"}, {"lastfm", ""}, {"lastfm", `{"track": 7}`},
		{"listenbrainz", "Artist,Track"}, {"listenbrainz", ""},
	} {
		got, err := rows(t, c.provider, c.text)
		require.ErrorIs(t, err, errKind, c)
		require.Empty(t, got)
	}
}

func TestAFileThatEndsInTheMiddleKeepsWhatWasBefore(t *testing.T) {
	t.Parallel()
	const whole = `{"ts":"2024-03-05T18:04:30Z","ms_played":270000,"master_metadata_track_name":"T","master_metadata_album_artist_name":"A"}`
	got, err := rows(t, "spotify", "["+whole+","+whole[:50])
	require.Len(t, got, 1)
	require.Equal(t, "the file ends in the middle of a row", inWords(err))
	got, err = rows(t, "spotify", "["+whole+",]")
	require.Len(t, got, 1)
	require.Contains(t, inWords(err), "it is no JSON from byte")
}

func TestARowWithoutEndIsNotReadIntoMemory(t *testing.T) {
	t.Parallel()
	endless := strings.Repeat("x", 2*maxRow)
	for provider, text := range map[string]string{"spotify": `[{"ts":"` + endless, "listenbrainz": `{"listened_at":"` + endless, "lastfm": `A,B,"` + endless} {
		_, err := rows(t, provider, text)
		require.Equal(t, "what follows is too long for a row", inWords(err), provider)
	}
}

// Whatever the bytes, a format reads them or refuses them.
func FuzzFormats(f *testing.F) {
	f.Add(`[{"ts":"2024-03-05T18:04:30Z","ms_played":270000}]`)
	f.Add("a;b;c;d\n\"")
	f.Add(`{"recenttracks":{"track":[{"date":{"uts":{}}}]}}`)
	f.Add(`{"payload":{"listens":[{"payload":null}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, format := range formats {
			n := 0
			err := format.read(newMeter(strings.NewReader(text), int64(len(text))), func(v row) bool {
				n++
				require.True(t, v.bad != "" || v.skip || v.listen.SourceID != "" && v.listen.Title != "")
				return n < 1000
			})
			if err != nil {
				require.NotEmpty(t, inWords(err))
			}
		}
	})
}
