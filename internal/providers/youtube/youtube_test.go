package youtube

import (
	"fmt"
	"iter"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/demo/demotest"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/keys"
	"reprise/internal/resilience/transport"
)

func open(far providertest.Respond, credentials library.Credentials) *adapter {
	return providertest.New(Describe(), "client_id", "client").Open(providertest.Call(far), credentials).(*adapter)
}

// healthy returns a YouTube with one account that serves testdata.
func healthy(t *testing.T) providertest.Respond {
	golden := map[string]string{}
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	for _, file := range files {
		golden[filepath.Base(file)] = providertest.Golden(t, filepath.Base(file))
	}
	part := func(r *http.Request, name string) string {
		if r.URL.Query().Get("pageToken") != "" {
			return golden[name+"-2.json"]
		}
		return golden[name+"-1.json"]
	}
	return func(r *http.Request) (int, http.Header, string) {
		query := r.URL.Query()
		switch {
		case strings.HasSuffix(r.URL.Path, channelsRoute):
			return 200, nil, golden["channel.json"]
		case strings.HasSuffix(r.URL.Path, playlistsRoute):
			return 200, nil, part(r, "playlists")
		case strings.HasSuffix(r.URL.Path, videosRoute):
			return 200, nil, golden["videos.json"]
		case query.Get("playlistId") == likedID:
			return 200, nil, golden["liked.json"]
		}
		return 200, nil, part(r, "items")
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	const list = "PLrain0001"
	statuses := map[int]resilience.Meaning{409: later}
	providertest.Run(t, providertest.Suite{
		Provider:  providertest.New(Describe(), "client_id", "client"),
		Playlist:  library.Playlist{SourceID: list},
		Prove:     providertest.Capability{Statuses: statuses},
		Playlists: providertest.Capability{Statuses: statuses},
		Tracks:    providertest.Capability{Statuses: statuses},
		Loves:     providertest.Capability{Statuses: statuses},
		Loved:     library.Love{SourceID: "dQw4w9WgXcQ", Score: library.Loved},
		Love: providertest.Capability{Statuses: statuses, Ignored: true,
			Healthy: providertest.Always(http.StatusNoContent, "")},
		Simulated: func(t *testing.T) (http.RoundTripper, library.Credentials) {
			_, far := demotest.Start(t, demo.YouTube, list, func(w *demo.World) string {
				return w.YouTube.Authorize(demo.Alice, "https://www.googleapis.com/auth/youtube.readonly").AccessToken
			})
			return far, nil
		},
	})
}

// TestTable has one golden body per row of the error table and checks the verdict of each.
func TestTable(t *testing.T) {
	t.Parallel()
	verdict := func(c resilience.Class, category resilience.Category, s resilience.Scope) resilience.Verdict {
		return resilience.Verdict{Class: c, Category: category, Scope: s}
	}
	quota := verdict(retriable, resilience.Quota, resilience.ScopeKey)
	limit := verdict(retriable, resilience.RateLimit, resilience.ScopeKey)
	keyAuth := verdict(fatal, resilience.Auth, resilience.ScopeKey)
	keyConfig := verdict(fatal, resilience.Config, resilience.ScopeKey)
	auth := verdict(fatal, resilience.Auth, resilience.ScopeConnection)
	item := verdict(fatal, resilience.Item, resilience.ScopeItem)
	upstream := verdict(retriable, resilience.Upstream, resilience.ScopeStream)
	rows := map[string]resilience.Verdict{
		"403-quotaExceeded": quota, "403-dailyLimitExceeded": quota, "403-rateLimitExceeded-day": quota,
		"429-day": quota, "429-resourceExhausted-day": quota,
		"403-servingLimitExceeded": limit, "403-concurrentLimitExceeded": limit, "403-rateLimitExceeded-minute": limit,
		"403-userRateLimitExceeded": limit, "429-minute": limit, "429-resourceExhausted-minute": limit,
		"400-keyInvalid": keyAuth, "400-API_KEY_INVALID": keyAuth, "400-keyExpired": keyAuth,
		"403-API_KEY_HTTP_REFERRER_BLOCKED": keyConfig, "403-API_KEY_SERVICE_BLOCKED": keyConfig,
		"403-authenticatedUserNotChannel": auth, "403-channelClosed": auth, "403-channelSuspended": auth,
		"403-playlistForbidden": item,
		"401-authError":         auth, "401-youtubeSignupRequired": auth,
		"403-accessNotConfigured": keyConfig, "403-SERVICE_DISABLED": keyConfig, "403-ipRefererBlocked": keyConfig,
		"403-API_KEY_IP_ADDRESS_BLOCKED": keyConfig,
		"403-insufficientPermissions":    auth, "403-insufficientPermissions-old": auth,
		"403-forbidden": item, "403-playlistItemsNotAccessible": item, "404-playlistNotFound": item,
		"404-videoNotFound": item, "403-videoRatingDisabled": item, "400-videoPurchaseRequired": item,
		"400-emailNotVerified":               verdict(fatal, resilience.Permission, resilience.ScopeStream),
		"403-authenticatedUserAccountClosed": auth, "403-authenticatedUserAccountSuspended": auth,
		"400-invalidPageToken": upstream, "409-conflict": upstream, "500-backendError": upstream,
		"503-backendError": upstream,
	}
	files, err := filepath.Glob("testdata/[45]*.json")
	require.NoError(t, err)
	require.Len(t, files, len(rows), "every golden refusal has its row")
	met := []providers.Row{{Status: 200, Code: noChannel}} // no-channel.json
	for name := range rows {
		status, err := strconv.Atoi(name[:3])
		require.NoError(t, err)
		e := &resilience.AnswerError{Status: status, Body: []byte(providertest.Golden(t, name+".json"))}
		explain(e)
		met = append(met, providers.Row{Status: status, Code: e.Code})
	}
	providertest.Rows(t, tables(), met)
	for name, want := range rows {
		body := providertest.Golden(t, name+".json")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var status int
				_, err := fmt.Sscan(name[:3], &status)
				require.NoError(t, err)
				_, err = open(providertest.Always(status, body), nil).Prove(t.Context())
				if want.Category == resilience.Quota { // the bubble begins at 16:00 in Los Angeles
					want.NotBefore = time.Date(2000, 1, 1, 8, 0, 0, 0, time.UTC)
				}
				require.Equal(t, want, resilience.VerdictOf(err), "%v", err)
				require.NotContains(t, err.Error(), "<")
				var refusal *resilience.AnswerError
				require.ErrorAs(t, err, &refusal)
				require.NotEmpty(t, refusal.Message)
			})
		})
	}
}

func TestTheQuotaEndsAtMidnightInLosAngeles(t *testing.T) {
	t.Parallel()
	for now, want := range map[string]string{
		"2026-11-20T21:00:00Z": "2026-11-21T08:00:00Z",
		"2026-11-21T07:59:59Z": "2026-11-21T08:00:00Z",
		"2026-11-21T08:05:00Z": "2026-11-22T08:00:00Z",
		"2026-07-01T12:00:00Z": "2026-07-02T07:00:00Z",
		// In spring a day has 23 hours, in autumn 25.
		"2026-03-08T08:30:00Z": "2026-03-09T07:00:00Z",
		"2026-03-07T12:00:00Z": "2026-03-08T08:00:00Z",
		"2026-11-01T07:30:00Z": "2026-11-02T08:00:00Z",
		"2026-10-31T12:00:00Z": "2026-11-01T07:00:00Z",
		// Right after midnight it may still be yesterday there.
		"2026-11-21T08:00:00Z": "2026-11-21T08:05:00Z",
		"2026-11-21T08:04:59Z": "2026-11-21T08:05:00Z",
	} {
		at, err := time.Parse(time.RFC3339, now)
		require.NoError(t, err)
		require.Equal(t, want, quotaReset(at).Format(time.RFC3339), "at %s", now)
	}
}

func TestProve(t *testing.T) {
	t.Parallel()
	account, err := open(healthy(t), nil).Prove(t.Context())
	require.NoError(t, err)
	require.Equal(t, providers.Account{ID: "UCq-geoff0000000000000000", Name: "Geoff"}, account)
	_, err = open(providertest.Always(200, providertest.Golden(t, "no-channel.json")), nil).Prove(t.Context())
	require.Equal(t, resilience.Verdict{Class: fatal, Category: resilience.Auth, Scope: resilience.ScopeConnection},
		resilience.VerdictOf(err))
}

// all reads a sequence to its end.
func all[V any](t *testing.T, seq iter.Seq2[[]V, error]) (values []V) {
	t.Helper()
	for page, err := range seq {
		require.NoError(t, err)
		values = append(values, page...)
	}
	return values
}

func last[V any](seq iter.Seq2[[]V, error]) (err error) {
	for _, e := range seq {
		err = e
	}
	return err
}

func TestPlaylistsAndLikedVideos(t *testing.T) {
	t.Parallel()
	lists := all(t, open(healthy(t), nil).Playlists(t.Context()))
	require.Len(t, lists, 3)
	for i, want := range []library.Playlist{
		{SourceID: "PLrain0001", Name: "Rain", TrackCount: 3, Snapshot: "e-rain"},
		{SourceID: "PLsunday01", Name: "Sunday", TrackCount: 12, Snapshot: "e-sunday"},
		{SourceID: "LL", Name: "Liked videos", TrackCount: 120, Snapshot: "liked-1"},
	} {
		require.True(t, strings.HasPrefix(lists[i].Snapshot, want.Snapshot+"/"))
		lists[i].Snapshot = want.Snapshot
		require.Equal(t, want, lists[i])
	}
}

func TestAnAccountWithoutLikedVideos(t *testing.T) {
	t.Parallel()
	well, body := healthy(t), providertest.Golden(t, "404-playlistNotFound.json")
	lists := all(t, open(func(r *http.Request) (int, http.Header, string) {
		if r.URL.Query().Get("playlistId") == likedID {
			return 404, nil, body
		}
		return well(r)
	}, nil).Playlists(t.Context()))
	require.Len(t, lists, 2)
}

// What Reprise has liked may be no music to YouTube.
func TestALikedVideoThatIsNoMusicHasNoName(t *testing.T) {
	t.Parallel()
	well := healthy(t)
	for category, named := range map[string]bool{"10": true, "22": false} {
		far := open(func(r *http.Request) (int, http.Header, string) {
			status, header, body := well(r)
			return status, header, strings.ReplaceAll(body, `"categoryId": "10"`, `"categoryId": "`+category+`"`)
		}, nil)
		for page, err := range far.Loves(t.Context()) {
			require.NoError(t, err)
			require.Len(t, page.Loves, 1)
			require.Equal(t, "uXPwxxMzbd0", page.Loves[0].SourceID)
			require.Equal(t, named, page.Loves[0].Title != "")
			break
		}
	}
}

func TestASnapshotChangesWithTheETagAndOnceADay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		require.NotEqual(t, snapshot("a", "x"), snapshot("a", "y"))
		require.Empty(t, snapshot("a", ""))
		seen := map[string]bool{}
		for range 240 {
			seen[snapshot("a", "x")] = true
			time.Sleep(time.Hour)
		}
		require.InDelta(t, 10, len(seen), 1)
	})
}

func TestTracks(t *testing.T) {
	t.Parallel()
	tracks := all(t, open(healthy(t), nil).Tracks(t.Context(), library.Playlist{SourceID: "PLrain0001"}, nil))
	require.Equal(t, []library.Track{
		{Title: "Roygbiv", Artist: "Boards of Canada", SourceID: "uXPwxxMzbd0"},
		{Title: "Svefn-g-englar", Artist: "Sigur Rós", SourceID: "8L64BcCRDAE"},
		{Title: "Deleted video", SourceID: "gone0000001", Gone: library.VideoDeleted},
		{Title: "Jóga", Artist: "Björk", SourceID: "u9K-SO7uJqs"},
	}, tracks, "what is gone keeps its place without a name")
}

// calls counts requests by path below the API.
func calls(far providertest.Respond) (providertest.Respond, func(path string) int) {
	seen := map[string]int{}
	return func(r *http.Request) (int, http.Header, string) {
		seen[strings.TrimPrefix(r.URL.Path, "/youtube/v3")]++
		return far(r)
	}, func(path string) int { return seen[path] }
}

func TestVideos(t *testing.T) {
	t.Parallel()
	a := open(healthy(t), nil)
	videos, err := a.Videos(t.Context(), []string{"uXPwxxMzbd0", "8L64BcCRDAE", "u9K-SO7uJqs"})
	require.NoError(t, err)
	require.Equal(t, []library.Video{
		{ID: "uXPwxxMzbd0", Title: "Roygbiv", Channel: "Boards of Canada - Topic",
			Published: time.Date(2014, 11, 7, 9, 30, 12, 0, time.UTC), Duration: 151 * time.Second, Category: "Music",
			Tags: []string{"Boards of Canada", "Roygbiv"}, Views: 6204311, Likes: 48213, Comments: 1204,
			Thumbnail: "https://i.ytimg.com/vi/uXPwxxMzbd0/sddefault.jpg", Availability: library.VideoPublic},
		{ID: "8L64BcCRDAE", Title: "Sigur Rós - Svefn-g-englar (Official Video)", Channel: "Sigur Rós",
			Published: time.Date(2009, 8, 14, 15, 0, 3, 0, time.UTC), Duration: 604 * time.Second, Category: "99",
			Views: 31022119, Likes: -1, Comments: -1, Availability: library.VideoUnlisted,
			AllowedIn: []string{"IS", "GB"}},
	}, videos, "nothing is told of the third")
	require.Equal(t, library.Track{Title: "Svefn-g-englar", Artist: "Sigur Rós", SourceID: "8L64BcCRDAE",
		Duration: 604 * time.Second}, a.Named(videos[1]))
	far, count := calls(healthy(t))
	_, err = open(far, nil).Videos(t.Context(), make([]string, providers.VideosAtOnce))
	require.NoError(t, err)
	require.Equal(t, 1, count(videosRoute))
}

// A key is not told of the person's own private videos; the person is.
func TestOwnPrivateVideosAreAskedForByTheirOwner(t *testing.T) {
	t.Parallel()
	asked := map[string]string{}
	far := providertest.Respond(func(r *http.Request) (int, http.Header, string) {
		ids := r.URL.Query().Get("id")
		if key := r.Header.Get("X-Goog-Api-Key"); key != "" {
			asked["key"] = ids
			return 200, nil, `{"items":[{"id":"theirs","status":{"privacyStatus":"public"}}]}`
		}
		asked["permission"] = ids
		return 200, nil, `{"items":[{"id":"own","status":{"privacyStatus":"private"}}]}`
	})
	videos, err := keyedAdapter(far).Videos(t.Context(), []string{"theirs", "own", "gone"})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"key": "theirs,own,gone", "permission": "own,gone"}, asked)
	require.Len(t, videos, 2)
	require.Equal(t, library.VideoPrivate, videos[1].Availability)
}

func TestAnUnchangedListingIsNotSentAgain(t *testing.T) {
	t.Parallel()
	well, unchanged := healthy(t), 0
	far := func(r *http.Request) (int, http.Header, string) {
		status, header, body := well(r)
		if etag := r.Header.Get("If-None-Match"); etag != "" {
			require.Contains(t, body, `"etag": "`+etag+`"`)
			unchanged++
			return 304, nil, ""
		}
		return status, header, body
	}
	p := providertest.New(Describe(), "client_id", "client")
	read := func(owner string) []library.Playlist {
		a := p.Open(providertest.Call(providertest.Respond(far)), library.Credentials{"refresh_token": owner})
		return all(t, a.(providers.PlaylistSource).Playlists(t.Context()))
	}
	first := read("geoff")
	require.Zero(t, unchanged)
	require.Equal(t, first, read("geoff"))
	require.Equal(t, 3, unchanged, "two pages of playlists, one of liked videos")
	require.Equal(t, first, read("somebody else"))
	require.Equal(t, 3, unchanged, "pages are not shared")
}

// TestAnUnexpectedNotModified has a 304 for a request without an ETag.
func TestAnUnexpectedNotModified(t *testing.T) {
	t.Parallel()
	_, err := open(providertest.Always(304, ""), nil).Prove(t.Context())
	require.Equal(t, resilience.Upstream, resilience.VerdictOf(err).Category)
}

func TestAnInvalidPageTokenRestartsTheListing(t *testing.T) {
	t.Parallel()
	well, refusals, body := healthy(t), 0, providertest.Golden(t, "400-invalidPageToken.json")
	forgetful := func(times int) *adapter {
		refusals = 0
		return open(func(r *http.Request) (int, http.Header, string) {
			if r.URL.Query().Get("pageToken") != "" && refusals < times {
				refusals++
				return 400, nil, body
			}
			return well(r)
		}, nil)
	}
	require.Len(t, all(t, forgetful(1).Tracks(t.Context(), library.Playlist{SourceID: "x"}, nil)), 4)
	err := last(forgetful(5).Tracks(t.Context(), library.Playlist{SourceID: "x"}, nil))
	require.Equal(t, resilience.Upstream, resilience.VerdictOf(err).Category)
	require.Equal(t, 2, refusals)
}

func TestPublicDataUsesTheKeys(t *testing.T) {
	t.Parallel()
	well := healthy(t)
	used := map[string]string{}
	far := providertest.Respond(func(r *http.Request) (int, http.Header, string) {
		used[strings.TrimPrefix(r.URL.Path, "/youtube/v3")+r.URL.Query().Get("playlistId")] =
			r.Header.Get("X-Goog-Api-Key")
		require.NotContains(t, r.URL.String(), "AIza")
		return well(r)
	})
	a := keyedAdapter(far)
	require.Len(t, all(t, a.Playlists(t.Context())), 3)
	require.Len(t, all(t, a.Tracks(t.Context(), library.Playlist{SourceID: "x"}, nil)), 4)
	_, err := a.Videos(t.Context(), []string{"uXPwxxMzbd0", "8L64BcCRDAE"})
	require.NoError(t, err)
	require.Equal(t, map[string]string{playlistsRoute: "", itemsRoute + "LL": "", itemsRoute + "x": "AIza-first-key",
		videosRoute: "AIza-first-key"}, used)
}

// keyedAdapter returns an adapter of an installation with a key.
func keyedAdapter(far providertest.Respond) *adapter {
	pool := keys.New("youtube", []keys.Key{{Secret: "AIza-first-key"}}, backoff.Options{})
	public := transport.NewClient(&keys.Transport{Base: providertest.Client(far).Transport,
		Pool: pool, Put: putKey})
	p := providertest.NewIn(providers.Installation{Keyed: public, Keys: pool}, Describe())
	return p.Open(providertest.Call(far), nil).(*adapter)
}

func TestBrokenShapes(t *testing.T) {
	t.Parallel()
	playlists := func(a *adapter) error { return last(a.Playlists(t.Context())) }
	tracks := func(a *adapter) error { return last(a.Tracks(t.Context(), library.Playlist{SourceID: "x"}, nil)) }
	for name, c := range map[string]struct {
		body string
		read func(*adapter) error
	}{
		"a playlist without an id":    {`{"items":[{"snippet":{"title":"X"}}]}`, playlists},
		"an empty page in the middle": {`{"items":[],"nextPageToken":"x"}`, playlists},
		"a place without a video":     {`{"items":[{"snippet":{"title":"X","videoOwnerChannelTitle":"Y"}}]}`, tracks},
		"a listing without an end":    {`{"items":[{"contentDetails":{"videoId":"x"}}],"nextPageToken":"x"}`, tracks},
	} {
		err := c.read(open(providertest.Always(200, c.body), nil))
		require.Equal(t, resilience.Contract, resilience.VerdictOf(err).Category, "%s: %v", name, err)
	}
	_, err := open(providertest.Always(200, `{}`), nil).Videos(t.Context(), []string{"x"})
	require.Equal(t, resilience.Contract, resilience.VerdictOf(err).Category)
	broken := providertest.New(Describe(), "api_url", "https://api example\x7f")
	_, err = broken.Open(providertest.Call(healthy(t)), nil).Prove(t.Context())
	require.Equal(t, resilience.Config, resilience.VerdictOf(err).Category)
}
