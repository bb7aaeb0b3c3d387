package listenbrainz

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience"
)

var roygbiv = library.Listen{
	Track: library.Track{
		Title: "Roygbiv", Artist: "Boards of Canada", Album: "Music Has the Right to Children",
		Duration: 150426 * time.Millisecond,
		ISRC:     "GBBPW9800015", RecordingMBID: "c21be27a-f1d2-4bd7-9bd7-3ca6ea2d7a4b",
	},
	PlayedAt: time.Unix(1795197851, 999e6).UTC(),
}

// taker is a ListenBrainz that accepts everything and records the bodies.
func taker(t *testing.T) (*adapter, *[]string) {
	t.Helper()
	var bodies []string
	answer := providertest.Golden(t, "submitted.json")
	return open(func(r *http.Request) (int, http.Header, string) {
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.Equal(t, "POST /1/submit-listens", r.Method+" "+r.URL.Path)
		require.Equal(t, "Token "+token, r.Header.Get("Authorization"))
		require.Equal(t, "application/json", r.Header.Get("Content-Type"))
		require.Empty(t, r.URL.RawQuery)
		bodies = append(bodies, string(body))
		return 200, nil, answer
	}), &bodies
}

func TestSubmit(t *testing.T) {
	t.Parallel()
	a, bodies := taker(t)
	plays := []library.StoredListen{
		{Listen: roygbiv,
			Sources: []library.Source{{Connection: "lastfm", SourceID: "1"}, {Connection: "spotify", SourceID: "2"}}},
		{
			Listen: library.Listen{
				// Tags may contain these, and ListenBrainz refuses the whole batch for them.
				Track:    library.Track{Title: "Bl\x00ue ", Artist: " R.E.M.", Duration: -1, RecordingMBID: "unknown"},
				PlayedAt: time.Unix(1795198000, 0),
			},
			Sources: []library.Source{{Connection: "navidrome", SourceID: "x@1795198000"}},
		},
	}
	outcomes, err := a.Submit(t.Context(), plays)
	require.NoError(t, err)
	require.Equal(t, make([]error, 2), outcomes)
	require.Len(t, *bodies, 1)
	require.JSONEq(t, providertest.Golden(t, "submission.json"), (*bodies)[0])

	_, err = a.Submit(t.Context(), plays)
	require.NoError(t, err)
	require.Equal(t, (*bodies)[0], (*bodies)[1], "the same play is the same to ListenBrainz")
}

func TestWhatIsPlayingIsTold(t *testing.T) {
	t.Parallel()
	a, bodies := taker(t)
	require.NoError(t, a.Playing(t.Context(), library.Track{Title: "Jóga", Artist: "Björk",
		Album: "Homogenic", Duration: 305 * time.Second}))
	require.JSONEq(t, `{"listen_type":"playing_now","payload":[{"track_metadata":{"artist_name":"Björk",
		"track_name":"Jóga","release_name":"Homogenic","additional_info":{"submission_client":"Reprise",
		"duration_ms":305000}}}]}`, (*bodies)[0])
	for _, status := range []int{400, 404} {
		err := open(providertest.Always(status, `{"code":400,"error":"no"}`)).Playing(t.Context(), roygbiv.Track)
		require.True(t, resilience.IsItem(err), "a server that doesn't know it is no trouble: %v", err)
	}
}

func TestSubmitLeavesOutInvalidListens(t *testing.T) {
	t.Parallel()
	change := func(f func(*library.Listen)) library.StoredListen {
		l := roygbiv
		f(&l)
		return library.StoredListen{Listen: l}
	}
	plays := []library.StoredListen{
		change(func(*library.Listen) {}),
		change(func(l *library.Listen) { l.Album = strings.Repeat("ü", 5200) }),
		change(func(l *library.Listen) { l.Title = " \x00" }),
		change(func(l *library.Listen) { l.Artist = "" }),
		change(func(l *library.Listen) { l.PlayedAt = time.Unix(1033430399, 0) }),
		change(func(l *library.Listen) { l.PlayedAt = time.Unix(1033430400, 0) }),
		change(func(l *library.Listen) { l.Album = strings.Repeat("ü", 4900) }),
	}
	refused := map[int]string{1: "longer than ListenBrainz accepts", 2: "without a title", 3: "without a title",
		4: "October 2002"}
	a, bodies := taker(t)
	outcomes, err := a.Submit(t.Context(), plays)
	require.NoError(t, err)
	require.Len(t, outcomes, len(plays))
	for i, outcome := range outcomes {
		advice, bad := refused[i]
		if !bad {
			require.NoError(t, outcome, i)
			continue
		}
		require.Equal(t, resilience.Verdict{Class: resilience.Fatal, Category: resilience.Item,
			Scope: resilience.ScopeItem}, resilience.VerdictOf(outcome))
		var e *resilience.AnswerError
		require.ErrorAs(t, outcome, &e)
		require.Contains(t, e.Meaning.Advice.String(), advice)
		require.Less(t, len(outcome.Error()), 200)
	}
	var sent submission
	require.NoError(t, json.Unmarshal([]byte((*bodies)[0]), &sent))
	require.Len(t, sent.Payload, 3, "the good ones go out")

	outcomes, err = a.Submit(t.Context(), plays[1:5])
	require.NoError(t, err)
	require.NotContains(t, outcomes, error(nil))
	require.Len(t, *bodies, 1, "nothing to send, nothing sent")
}

// TestSubmitLargest sends a full batch of the largest possible listens.
func TestSubmitLargest(t *testing.T) {
	t.Parallel()
	a, bodies := taker(t)
	plays := make([]library.StoredListen, listensPerSubmission)
	for i := range plays {
		l := roygbiv
		l.Title = fmt.Sprintf("%04d ", i) + strings.Repeat("x", 9500)
		l.PlayedAt = l.PlayedAt.Add(time.Duration(i) * time.Minute)
		plays[i] = library.StoredListen{Listen: l}
	}
	outcomes, err := a.Submit(t.Context(), plays)
	require.NoError(t, err)
	require.Equal(t, make([]error, len(plays)), outcomes)
	require.LessOrEqual(t, len((*bodies)[0]), maxListenSize*listensPerSubmission)
}

// TestEcho reads back a submitted play and expects it to be the same, to the second.
func TestEcho(t *testing.T) {
	t.Parallel()
	text, err := marshal(&library.StoredListen{Listen: roygbiv}, "", "")
	require.NoError(t, err)
	var l listen
	require.NoError(t, json.Unmarshal(text, &l))
	got := l.plain()
	want := roygbiv.Track
	want.SourceID = got.Track.SourceID
	require.Equal(t, want, got.Track)
	require.Equal(t, roygbiv.PlayedAt.Truncate(time.Second), got.PlayedAt)
}
