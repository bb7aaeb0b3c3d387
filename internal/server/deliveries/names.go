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
	store       NameStore
	connections *syncer.Connections
	courier     *notify.Courier
}

// NameStore is what a Namer reads.
type NameStore interface {
	syncer.StatusStore
	Subjects(ctx context.Context, user int64, deliveries []int64) (map[int64]delivery.Subject, error)
}

// NewNamer returns a Namer.
func NewNamer(k *core.Core, store NameStore, connections *syncer.Connections, courier *notify.Courier) *Namer {
	return &Namer{core: k, store: store, connections: connections, courier: courier}
}

// Names is what is needed to speak about deliveries: the state of each connection, and what they are about.
type Names struct {
	registry *providers.Registry
	statuses map[string]syncer.Status
	subjects map[int64]delivery.Subject
	channels map[string]notify.Channel // by the name that stands for each in its deliveries
}

func (h *Namer) For(ctx context.Context, user int64, all ...delivery.Delivery) (n Names, err error) {
	n = Names{registry: h.core.Registry, statuses: map[string]syncer.Status{},
		channels: map[string]notify.Channel{}}
	statuses, err := h.connections.StatusOf(ctx, user, h.store)
	if err != nil {
		return n, err
	}
	for _, st := range statuses {
		n.statuses[st.Provider.Name] = st
	}
	ids, tells := make([]int64, len(all)), false
	for i := range all {
		tells = tells || all[i].Kind == delivery.Notify
		ids[i] = all[i].ID
	}
	if tells {
		told, err := h.courier.All(ctx, user)
		if err != nil {
			return n, err
		}
		for _, ch := range told {
			n.channels[delivery.ChannelName(ch.ID)] = ch
		}
	}
	n.subjects, err = h.store.Subjects(ctx, user, ids)
	return n, err
}

// service is whom a delivery goes to: a provider, or the kind of a channel.
func (n Names) service(d delivery.Delivery) string {
	if d.Kind == delivery.Notify {
		return n.channels[d.Provider].Kind // empty once it was removed
	}
	return d.Provider
}

// provider is a provider's name as people know it, also of one that this installation has no more.
func (n Names) provider(name string) string {
	if p := n.registry.Get(name); p != nil {
		return p.DisplayName
	}
	return name
}

// channel is a channel's name, and of what kind it is where the name does not say so.
func (n Names) channel(name string) string {
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

// subject says what is carried where.
func (n Names) subject(d delivery.Delivery) string {
	about, to := n.subjects[d.ID], " to "+n.provider(d.Provider)
	switch {
	case d.Kind == delivery.Notify:
		return "Messages to " + n.channel(d.Provider)
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

// MonthName writes a month such as 2026-11 in words.
func MonthName(ref string) string {
	at, err := time.Parse("2006-01", ref)
	if err != nil {
		return ref
	}
	return at.Format("January 2006")
}

// why says why a delivery is not done yet, and until when that is so at least.
func (n Names) why(d delivery.Delivery) (reason string, until time.Time) {
	switch d.State {
	case delivery.Done, delivery.Running:
		return "", time.Time{}
	case delivery.Dead:
		return d.Reason, time.Time{}
	}
	if d.Kind == delivery.Notify {
		return n.whyNotTold(d), until
	}
	reason, until = n.Obstacle(d.Provider, d.Kind)
	switch {
	case reason != "":
		return reason, until
	case d.State == delivery.Parked:
		return "It goes out in a moment.", until
	case d.Reason == "" && d.Kind == delivery.Archive && d.Due.After(time.Now()):
		return "A month waits a while for more listens before it is written.", until
	}
	return d.Reason, until
}

// whyNotTold says why a channel has not been told yet.
func (n Names) whyNotTold(d delivery.Delivery) string {
	ch, ok := n.channels[d.Provider]
	switch {
	case !ok:
		return ""
	case !ch.StoppedAt.IsZero():
		return ch.Reason + " It goes out when you have mended the channel."
	case ch.Failures > 0:
		return ch.Reason
	case d.Due.After(time.Now().Add(time.Minute)):
		return "Messages wait for the end of your quiet hours, or because there were many in a short time."
	}
	return ""
}

// Obstacle says what stands between a provider and the deliveries of a kind, and until when at least; empty for
// nothing.
func (n Names) Obstacle(provider, kind string) (words string, until time.Time) {
	name := n.provider(provider)
	st, connected := n.statuses[provider]
	switch {
	case !connected:
		return name + " is not connected. It goes out when you connect it again.", until
	case st.Connection.Paused:
		return name + " is paused. It goes out when you press Resume.", until
	}
	listens := kind == delivery.SubmitListens || kind == delivery.Scrobble
	for _, stream := range st.Streams {
		state := stream.State
		reads := stream.Stream == library.Listens && listens // what is there is looked at first
		if stream.Stream != library.Deliveries && !reads {
			continue
		}
		switch {
		case state.Kind == resilience.Ready || reads && state.Kind == resilience.Stopped &&
			state.Scope == resilience.ScopeStream:
		case state.Kind == resilience.Stopped:
			return notify.Explain(st.Provider, st.Connection, state, stream.Stream, "", "").Title +
				". It goes out once that is mended.", until
		default:
			words, until = cmp.Or(words, notify.Explain(st.Provider, st.Connection, state, stream.Stream, "",
				"").Title+"."), Later(until, state.Until)
		}
		if reads && stream.History {
			words = cmp.Or(words, "The history at "+name+" is read first, so that nothing is sent twice.")
		}
	}
	return words, until
}

func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
