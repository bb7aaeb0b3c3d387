package sync_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/enginetest"
	"reprise/internal/library"
	syncer "reprise/internal/sync"
)

// Promise: A playlist that ListenBrainz makes each week is one playlist that is renewed, and what it was in earlier
// weeks stays in its history.
func TestAWeeklyPlaylistStaysOne(t *testing.T) {
	opt := syncer.Options{ListensEvery: 24 * time.Hour, PlaylistsEvery: 6 * time.Hour}
	restartableWith(t, opt, func(t *testing.T, up *enginetest.Upstreams, start func() *enginetest.Engine) {
		e := start()
		user := e.AddUser("Alice", accounts.Admin)
		began := time.Now()
		week := func() int { return int(time.Since(began) / (7 * 24 * time.Hour)) }
		id := func(week int) string {
			return fmt.Sprintf("https://listenbrainz.org/playlist/00000000-0000-4000-8000-%012d", week)
		}
		up.Fail("listenbrainz", func(req *http.Request) (*http.Response, error) {
			switch path := req.URL.Path; {
			case strings.HasSuffix(path, "/createdfor"):
				var all []string
				for w := week(); w >= max(0, week()-1); w-- { // it keeps last week's for a while
					day := began.AddDate(0, 0, 7*w).Format(time.DateOnly)
					all = append(all, fmt.Sprintf(`{"playlist":{"identifier":%q,
						"title":"Weekly Jams for alice, week of %s Mon",
						"extension":{"https://musicbrainz.org/doc/jspf#playlist":{"last_modified_at":"%sT00:00:00Z",
						"additional_metadata":{"algorithm_metadata":{"source_patch":"weekly-jams"}}}}}}`, id(w), day,
						day))
				}
				return enginetest.Answer(req, 200, fmt.Sprintf(`{"playlist_count":%d,"playlists":[%s]}`, len(all),
					strings.Join(all, ","))), nil
			case strings.HasPrefix(path, "/1/playlist/"):
				return enginetest.Answer(req, 200, fmt.Sprintf(`{"playlist":{"track":[{"title":"Song of week %d",
					"creator":"Nina",
					"identifier":"https://musicbrainz.org/recording/x"}]}}`, week())), nil
			}
			return nil, nil
		})
		require.NoError(t, e.ConnectListenBrainz(user, "alice"))
		for w := range 10 {
			time.Sleep(24 * time.Hour)
			all, err := e.Store.ConnectionPlaylists(t.Context(), user, "listenbrainz")
			require.NoError(t, err)
			require.Len(t, all, 1)
			require.Equal(t, "Weekly Jams for alice", all[0].Name)
			_, tracks, err := e.Store.Playlist(t.Context(), user, all[0].ID)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint("Song of week ", w), tracks[0].Title)
			versions, err := e.Store.Versions(t.Context(), user, all[0].ID)
			require.NoError(t, err)
			require.Len(t, versions, w)
			if w > 0 {
				var last []library.Track
				_, last, err = e.Store.Version(t.Context(), user, all[0].ID, w)
				require.NoError(t, err)
				require.Equal(t, fmt.Sprint("Song of week ", w-1), last[0].Title)
			}
			time.Sleep(6 * 24 * time.Hour)
		}
	})
}
