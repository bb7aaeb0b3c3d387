package lastfm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience"
)

// plays returns n plays, one minute apart.
func plays(n int) []library.StoredListen {
	list := make([]library.StoredListen, n)
	for i := range list {
		list[i].Listen = library.Listen{
			Track:    library.Track{Title: fmt.Sprintf("Title %d", i), Artist: fmt.Sprintf("Artist %d", i)},
			PlayedAt: time.Unix(1795197851+60*int64(i), 999e6).UTC()}
	}
	return list
}

func TestScrobble(t *testing.T) {
	t.Parallel()
	var sent url.Values
	far := providertest.Always(200, providertest.Golden(t, "scrobbled.json"))
	three := plays(3)
	three[1].Album, three[1].Duration = "Album", 241_900*time.Millisecond
	three[1].RecordingMBID = "f5d3a3c4-3f0b-4f6e-8d9b-6f2f8ff0c1a7"
	outcomes, err := open(func(r *http.Request) (int, http.Header, string) {
		sent = form(r)
		return far(r)
	}).Submit(t.Context(), three)
	require.NoError(t, err)
	require.Equal(t, []error{nil, nil, nil}, outcomes)
	sent.Del("api_sig")
	require.Equal(t, url.Values{
		"method": {"track.scrobble"}, "api_key": {apiKey}, "sk": {sessionKey},
		"artist[0]": {"Artist 0"}, "track[0]": {"Title 0"}, "timestamp[0]": {"1795197851"},
		"artist[1]": {"Artist 1"}, "track[1]": {"Title 1"}, "timestamp[1]": {"1795197911"},
		"album[1]": {"Album"}, "duration[1]": {"241"}, "mbid[1]": {"f5d3a3c4-3f0b-4f6e-8d9b-6f2f8ff0c1a7"},
		"artist[2]": {"Artist 2"}, "track[2]": {"Title 2"}, "timestamp[2]": {"1795197971"},
	}, sent)
}

func TestWhatIsPlayingIsTold(t *testing.T) {
	t.Parallel()
	var sent url.Values
	far := providertest.Always(200, `{"nowplaying":{"artist":{"#text":"Artist 0"}}}`)
	track := plays(1)[0].Track
	track.Duration = 241 * time.Second
	require.NoError(t, open(func(r *http.Request) (int, http.Header, string) {
		sent = form(r)
		return far(r)
	}).Playing(t.Context(), track))
	sent.Del("api_sig")
	require.Equal(t, url.Values{"method": {"track.updateNowPlaying"}, "api_key": {apiKey}, "sk": {sessionKey},
		"artist": {"Artist 0"}, "track": {"Title 0"}, "duration": {"241"}}, sent)
	err := open(providertest.Always(400, `{"error":3,"message":"Invalid Method"}`)).Playing(t.Context(), track)
	require.True(t, resilience.IsItem(err), "a server that doesn't know it is no trouble: %v", err)
}

func TestScrobbleOne(t *testing.T) {
	t.Parallel()
	far := providertest.Always(200, providertest.Golden(t, "scrobbled_one.json"))
	outcomes, err := open(far).Submit(t.Context(), plays(1))
	require.NoError(t, err)
	require.Equal(t, []error{nil}, outcomes)
	far = providertest.Always(200, providertest.Golden(t, "ignored_one.json"))
	outcomes, err = open(far).Submit(t.Context(), plays(1))
	require.NoError(t, err)
	require.Len(t, outcomes, 1)
	require.Equal(t, onItem, resilience.VerdictOf(outcomes[0]))
}

func TestScrobbleNothing(t *testing.T) {
	t.Parallel()
	outcomes, err := open(func(*http.Request) (int, http.Header, string) {
		t.Error("nothing is sent")
		return 500, nil, ""
	}).Submit(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, outcomes)
}

func TestIgnoredScrobbles(t *testing.T) {
	t.Parallel()
	quota := resilience.Verdict{Class: resilience.Retriable, Category: resilience.Quota, Scope: resilience.ScopeStream}
	for _, tt := range []struct {
		code   int
		want   resilience.Verdict
		advice string
	}{
		{1, onItem, "artist"}, {2, onItem, "title"}, {3, onItem, "two weeks"}, {4, onItem, "future"},
		{5, quota, "midnight UTC"},
	} {
		t.Run(fmt.Sprint(tt.code), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(9*time.Hour + 30*time.Minute) // a bubble begins at midnight UTC
				far := providertest.Always(200, providertest.Golden(t, fmt.Sprintf("ignored_%d.json", tt.code)))
				outcomes, err := open(far).Submit(t.Context(), plays(3))
				require.NoError(t, err)
				require.Len(t, outcomes, 3)
				require.NoError(t, outcomes[0])
				require.NoError(t, outcomes[2])
				if tt.want.Category == resilience.Quota {
					tt.want.NotBefore = time.Now().UTC().Add(14*time.Hour + 30*time.Minute)
				}
				require.Equal(t, tt.want, resilience.VerdictOf(outcomes[1]))
				var refusal *resilience.AnswerError
				require.ErrorAs(t, outcomes[1], &refusal)
				require.Contains(t, refusal.Meaning.Advice.String(), tt.advice)
				require.NotEmpty(t, refusal.Message)
			})
		})
	}
}

func TestIgnoredForAnUnknownReason(t *testing.T) {
	t.Parallel()
	answer := providertest.Golden(t, "ignored_one.json")
	var body map[string]any
	require.NoError(t, json.Unmarshal([]byte(answer), &body))
	scrobble := body["scrobbles"].(map[string]any)["scrobble"].(map[string]any)
	scrobble["ignoredMessage"] = map[string]any{"code": 77, "#text": "New"}
	text, err := json.Marshal(body)
	require.NoError(t, err)
	outcomes, err := open(providertest.Always(200, string(text))).Submit(t.Context(), plays(1))
	require.NoError(t, err)
	require.Equal(t, resilience.Retriable, resilience.VerdictOf(outcomes[0]).Class,
		"rather one more try than a lost play")
}

// TestIgnoredWithoutSayingWhich expects no play to count as accepted when Last.fm does not say which ones it ignored.
func TestIgnoredWithoutSayingWhich(t *testing.T) {
	t.Parallel()
	far := providertest.Always(200, providertest.Golden(t, "ignored_silently.json"))
	outcomes, err := open(far).Submit(t.Context(), plays(3))
	require.Nil(t, outcomes)
	require.Equal(t, onItem, resilience.VerdictOf(err), "the batch has to be split")
}

func TestBrokenScrobbleAnswers(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		providertest.Golden(t, "scrobbled_one.json"), // for three plays
		`{"scrobbles":{"scrobble":[{},{},{}],"@attr":{"accepted":3}}}`,
		`{"scrobbles":{"@attr":{"accepted":3}}}`,
		`{"scrobbles":{"scrobble":[{"ignoredMessage":{"code":"0"}},{"ignoredMessage":{"code":""}},` +
			`{"ignoredMessage":{"code":"0"}}],"@attr":{"accepted":3}}}`,
		`{"scrobbles":{"scrobble":[{"ignoredMessage":{"code":0}},{"ignoredMessage":{"code":0}},` +
			`{"ignoredMessage":{"code":0}}],"@attr":{"accepted":"all"}}}`,
	} {
		outcomes, err := open(providertest.Always(200, body)).Submit(t.Context(), plays(3))
		require.Nil(t, outcomes)
		require.Equal(t, resilience.Contract, resilience.VerdictOf(err).Category, body)
	}
}
