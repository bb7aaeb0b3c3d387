package connections

import (
	"context"
	"slices"
	"strings"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/resilience"
	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
)

// View is a connection in the API and in events.
type View struct {
	ID                  string           `json:"id"`
	Name                string           `json:"name"` // given by its person; may be empty
	Provider            string           `json:"provider"`
	DisplayName         string           `json:"display_name"`
	Account             string           `json:"account"`
	State               string           `json:"state"`
	Category            *string          `json:"category"`
	Message             string           `json:"message"`
	Detail              string           `json:"detail,omitempty"`
	Since               *string          `json:"since"`
	NextAttemptAt       *string          `json:"next_attempt_at"`
	LastSuccessAt       *string          `json:"last_success_at"`
	ConsecutiveFailures int              `json:"consecutive_failures"`
	ExpiresAt           *string          `json:"expires_at"`
	ParkedDeliveries    int              `json:"parked_deliveries"`
	Streams             []streamView     `json:"streams"`
	Actions             []actionView     `json:"actions"`
	Reads               bool             `json:"-"` // false: things are only sent there
	Every               string           `json:"-"` // the shortest interval of its streams, in words
	Waiting             delivery.Waiting `json:"-"` // what waits to be sent there
}

type streamView struct {
	Stream        string  `json:"stream"`
	State         string  `json:"state"`
	NextAttemptAt *string `json:"next_attempt_at"`
	LastSuccessAt *string `json:"last_success_at"`
	Note          string  `json:"note,omitempty"`
	HistoryDone   int     `json:"history_done,omitempty"`
	HistoryTotal  int     `json:"history_total,omitempty"`
	Next          string  `json:"-"` // when it is attempted next, in words, if there is no time
}

type actionView struct {
	Action string `json:"action"`
	Label  string `json:"label"`
	URL    string `json:"url,omitempty"`
}

// plainMessage returns the sentence for a condition without a failure.
func plainMessage(ctx context.Context, s syncer.Status) (string, bool) {
	switch s.Condition {
	case syncer.Healthy, syncer.Syncing:
		return words.Each("connection.message.", string(s.Condition)).T(ctx), true
	case syncer.New:
		if len(s.Provider.Streams) == 0 {
			return words.T(ctx, "connection.message.new_archive"), true
		}
		return words.T(ctx, "connection.message.new"), true
	case syncer.Paused:
		m := words.T(ctx, "connection.message.paused")
		if waiting := owed(ctx, s.Waiting); waiting != "" {
			m += " " + words.T(ctx, "connection.message.owed", "Waiting", waiting)
		}
		return m, true
	}
	return "", false
}

// owed says what waits to be sent; empty for nothing.
func owed(ctx context.Context, w delivery.Waiting) string {
	var parts []string
	for _, part := range []struct {
		kind string
		n    int
	}{{"listens", w.Listens}, {"playlists", w.Playlists}, {"months", w.Months}} {
		if part.n > 0 {
			parts = append(parts, words.Each("count.", part.kind, "Count", part.n).T(ctx))
		}
	}
	return strings.Join(parts, ", ")
}

func (h *Statuses) view(ctx context.Context, c syncer.Status) View {
	v := View{ID: string(c.Connection.ID), Name: c.Connection.Name, Provider: c.Provider.Name,
		DisplayName: c.Connection.Label(c.Provider.DisplayName), Account: c.Connection.Account,
		State: string(c.Condition), Message: c.Words.Message, Detail: c.Detail,
		LastSuccessAt: core.Moment(c.LastSuccessAt),
		ExpiresAt:     core.Moment(c.Connection.ExpiresAt), Actions: actionsFor(ctx, c), Streams: []streamView{},
		ParkedDeliveries: c.Waiting.Parked, Waiting: c.Waiting,
		Reads: len(c.Provider.Streams) > 0}
	if m, ok := plainMessage(ctx, c); ok && (c.State.Kind == resilience.Ready || c.Condition == syncer.Paused) {
		v.Message = m
	}
	if c.State.Kind != resilience.Ready {
		category := c.State.Category.String()
		v.Category, v.Since, v.NextAttemptAt = &category, core.Moment(c.State.Since), core.Moment(c.State.Until)
		v.ConsecutiveFailures = c.State.Failures
	}
	var soonest time.Duration
	for _, st := range c.Streams {
		every := h.syncer.Every(st.Stream)
		if every > 0 && (soonest == 0 || every < soonest) {
			soonest, v.Every = every, rhythm(ctx, every)
		}
		sv := streamView{Stream: st.Stream, State: string(st.Condition), NextAttemptAt: core.Moment(st.State.Until),
			LastSuccessAt: core.Moment(st.LastSuccessAt), Note: st.Note, Next: nextWords(ctx, st, every)}
		if st.History {
			sv.HistoryDone, sv.HistoryTotal = st.Done, st.Total
		}
		v.Streams = append(v.Streams, sv)
	}
	return v
}

// nextWords says when a stream is attempted next.
func nextWords(ctx context.Context, st syncer.StreamStatus, every time.Duration) string {
	switch {
	case st.Condition == syncer.NeedsReconnect:
		return words.T(ctx, "connection.next.reconnect")
	case st.Condition == syncer.NeedsAdmin:
		return words.T(ctx, "connection.next.admin")
	case st.Condition == syncer.Paused:
		return words.T(ctx, "connection.next.resume")
	case st.Condition == syncer.Syncing:
		return words.T(ctx, "connection.next.now")
	case st.Stream == library.Deliveries:
		return words.T(ctx, "connection.next.something")
	case every > 0:
		return words.T(ctx, "connection.next.every", "Every", rhythm(ctx, every))
	}
	return words.T(ctx, "connection.next.sync")
}

// rhythm returns how often something happens, such as "every 5 minutes"; empty for zero.
func rhythm(ctx context.Context, d time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{time.Hour, "hours"}, {time.Minute, "minutes"}, {time.Second, "seconds"}} {
		if n := int(d / unit.length); n > 0 && d%unit.length == 0 {
			return words.Each("connection.every.", unit.name, "Count", n).T(ctx)
		}
	}
	return ""
}

// actionsFor returns what the person can do, the most useful first.
func actionsFor(ctx context.Context, s syncer.Status) (all []actionView) {
	add := func(names ...string) {
		for _, name := range names {
			a := actionView{Action: name, Label: words.Each("connection.do.", name).T(ctx)}
			if name == "reconnect" {
				a.URL = "/connect/" + string(s.Connection.ID)
			}
			all = append(all, a)
		}
	}
	switch s.Condition {
	case syncer.Paused:
		add("resume")
	case syncer.NeedsReconnect:
		if s.State.Category == resilience.Permission {
			add("retry", "reconnect", "pause")
		} else {
			add("reconnect", "retry", "pause")
		}
	case syncer.NeedsAdmin, syncer.Waiting:
		add("retry", "pause")
	case syncer.Held, syncer.Syncing:
		add("pause")
	default:
		if len(s.Provider.Streams) > 0 { // else nothing is read there
			add("sync")
		}
		add("pause")
	}
	return all
}

// has says whether a connection has a stream.
func (v View) has(stream string) bool {
	return slices.ContainsFunc(v.Streams, func(s streamView) bool { return s.Stream == stream })
}
