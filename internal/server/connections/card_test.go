package connections

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
	"reprise/web/ui"
	"reprise/web/ui/uitest"
)

// at is when everything in these tests happens.
var (
	when = time.Date(2026, 11, 20, 21, 4, 11, 0, time.UTC)
	at   = library.Stamp(when)
)

// connected returns a connection that reads listens and sends; what is read is in one state, and sending in another.
func connected(reading, sending string) Connection {
	line := func(state, message string) *ConnectionLine {
		l := &ConnectionLine{State: state}
		if c := syncer.Condition(state); needs(c) || c == syncer.Waiting || c == syncer.Held {
			category := "upstream"
			l.Category, l.Message, l.Since, l.Began = &category, message, core.Moment(when), "It began at "+at+"."
		}
		return l
	}
	v := Connection{ID: "spotify", Provider: "spotify", DisplayName: "Spotify", Account: "alice", State: reading,
		Message: "What is the case.", Reads: true, LastSuccessAt: core.Moment(when),
		Reading: line(reading, "What is the case."),
		Sending: line(sending, "What keeps it."), Streams: []StreamState{
			{Stream: library.Listens, State: reading}, {Stream: library.Deliveries, State: sending}}}
	main := v.Reading
	if needs(syncer.Condition(sending)) && !needs(syncer.Condition(reading)) {
		v.State, main = sending, v.Sending
		v.Message = main.Message
	}
	v.Category, v.Since = main.Category, main.Since
	return v
}

func german(t *testing.T) context.Context { return words.With(t.Context(), words.German) }

// What is the matter with a service is said once, on its card, with the button that mends it.
func TestTheCardSaysWhatIsTheMatter(t *testing.T) {
	t.Parallel()
	reconnect := &core.Action{Label: "Reconnect", URL: "/connect/spotify"}
	urgent := core.Notification{ID: "1", Severity: "error", Connection: "spotify", Action: reconnect}
	warning := core.Notification{ID: "2", Severity: "warning", Connection: "spotify", Title: "A notice",
		Action: reconnect}
	stopped := connected("needs_reconnect", "needs_reconnect")
	stopped.Actions = []ConnectionAction{{Action: "pause", Label: "Pause"},
		{Action: "reconnect", Label: "Reconnect", URL: "/connect/spotify"}, {Action: "retry", Label: "Try again"}}
	show := func(v Connection, path string, open ...core.Notification) CardView {
		return newCard(t.Context(), v, reader{Path: path, Open: open})
	}

	for _, open := range [][]core.Notification{nil, {urgent, warning}} {
		c := show(stopped, "/", open...)
		require.True(t, c.Loud)
		require.Equal(t, "What is the case.", c.Says)
		require.Empty(t, c.Notices, "the card says more")
		require.Equal(t, "/connect/spotify", c.Action.URL)
		require.Equal(t, 1, strings.Count(uitest.HTML(t, words.English, Card(c)), "Reconnect<"))
	}
	fine := connected("healthy", "healthy")
	require.True(t, show(fine, "/").Calm)
	require.Equal(t, []notice{{ID: "2", Title: "A notice", Button: &ui.Action{Label: "Reconnect",
		URL: "/connect/spotify", Main: true}}}, show(fine, "/", urgent, warning,
		core.Notification{ID: "3", Severity: "warning", Connection: "lastfm", Action: reconnect}).Notices)
	require.Nil(t, show(fine, "/connect/spotify", warning).Notices[0].Button)
}

// Where access was revoked, the page of the connection has the button that mends it, and none that cannot.
func TestThePageOfAConnectionReconnects(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		in        context.Context
		reconnect string
		category  resilience.Category
		want      []string
	}{
		{t.Context(), "Reconnect", resilience.Auth, []string{"spotify-reconnect", "spotify-pause"}},
		{german(t), "Neu verbinden", resilience.Auth, []string{"spotify-reconnect", "spotify-pause"}},
		{t.Context(), "Reconnect", resilience.Permission, // which a person can give back there
			[]string{"spotify-retry", "spotify-reconnect", "spotify-pause"}},
	} {
		v := connected("needs_reconnect", "needs_reconnect")
		st := syncer.Status{Condition: syncer.NeedsReconnect, Provider: reads(library.Listens),
			State: backoff.State{Kind: backoff.Stopped, Category: row.category}}
		st.Connection.ID = "spotify"
		v.Actions = actionsFor(row.in, st)
		banner := core.Notification{ID: "1", Severity: "error", Connection: "spotify",
			Action: &core.Action{Label: row.reconnect, URL: "/connect/spotify"}}
		for _, open := range [][]core.Notification{nil, {banner}} {
			page := detailsOf(row.in, v, reader{Path: "/connections/spotify", Open: open})
			var ids []string
			for _, a := range page.Actions {
				ids = append(ids, a.ID)
			}
			require.Equal(t, row.want, ids)
			i := slices.Index(ids, "spotify-reconnect")
			require.True(t, page.Actions[i].Main)
			require.Equal(t, []string{row.reconnect, "/connect/spotify"},
				[]string{page.Actions[i].Label, page.Actions[i].URL})
		}
	}
}

func TestAHoldOnSendingIsNoneOfTheConnection(t *testing.T) {
	t.Parallel()
	v := connected("healthy", "held")
	v.Waiting = delivery.Waiting{Listens: 26}
	v.Sending.NextAttemptAt = core.Moment(when)
	c := newCard(t.Context(), v, reader{})
	require.Equal(t, "On hold", c.State.Word, "never up to date above that")
	require.Len(t, c.Sides, 2)
	require.Equal(t, []string{"Up to date", "On hold"}, []string{c.Sides[0].State.Word, c.Sides[1].State.Word})
	require.False(t, c.Sides[1].Next.IsZero())
	require.Equal(t, "What keeps it.", c.Sides[1].Says)
	require.Empty(t, c.Says, "it is said once")
	require.Equal(t, []string{"26 waiting to be sent"}, c.Figures)
	html := uitest.HTML(t, words.English, Card(c))
	require.Contains(t, html, "Sending")
	require.Equal(t, 2, strings.Count(html, "On hold"), "in its head, and beside sending")

	require.Empty(t, newCard(t.Context(), connected("healthy", "healthy"), reader{}).Sides)
	require.Empty(t, newCard(t.Context(), connected("held", "held"), reader{}).Sides, "they do not differ")
	c = newCard(t.Context(), connected("waiting", "healthy"), reader{})
	require.Equal(t, "Not responding", c.State.Word)
	require.Len(t, c.Sides, 2)
	c = newCard(t.Context(), connected("healthy", "needs_reconnect"), reader{})
	require.Equal(t, "Needs you", c.State.Word, "a person is needed")
	require.Equal(t, "Up to date", c.Sides[0].State.Word)
}

func TestACardSaysWhatBegan(t *testing.T) {
	t.Parallel()
	v := connected("waiting", "waiting")
	require.Equal(t, "It began at "+at+".", newCard(t.Context(), v, reader{}).Since)
	v.State = "paused"
	require.Empty(t, newCard(t.Context(), v, reader{}).Since)
}

func TestACardHasOneAction(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{"healthy": "sync", "syncing": "sync", "new": "sync", "waiting": "retry",
		"held": "", "paused": "resume", "needs_admin": "retry", "needs_reconnect": "reconnect"} {
		v := connected(state, state)
		st := syncer.Status{Condition: syncer.Condition(state), Provider: reads(library.Listens),
			Reading: &syncer.Line{}}
		if state == "waiting" || state == "held" {
			st.Reading.State.Kind = backoff.Waiting
		}
		st.Connection.ID = "spotify"
		v.Actions = actionsFor(t.Context(), st)
		if state == "syncing" {
			v.Category = nil
		}
		c := newCard(t.Context(), v, reader{})
		if want == "" {
			require.Nil(t, c.Action, state)
			continue
		}
		require.Equal(t, "spotify-"+want, c.Action.ID, state)
	}
}

func TestAHoldThatCanBeLiftedHasTheWay(t *testing.T) {
	t.Parallel()
	v := connected("held", "held")
	v.Reading.Liftable, v.Provider = true, "youtube"
	const liftAt = "/settings/server#keys"
	v.Actions = []ConnectionAction{{Action: "lift", Label: "Add a key", URL: liftAt}, {Action: "pause", Label: "Pause"}}
	require.Equal(t, liftAt, newCard(t.Context(), v, reader{Admin: true}).Action.URL)
	v.Actions = v.Actions[1:]
	require.Equal(t, "/ask/youtube", newCard(t.Context(), v, reader{}).Action.Post)
	v.Reading.Liftable = false
	require.Nil(t, newCard(t.Context(), v, reader{}).Action, "nobody can do anything")
}

func TestAnAdministratorReadsNeedsYou(t *testing.T) {
	t.Parallel()
	v := connected("needs_admin", "needs_admin")
	require.Equal(t, "Needs you", newCard(t.Context(), v, reader{Admin: true}).State.Word)
	require.Equal(t, "Braucht den Administrator", newCard(german(t), v, reader{}).State.Word)
}

func TestHeadlineOfConnections(t *testing.T) {
	t.Parallel()
	of := func(states ...string) (all []Connection) {
		for _, s := range states {
			all = append(all, Connection{ID: s, Provider: s, State: s, DisplayName: "Spotify"})
		}
		return all
	}
	for _, c := range []struct {
		all            []Connection
		offline, admin bool
		want           string
	}{
		{of("healthy", "syncing", "new", "paused"), false, false, "All good"},
		{of("waiting", "healthy"), false, true, "Reprise is waiting for Spotify; nothing for you to do"},
		{of("waiting", "held"), false, false, "Reprise is waiting for 2 services; nothing for you to do"},
		{of("waiting", "held"), true, false, "This server is offline"},
		{of("needs_admin", "held"), true, false, "Spotify needs the administrator; Reprise is waiting for one other"},
		{of("needs_admin", "waiting", "needs_reconnect", "held"), false, true,
			"2 services need you; Reprise is waiting for 2 others"},
		{[]Connection{{Provider: "spotify", State: "held", DisplayName: "Spotify"},
			{Provider: "spotify", State: "needs_reconnect", DisplayName: "Mine"}}, false, true, "Mine needs you"},
		{of("needs_admin"), false, true, "Spotify needs you"},
		{of("needs_admin", "needs_reconnect"), false, false, "2 services need you"},
	} {
		require.Equal(t, c.want, headlineOf(t.Context(), c.all, c.offline, c.admin).State.Word)
	}
	require.Equal(t, "2 Dienste brauchen dich; Reprise wartet auf einen weiteren",
		headlineOf(german(t), of("needs_admin", "waiting", "needs_reconnect"), false, true).State.Word)
	good := headlineOf(t.Context(), of("healthy"), false, false)
	require.Equal(t, good, good.except(t.Context(), 0))
	require.Equal(t, "2 items could not be sent", good.except(t.Context(), 2).State.Word, "all is not good then")
	waits := headlineOf(t.Context(), of("waiting"), false, false)
	require.Equal(t, waits, waits.except(t.Context(), 2), "what is more urgent is said")
	noticed := []CardView{{}, {Notices: []notice{{ID: "1"}}}}
	require.Equal(t, good, good.beside(t.Context(), noticed[:1]))
	require.Equal(t, "All services are working", good.beside(t.Context(), noticed).State.Word)
	require.Equal(t, waits, waits.beside(t.Context(), noticed))
}

// Each state has its own word and its own shape, except that the two that need a person share a shape.
func TestConnectionStatesHaveWordsAndShapes(t *testing.T) {
	t.Parallel()
	for _, l := range words.Languages() {
		shapes, said := map[string]bool{}, map[string]bool{}
		for _, state := range syncer.Conditions {
			m := ui.StateMark(words.With(t.Context(), l), state)
			shapes[uitest.HTML(t, l, ui.Shape(m.Shape))], said[m.Word] = true, true
		}
		require.Len(t, shapes, 7, l.Code())
		require.Len(t, said, 8, l.Code())
	}
}

// full returns the start page with everything that there can be on it.
func full(ctx context.Context, name string) statusView {
	v := statusView{Total: 3,
		Headline: headline{State: ui.Mark{Shape: "healthy", Word: name}, Lead: name},
		Offers: []offer{{Provider: "lastfm", Name: "Last.fm",
			Connect: &ui.Action{Label: "C", URL: "/"}}},
		NotReady: "YouTube", Others: []ui.Named{{Text: "Spotify", URL: "/connect/spotify-2"}}}
	for _, state := range []string{"healthy", "syncing", "waiting", "needs_reconnect", "new"} {
		w := connected(state, "held")
		w.ID, w.DisplayName, w.Account, w.Message = "c-"+state, name, name, name
		c := newCard(ctx, w, reader{Open: []core.Notification{{ID: state, Severity: "warning", Connection: w.ID,
			Title: name, Action: &core.Action{Label: "Look", URL: "/"}}}})
		c.Sum, c.Slots = name, make([]ui.Slot, 48)
		v.Cards = append(v.Cards, c)
	}
	return v
}

func TestStartPageIsSound(t *testing.T) {
	t.Parallel()
	uitest.Sound(t, func(l *words.Language) templ.Component {
		return startPage(full(words.With(t.Context(), l), "x"+uitest.Hostile))
	})
}
