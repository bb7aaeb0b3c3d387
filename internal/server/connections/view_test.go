package connections

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
	"reprise/web/ui/uitest"
)

func TestRhythmInWords(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{time.Second: "every second", 90 * time.Second: "every 90 seconds",
		time.Minute: "every minute", 2 * time.Hour: "every 2 hours", 0: ""} {
		require.Equal(t, want, rhythm(d).String())
	}
	require.Equal(t, "alle 5 Minuten", rhythm(5*time.Minute).In(words.German))
}

func TestReconnectLeadsToTheSameConnection(t *testing.T) {
	t.Parallel()
	actions := actionsFor(t.Context(), syncer.Status{Condition: syncer.NeedsReconnect,
		Connection: library.Connection{ID: "navidrome-2"},
		Provider:   &providers.Provider{Description: providers.Description{Name: "navidrome"}},
		State:      backoff.State{Kind: backoff.Stopped, Category: resilience.Auth}})
	require.Equal(t, "/connect/navidrome-2", actions[0].URL)
}

// reads returns a provider that reads streams.
func reads(streams ...string) *providers.Provider {
	p := &providers.Provider{Description: providers.Description{Name: "spotify", DisplayName: "Spotify"}}
	p.Streams = streams
	return p
}

func TestPausedSaysWhatWaits(t *testing.T) {
	t.Parallel()
	st := syncer.Status{Condition: syncer.Paused, Provider: reads(library.Listens),
		Waiting: delivery.Waiting{Listens: 1200, Playlists: 1}}
	require.Contains(t, plainMessage(st).String(), "until you press Resume; 1,200 listens and 1 playlist are waiting")
	held := syncer.Status{Condition: syncer.Held, Provider: reads()}
	require.True(t, plainMessage(held).IsZero(), "its failure has a sentence")
}

// onlyTakes is a service that only takes listens. Three wait because it cannot be reached.
func onlyTakes() syncer.Status {
	p := reads(library.Listens, library.Playlists)
	p.Takes.Listens = "submit_listens"
	line := syncer.Line{Stream: library.Deliveries, Condition: syncer.Waiting, State: backoff.State{
		Kind: backoff.Waiting, Category: resilience.Network, Scope: resilience.ScopeStream}}
	line.Words.Message = words.Plain("Reprise can't reach Koito.")
	return syncer.Status{Connection: library.Connection{ID: "listenbrainz", Name: "Koito"}, Provider: p,
		Condition: line.Condition, State: line.State, Words: line.Words, Sending: &line,
		Note: words.New("sync.listens_only_in"), Waiting: delivery.Waiting{Listens: 3},
		Streams: []syncer.StreamStatus{{Stream: library.Deliveries, Condition: syncer.Waiting}}}
}

func TestWhatIsOnlySentToShowsItsSending(t *testing.T) {
	t.Parallel()
	v := (&Statuses{}).view(t.Context(), onlyTakes())
	require.Equal(t, "waiting", v.State)
	require.Nil(t, v.Reading)
	require.Equal(t, "Reprise is waiting for Koito; nothing for you to do",
		headlineOf(t.Context(), []Connection{v}, false, false).State.Word)
	card := newCard(t.Context(), v, reader{Path: "/"})
	html := uitest.HTML(t, words.English, Card(card))
	for _, says := range []string{"Not responding", "Reprise can&#39;t reach Koito.", "3 waiting to be sent",
		"nothing sent yet", "This server accepts listens but doesn&#39;t offer any to read."} {
		require.Contains(t, html, says)
	}
	require.NotContains(t, html, "Reading")
	require.Equal(t, "listenbrainz-retry", card.Action.ID)

	well := onlyTakes()
	well.Condition, well.State, well.Sending.Condition = syncer.Healthy, backoff.State{}, syncer.Healthy
	well.Sending.State, well.Waiting = backoff.State{}, delivery.Waiting{}
	v = (&Statuses{}).view(t.Context(), well)
	require.Equal(t, "Connected. Reprise sends what you forward to it.", v.Message)
	require.Equal(t, "pause", v.Actions[0].Action, "there is nothing to sync")
}

func TestNextAttemptInWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		st    syncer.StreamStatus
		every time.Duration
		want  string
	}{
		{syncer.StreamStatus{Condition: syncer.NeedsReconnect}, 0, "after you reconnect"},
		{syncer.StreamStatus{Condition: syncer.NeedsAdmin}, 0, "after the administrator has fixed it"},
		{syncer.StreamStatus{Condition: syncer.Paused}, 0, "after you resume"},
		{syncer.StreamStatus{Condition: syncer.Syncing}, 0, "now"},
		{syncer.StreamStatus{Stream: library.Deliveries}, 0, "when there's something to send"},
		{syncer.StreamStatus{}, 5 * time.Minute, "within about 5 minutes"},
		{syncer.StreamStatus{}, 5 * time.Second, "within about 5 seconds"},
		{syncer.StreamStatus{}, 0, "at the next sync"},
	} {
		require.Equal(t, c.want, nextWords(c.st, c.every).String())
	}
	require.Equal(t, "spätestens in 5 Sekunden", nextWords(syncer.StreamStatus{}, 5*time.Second).In(words.German))
	require.Equal(t, "Next", streamTable(t.Context(), Connection{}, false).Columns[3])
}

// A listen that a service has was only noticed there at a time.
func TestAlreadyThereNamesNoTime(t *testing.T) {
	t.Parallel()
	there := delivery.ForwardedListen{Outcome: "there", ThereSince: time.Now()}
	v := forwardedOf(t.Context(), there, time.Time{})
	require.Equal(t, "Already there", v.Says)
	require.Zero(t, v.At)
	require.Equal(t, "Schon dort", forwardedOf(german(t), there, time.Time{}).Says)
}
