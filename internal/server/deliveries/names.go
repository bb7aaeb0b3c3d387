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
	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
	"reprise/web"
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
	registry *providers.Registry
	statuses map[library.ConnectionID]syncer.Status
	subjects map[int64]delivery.Subject
	// open questions about the only listen of a dead letter, by delivery
	asked    map[int64]delivery.Question
	channels map[library.ConnectionID]notify.Channel // by the provider name in their deliveries
}

func (h *Namer) For(ctx context.Context, user int64, all ...delivery.Delivery) (n Names, err error) {
	n = Names{registry: h.core.Registry, statuses: map[library.ConnectionID]syncer.Status{},
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
	return c.Label(p.DisplayName)
}

// channel returns a channel's name, and its kind if the name does not say it.
func (n Names) channel(name library.ConnectionID) string {
	ch, ok := n.channels[name]
	kind, _ := channels.KindOf(ch.Kind)
	switch {
	case !ok:
		return "a channel that was removed"
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
func (n Names) subject(d delivery.Delivery) string {
	about, to := n.subjects[d.ID], " to "+n.connection(d.Connection)
	switch {
	case d.Kind == delivery.Notify:
		return "Messages to " + n.channel(d.Connection)
	case d.Kind == delivery.Archive:
		return MonthName(d.Ref) + " to the archive"
	case d.Kind == delivery.WritePlaylist && about.Title == "":
		return "A playlist" + to
	case d.Kind == delivery.WritePlaylist:
		return "Playlist " + about.Title + to
	case d.Items == 0:
		return "Listens" + to + ", all there already"
	case about.Title != "":
		return about.Title + " by " + about.Artist + to
	}
	return web.Count(d.Items, "listen", "listens") + to
}

// MonthName returns a month such as 2026-11 in words.
func MonthName(ref string) string {
	at, err := time.Parse("2006-01", ref)
	if err != nil {
		return ref
	}
	return at.Format("January 2006")
}

// why says why a delivery is not done yet, and when that ends at the earliest.
func (n Names) why(d delivery.Delivery) (reason string, until time.Time) {
	switch d.State {
	case delivery.Done, delivery.Running:
		return "", time.Time{}
	case delivery.Dead:
		return d.Reason, time.Time{}
	}
	if d.Kind == delivery.Notify {
		return n.whyNotSent(d), until
	}
	reason, until = n.Obstacle(d.Connection, d.Kind)
	switch {
	case reason != "" && d.Category == resilience.CircuitOpen.String() && n.troubled(d.Connection):
		return d.Reason, until
	case reason != "":
		return reason, until
	case d.State == delivery.Parked:
		return "It goes out in a moment.", until
	case d.Reason == "" && d.Kind == delivery.Archive && d.Due.After(time.Now()):
		return "A month waits a while for more listens before it is written.", until
	}
	return d.Reason, until
}

// whyNotSent says why a message has not been sent to its channel yet.
func (n Names) whyNotSent(d delivery.Delivery) string {
	ch, ok := n.channels[d.Connection]
	switch {
	case !ok:
		return ""
	case !ch.StoppedAt.IsZero():
		return ch.Reason.String() + " It goes out when you have mended the channel."
	case ch.Failures > 0:
		return ch.Reason.String()
	case d.Due.After(time.Now().Add(time.Minute)):
		return "Messages wait for the end of your quiet hours, or because there were many in a short time."
	}
	return ""
}

// Obstacle says why a connection gets no deliveries of a kind now, and when that ends at the earliest. The words are
// empty if there is no reason.
func (n Names) Obstacle(id library.ConnectionID, kind string) (words string, until time.Time) {
	name := n.connection(id)
	st, connected := n.statuses[id]
	switch {
	case !connected:
		return name + " is not connected. It goes out when you connect it again.", until
	case st.Connection.Paused:
		return name + " is paused. It goes out when you press Resume.", until
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
		case state.Kind == resilience.Ready || reads && state.Kind == resilience.Stopped &&
			state.Scope == resilience.ScopeStream:
		case state.Kind == resilience.Stopped:
			return notify.Explain(st.Provider, st.Connection, trouble).Title.String() +
				". It goes out once that is mended.", until
		default:
			words = cmp.Or(words, notify.Explain(st.Provider, st.Connection, trouble).Title.String()+".")
			until = Later(until, state.Until)
		}
		if reads && stream.History {
			words = cmp.Or(words, "The history at "+name+" is read first, so that nothing is sent twice.")
		}
	}
	return words, until
}

// troubled reports whether a connection's service has trouble that passes by itself, and nothing worse.
func (n Names) troubled(id library.ConnectionID) bool {
	sending := n.statuses[id].Sending
	if sending == nil {
		return false
	}
	state := sending.State
	return state.Kind == resilience.Waiting &&
		(state.Category == resilience.Upstream || state.Category == resilience.CircuitOpen)
}

func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
