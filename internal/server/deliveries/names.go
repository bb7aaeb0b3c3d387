package deliveries

import (
	"cmp"
	"context"
	"time"

	"reprise/internal/channels"
	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
)

// Namer makes Names.
type Namer struct {
	core        *core.Core
	store       nameStore
	connections *syncer.Connections
	courier     *notify.Courier
}

// nameStore is what a Namer reads.
type nameStore interface {
	syncer.StatusStore
	Subjects(ctx context.Context, user int64, deliveries []int64) (map[int64]delivery.Subject, error)
	Questions(ctx context.Context, user int64, conn library.ConnectionID, songs []string) (
		map[string]delivery.Question, error)
}

// NewNamer returns a Namer.
func NewNamer(k *core.Core, store nameStore, connections *syncer.Connections, courier *notify.Courier) *Namer {
	return &Namer{core: k, store: store, connections: connections, courier: courier}
}

// Names describes deliveries in words. It knows the state of each connection, and what each delivery is about.
type Names struct {
	language *words.Language // of the reader; nil is English
	registry *providers.Registry
	statuses map[library.ConnectionID]syncer.Status
	subjects map[int64]delivery.Subject
	// open questions about the only listen of a dead letter, by delivery
	asked    map[int64]delivery.Question
	channels map[library.ConnectionID]notify.Channel // by the provider name in their deliveries
}

// For returns the names for what some deliveries of a person are about.
func (h *Namer) For(ctx context.Context, user int64, all ...delivery.Delivery) (n Names, err error) {
	n = Names{language: words.From(ctx), registry: h.core.Registry, statuses: map[library.ConnectionID]syncer.Status{},
		channels: map[library.ConnectionID]notify.Channel{}}
	statuses, err := h.connections.StatusOf(ctx, user, h.store)
	if err != nil {
		return n, err
	}
	for _, st := range statuses {
		n.statuses[st.Connection.ID] = st
	}
	ids, messages := make([]int64, len(all)), false
	for i := range all {
		messages = messages || all[i].Kind == delivery.Notify
		ids[i] = all[i].ID
	}
	if messages {
		told, err := h.courier.All(ctx, user)
		if err != nil {
			return n, err
		}
		for _, ch := range told {
			n.channels[delivery.ChannelName(ch.ID)] = ch
		}
	}
	if n.subjects, err = h.store.Subjects(ctx, user, ids); err != nil {
		return n, err
	}
	n.asked, err = h.questions(ctx, user, n.subjects, all)
	return n, err
}

// questions returns the open questions that dead letters wait for.
func (h *Namer) questions(ctx context.Context, user int64, subjects map[int64]delivery.Subject,
	all []delivery.Delivery) (map[int64]delivery.Question, error) {
	songs, asked := map[library.ConnectionID][]string{}, map[int64]delivery.Question{}
	keys := map[int64]string{}
	for _, d := range all {
		if s := subjects[d.ID]; d.State == delivery.Dead && d.Kind == delivery.Scrobble && s.Title != "" {
			keys[d.ID] = delivery.SongKey(s.Title, s.Artist)
			songs[d.Connection] = append(songs[d.Connection], keys[d.ID])
		}
	}
	for conn, wanted := range songs {
		found, err := h.store.Questions(ctx, user, conn, wanted)
		if err != nil {
			return nil, err
		}
		for _, d := range all {
			if q, ok := found[keys[d.ID]]; ok && d.Connection == conn && q.Answer == delivery.Unanswered {
				asked[d.ID] = q
			}
		}
	}
	return asked, nil
}

// service returns where a delivery goes: a provider, or a kind of channel.
func (n Names) service(d delivery.Delivery) string {
	if d.Kind == delivery.Notify {
		return n.channels[d.Connection].Kind // empty if it was removed
	}
	return d.Connection.Provider()
}

// connection returns what people read for a connection, or its id if the installation no longer has its provider.
func (n Names) connection(id library.ConnectionID) string {
	p := n.registry.Get(id.Provider())
	if p == nil {
		return string(id)
	}
	c := n.statuses[id].Connection
	c.ID = id
	return c.Label(p.Called().In(cmp.Or(n.language, words.English)))
}

// say puts a sentence into the reader's language.
func (n Names) say(t words.Text) string { return t.In(cmp.Or(n.language, words.English)) }

// channel returns a channel's name, and its kind if the name does not say it.
func (n Names) channel(name library.ConnectionID) string {
	ch, ok := n.channels[name]
	kind, _ := channels.KindOf(ch.Kind)
	switch {
	case !ok:
		return n.say(words.New("deliveries.removed_channel"))
	case ch.Name == kind.Label:
		return ch.Name
	}
	return ch.Name + " (" + kind.Label + ")"
}

// place returns what people read for where a delivery goes.
func (n Names) place(id library.ConnectionID) string {
	if _, channel := delivery.ChannelNumber(id); channel {
		return n.channel(id)
	}
	return n.connection(id)
}

// subject says what is sent where.
func (n Names) subject(d delivery.Delivery) words.Text {
	about, to := n.subjects[d.ID], n.place(d.Connection)
	switch {
	case d.Kind == delivery.Notify:
		return words.New("deliveries.subject.messages", "Name", to)
	case d.Kind == delivery.WriteLoves:
		return words.New("deliveries.subject.loves", "Name", to)
	case d.Kind == delivery.Archive:
		return words.New("deliveries.subject.month", "Month", n.month(d.Ref))
	case d.Kind == delivery.WritePlaylist && about.Title == "":
		return words.New("deliveries.subject.playlist", "Name", to)
	case d.Kind == delivery.WritePlaylist:
		return words.New("deliveries.subject.named", "Title", about.Title, "Name", to)
	case d.Kind == delivery.DeleteListens && d.Items == 0:
		return words.New("deliveries.subject.no_deletion", "Name", to)
	case d.Kind == delivery.DeleteListens && about.Title != "":
		return words.New("deliveries.subject.deletion", "Title", about.Title, "Artist", about.Artist, "Name", to)
	case d.Kind == delivery.DeleteListens:
		return words.New("deliveries.subject.deletions", "Count", d.Items, "Name", to)
	case d.Items == 0:
		return words.New("deliveries.subject.nothing", "Name", to)
	case about.Title != "":
		return words.New("deliveries.subject.song", "Title", about.Title, "Artist", about.Artist, "Name", to)
	}
	return words.New("deliveries.subject.listens", "Count", d.Items, "Name", to)
}

// month returns a month such as 2026-11 in words.
func (n Names) month(ref string) string {
	at, err := time.Parse("2006-01", ref)
	if err != nil {
		return ref
	}
	return cmp.Or(n.language, words.English).Month(at)
}

// why says why a delivery is not done yet, and when that ends at the earliest.
func (n Names) why(d delivery.Delivery) (reason string, until time.Time) {
	switch d.State {
	case delivery.Done, delivery.Running:
		return "", time.Time{}
	case delivery.Dead:
		return n.say(d.Reason), time.Time{}
	}
	if d.Kind == delivery.Notify {
		return n.whyNotSent(d), until
	}
	reason, until = n.Obstacle(d.Connection, d.Kind)
	switch {
	case reason != "" && d.Category == resilience.CircuitOpen.String() && n.troubled(d.Connection):
		return n.say(d.Reason), until
	case reason != "":
		return reason, until
	case d.State == delivery.Parked:
		return n.say(words.New("deliveries.why.moment")), until
	case d.Reason.IsZero() && d.Kind == delivery.Archive && d.Due.After(time.Now()):
		return n.say(words.New("deliveries.why.month")), until
	}
	return n.say(d.Reason), until
}

// whyNotSent says why a message has not been sent to its channel yet.
func (n Names) whyNotSent(d delivery.Delivery) string {
	ch, ok := n.channels[d.Connection]
	switch {
	case !ok:
		return ""
	case !ch.StoppedAt.IsZero():
		return n.say(words.Join(ch.Reason, words.New("deliveries.why.channel")))
	case ch.Failures > 0:
		return n.say(ch.Reason)
	case d.Due.After(time.Now().Add(time.Minute)):
		return n.say(words.New("deliveries.why.quiet"))
	}
	return ""
}

// Obstacle says why a connection gets no deliveries of a kind now, and when that ends at the earliest. The reason is
// empty if there is none.
func (n Names) Obstacle(id library.ConnectionID, kind string) (reason string, until time.Time) {
	name := n.connection(id)
	st, connected := n.statuses[id]
	switch {
	case !connected:
		return n.say(words.New("deliveries.why.not_connected", "Name", name)), until
	case st.Connection.Paused:
		return n.say(words.New("deliveries.why.paused", "Name", name)), until
	}
	listens := kind == delivery.SubmitListens || kind == delivery.Scrobble
	for _, stream := range st.Streams {
		state := stream.State
		reads := stream.Stream == library.Listens && listens // sending waits until the provider's listens are read
		if stream.Stream != library.Deliveries && !reads {
			continue
		}
		trouble := notify.Trouble{State: state, Stream: stream.Stream}
		switch {
		case state.Kind == backoff.Ready || reads && state.Kind == backoff.Stopped &&
			state.Scope == resilience.ScopeStream:
		case state.Kind == backoff.Stopped:
			title := notify.Explain(st.Provider, st.Connection, trouble).Title
			return n.say(words.New("deliveries.why.fixed", "Title", title)), until
		default:
			title := notify.Explain(st.Provider, st.Connection, trouble).Title
			reason = cmp.Or(reason, n.say(title)+".")
			until = Later(until, state.Until)
		}
		if reads && stream.History {
			reason = cmp.Or(reason, n.say(words.New("deliveries.why.history", "Name", name)))
		}
	}
	return reason, until
}

// lookAgain returns when a dead letter is tried again by itself; zero if that waits for the person.
func (n Names) lookAgain(d delivery.Delivery) time.Time {
	if d.State != delivery.Dead || d.EndedAt.IsZero() {
		return time.Time{}
	}
	st, connected := n.statuses[d.Connection]
	_, channel := n.channels[d.Connection]
	if connected && !st.Connection.Paused || channel {
		return d.EndedAt.Add(delivery.LookAgain)
	}
	return time.Time{}
}

// troubled reports whether a connection's service has trouble that passes by itself, and nothing worse.
func (n Names) troubled(id library.ConnectionID) bool {
	sending := n.statuses[id].Sending
	if sending == nil {
		return false
	}
	state := sending.State
	return state.Kind == backoff.Waiting &&
		(state.Category == resilience.Upstream || state.Category == resilience.CircuitOpen)
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
