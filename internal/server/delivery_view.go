package server

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"reprise/internal/channels"
	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	syncer "reprise/internal/sync"
	"reprise/web"
)

type deliveryView struct {
	ID            string  `json:"id"`
	Provider      string  `json:"provider"`
	Kind          string  `json:"kind"`
	Ref           string  `json:"ref"`
	Subject       string  `json:"subject"`
	Items         int     `json:"items"`
	State         string  `json:"state"`
	Attempts      int     `json:"attempts"`
	MaxAttempts   int     `json:"max_attempts"`
	NextAttemptAt *string `json:"next_attempt_at"`
	CreatedAt     string  `json:"created_at"`
	EndedAt       *string `json:"ended_at"`
	Category      *string `json:"category"`
	Reason        string  `json:"reason"`
	LastAnswer    string  `json:"last_answer"`
	Redrivable    bool    `json:"-"`
	Discardable   bool    `json:"-"`
}

// deliveryNames is what is needed to speak about deliveries: the state of each connection, and what they are about.
type deliveryNames struct {
	registry *providers.Registry
	statuses map[string]syncer.Status
	subjects map[int64]delivery.Subject
	channels map[string]notify.Channel // by the name that stands for each in its deliveries
}

func (s *Server) namesFor(ctx context.Context, user int64, all ...delivery.Delivery) (n deliveryNames, err error) {
	n = deliveryNames{registry: s.Registry, statuses: map[string]syncer.Status{}, channels: map[string]notify.Channel{}}
	statuses, err := s.Connections.StatusOf(ctx, user, s.Store)
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
		told, err := s.Courier.All(ctx, user)
		if err != nil {
			return n, err
		}
		for _, ch := range told {
			n.channels[delivery.ChannelName(ch.ID)] = ch
		}
	}
	n.subjects, err = s.Store.Subjects(ctx, user, ids)
	return n, err
}

func (n deliveryNames) view(d delivery.Delivery) deliveryView {
	v := deliveryView{ID: strconv.FormatInt(d.ID, 10), Provider: n.service(d), Kind: d.Kind, Ref: d.Ref, Subject: n.subject(d), Items: d.Items,
		State: string(d.State), Attempts: d.Attempts, MaxAttempts: d.MaxAttempts, CreatedAt: library.Stamp(d.CreatedAt), EndedAt: moment(d.EndedAt),
		Category: knownText(d.Category), LastAnswer: d.Answer, Redrivable: redrivable(d.State), Discardable: discardable(d.State)}
	reason, until := n.why(d)
	v.Reason = reason
	if d.State == delivery.Scheduled || d.State == delivery.Retrying {
		v.NextAttemptAt = moment(later(d.Due, until))
	}
	return v
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func redrivable(s delivery.State) bool  { return s == delivery.Dead || s == delivery.Retrying }
func discardable(s delivery.State) bool { return s != delivery.Running && s != delivery.Done }

// service is whom a delivery goes to: a provider, or the kind of a channel.
func (n deliveryNames) service(d delivery.Delivery) string {
	if d.Kind == delivery.Notify {
		return n.channels[d.Provider].Kind // empty once it was removed
	}
	return d.Provider
}

// provider is a provider's name as people know it, also of one that this installation has no more.
func (n deliveryNames) provider(name string) string {
	if p := n.registry.Get(name); p != nil {
		return p.DisplayName
	}
	return name
}

// channel is a channel's name, and of what kind it is where the name does not say so.
func (n deliveryNames) channel(name string) string {
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
func (n deliveryNames) subject(d delivery.Delivery) string {
	about, to := n.subjects[d.ID], " to "+n.provider(d.Provider)
	switch {
	case d.Kind == delivery.Notify:
		return "Messages to " + n.channel(d.Provider)
	case d.Kind == delivery.Archive:
		return monthName(d.Ref) + " to the archive"
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

// monthName writes a month such as 2026-11 in words.
func monthName(ref string) string {
	at, err := time.Parse("2006-01", ref)
	if err != nil {
		return ref
	}
	return at.Format("January 2006")
}

// why says why a delivery is not done yet, and until when that is so at least.
func (n deliveryNames) why(d delivery.Delivery) (reason string, until time.Time) {
	switch d.State {
	case delivery.Done, delivery.Running:
		return "", time.Time{}
	case delivery.Dead:
		return d.Reason, time.Time{}
	}
	if d.Kind == delivery.Notify {
		return n.whyNotTold(d), until
	}
	reason, until = n.obstacle(d.Provider, d.Kind)
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
func (n deliveryNames) whyNotTold(d delivery.Delivery) string {
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

// obstacle says what stands between a provider and the deliveries of a kind, and until when at least; empty for nothing.
func (n deliveryNames) obstacle(provider, kind string) (words string, until time.Time) {
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
		case state.Kind == resilience.Ready || reads && state.Kind == resilience.Stopped && state.Scope == resilience.ScopeStream:
		case state.Kind == resilience.Stopped:
			return notify.Explain(st.Provider, st.Connection, state, stream.Stream, "", "").Title + ". It goes out once that is mended.", until
		default:
			words, until = cmp.Or(words, notify.Explain(st.Provider, st.Connection, state, stream.Stream, "", "").Title+"."), later(until, state.Until)
		}
		if reads && stream.History {
			words = cmp.Or(words, "The history at "+name+" is read first, so that nothing is sent twice.")
		}
	}
	return words, until
}
