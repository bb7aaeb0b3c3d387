package deliveries

import (
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience/backoff"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
	"reprise/web/ui"
	"reprise/web/ui/uitest"
)

// namesOf knows Last.fm, which waits or has stopped as its line for sending says.
func namesOf(line *syncer.Line) Names {
	p := &providers.Provider{Description: providers.Description{Name: "lastfm", DisplayName: "Last.fm"}}
	return Names{registry: providers.NewRegistry(p), statuses: map[library.ConnectionID]syncer.Status{
		"lastfm": {Connection: library.Connection{ID: "lastfm"}, Provider: p, Sending: line}}}
}

func TestWhatWaitsIsOneSentence(t *testing.T) {
	t.Parallel()
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	stamp := until.Format(time.RFC3339)
	title := words.Plain("Last.fm is limiting requests")
	held := &syncer.Line{Condition: syncer.Held, Words: notify.Words{Title: title},
		State: backoff.State{Kind: backoff.Held, Until: until}}
	gone := &syncer.Line{Condition: syncer.NeedsReconnect, Words: notify.Words{Title: words.Plain("Access expired")},
		State: backoff.State{Kind: backoff.Stopped}}
	waits := []delivery.Tally{{Connection: "lastfm", Kind: delivery.Scrobble, State: delivery.Retrying, Items: 20},
		{Connection: "lastfm", Kind: delivery.Scrobble, State: delivery.Scheduled, Items: 6}}
	parked := []delivery.Tally{{Connection: "lastfm", Kind: delivery.Scrobble, State: delivery.Parked, Items: 1}}
	for name, c := range map[string]struct {
		line     *syncer.Line
		tallies  []delivery.Tally
		language *words.Language
		says     string
		action   string
	}{
		"held":           {held, waits, words.English, "26 listens for Last.fm wait until " + stamp + ".", ""},
		"held, German":   {held, waits, words.German, "26 Wiedergaben für Last.fm warten bis " + stamp + ".", ""},
		"needs you":      {gone, parked, words.English, "1 listen for Last.fm is waiting for you.", "/connect/lastfm"},
		"on their way":   {nil, waits, words.English, "26 listens for Last.fm go out shortly.", ""},
		"parked no more": {nil, parked, words.German, "1 Wiedergabe für Last.fm wird gleich gesendet.", ""},
	} {
		v := overviewOf(words.With(t.Context(), c.language), namesOf(c.line), c.tallies, nil)
		require.Len(t, v.Waiting, 1, name)
		require.Equal(t, c.says, v.Waiting[0].Says, name)
		if c.action != "" {
			require.Equal(t, c.action, v.Waiting[0].Actions[0].URL, name)
		}
	}
}

func TestWhatFailedHasOneWayOut(t *testing.T) {
	t.Parallel()
	v := overviewOf(t.Context(), namesOf(nil), []delivery.Tally{{Connection: "lastfm", Kind: delivery.Scrobble,
		State: delivery.Done, Items: 120}}, []delivery.Group{
		{Connection: "lastfm", Kind: delivery.Scrobble, Reason: words.Plain("Too old."), Count: 2, Items: 12},
		{Connection: "channel-7", Kind: delivery.Notify, Reason: words.Plain("Refused."), Count: 1, Items: 1}})
	require.Equal(t, []string{"120 listens to Last.fm."}, v.Sent)
	require.Len(t, v.Failed, 1, "messages are with their channels")
	require.Equal(t, "12 listens could not be sent to Last.fm.", v.Failed[0].Says)
	require.Equal(t, "Too old.", v.Failed[0].Why)
	require.Equal(t, "/deliveries/redrive?connection=lastfm&reason=Too+old.&state=dead", v.Failed[0].Actions[0].URL)
	require.True(t, v.Failed[0].Actions[0].Main)
	require.Empty(t, v.Empty)

	v = overviewOf(t.Context(), namesOf(nil), nil, nil)
	require.NotEmpty(t, v.Empty)
}

// With nothing to send, the page says what it is for, and offers what comes first: forwarding to a service that takes
// listens, or connecting one.
func TestEmptySendingSaysWhatItIsFor(t *testing.T) {
	t.Parallel()
	none := Names{registry: providers.NewRegistry()}
	for name, c := range map[string]struct {
		names  Names
		label  string
		leads  string
		isMain bool
	}{
		"nothing connected": {none, "Connect a service", "/settings/services", true},
		"one takes listens": {takesListens(), "Forward my listens to Last.fm", "/connections/lastfm#forwarding", false},
	} {
		v := overviewOf(t.Context(), c.names, nil, nil)
		require.Contains(t, v.Empty, "pass on what you hear on one service to another", name)
		require.Equal(t, []ui.Action{{Label: c.label, URL: c.leads, Main: c.isMain}}, v.Next, name)
		html := uitest.HTML(t, words.English, overview(v))
		require.NotContains(t, html, "<section", name)
		require.NotContains(t, html, "list=all", "there is nothing to list")
	}
	uitest.Sound(t, func(l *words.Language) templ.Component {
		return overview(overviewOf(words.With(t.Context(), l), takesListens(), nil, nil))
	})
}

// takesListens knows Last.fm, which takes listens.
func takesListens() Names {
	n := namesOf(nil)
	n.registry.Get("lastfm").Takes.Listens = delivery.Scrobble
	return n
}
