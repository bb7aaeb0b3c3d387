package connections

import (
	"context"
	"time"

	"reprise/internal/library"
	"reprise/internal/resilience"
	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
	"reprise/web"
)

type View struct {
	ID                  string       `json:"id"`
	Name                string       `json:"name"` // given by its person; may be empty
	Provider            string       `json:"provider"`
	DisplayName         string       `json:"display_name"`
	Account             string       `json:"account"`
	State               string       `json:"state"`
	Category            *string      `json:"category"`
	Message             string       `json:"message"`
	Detail              string       `json:"detail,omitempty"`
	Since               *string      `json:"since"`
	NextAttemptAt       *string      `json:"next_attempt_at"`
	LastSuccessAt       *string      `json:"last_success_at"`
	ConsecutiveFailures int          `json:"consecutive_failures"`
	ExpiresAt           *string      `json:"expires_at"`
	ParkedDeliveries    int          `json:"parked_deliveries"`
	Reading             *lineView    `json:"reading"` // nil where nothing is read
	Sending             *lineView    `json:"sending"` // nil where nothing was ever sent
	Streams             []streamView `json:"streams"`
	Actions             []actionView `json:"actions"`
	Reads               bool         `json:"-"` // false: things are only sent there
	Every               string       `json:"-"` // the shortest interval of its streams
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

// messages holds the sentences for conditions without a failure.
var messages = map[syncer.Condition]string{
	syncer.Healthy: "Everything is in order.",
	syncer.Syncing: "Reading now.",
	syncer.New:     "Connected; the first reading starts in a moment.",
	syncer.Paused:  "Paused by you. Nothing is read or sent until you press Resume.",
}

// plainMessage returns the sentence for a condition without a failure.
func plainMessage(s syncer.Status) (string, bool) {
	m, ok := messages[s.Condition]
	waiting := s.Waiting.String()
	switch {
	case s.Condition == syncer.New && len(s.Provider.Streams) == 0:
		m = "Connected. What there is to be kept is written in a moment."
	case s.Condition == syncer.Paused && waiting != "":
		m += " Waiting to be sent: " + waiting + "."
	}
	return m, ok
}

func (h *Statuses) view(ctx context.Context, c syncer.Status) View {
	v := View{ID: string(c.Connection.ID), Name: c.Connection.Name, Provider: c.Provider.Name,
		DisplayName: c.Connection.Label(c.Provider.DisplayName), Account: c.Connection.Account,
		State: string(c.Condition), Message: c.Words.Message, Detail: c.Detail,
		LastSuccessAt: core.Moment(c.LastSuccessAt),
		ExpiresAt:     core.Moment(c.Connection.ExpiresAt), Actions: actionsFor(c), Streams: []streamView{},
		ParkedDeliveries: c.Waiting.Parked,
		Reads:            len(c.Provider.Streams) > 0}
	v.Reading, v.Sending = viewLine(ctx, "reading", c.Reading), viewLine(ctx, "sending", c.Sending)
	v.Actions = h.withLift(ctx, c, v.Actions)
	if m, ok := plainMessage(c); ok && (c.State.Kind == resilience.Ready || c.Condition == syncer.Paused) {
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
			soonest, v.Every = every, rhythm(every)
		}
		sv := streamView{Stream: st.Stream, State: string(st.Condition), NextAttemptAt: core.Moment(st.State.Until),
			LastSuccessAt: core.Moment(st.LastSuccessAt), Note: st.Note, Next: nextWords(st, every)}
		if st.History {
			sv.HistoryDone, sv.HistoryTotal = st.Done, st.Total
		}
		v.Streams = append(v.Streams, sv)
	}
	return v
}

// nextWords says when a stream is attempted next.
func nextWords(st syncer.StreamStatus, every time.Duration) string {
	switch {
	case st.Condition == syncer.NeedsReconnect:
		return "after you reconnect"
	case st.Condition == syncer.NeedsAdmin:
		return "after the administrator has acted"
	case st.Condition == syncer.Paused:
		return "after you resume"
	case st.Condition == syncer.Syncing:
		return "now"
	case st.Stream == library.Deliveries:
		return "when there is something"
	case every > 0:
		return "about every " + rhythm(every)
	}
	return "at the next sync"
}

// rhythm returns an interval as it is said after "every"; empty for zero.
func rhythm(d time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		switch n := int(d / unit.length); {
		case d%unit.length != 0 || n == 0:
			continue
		case n == 1:
			return unit.name
		default:
			return web.Count(n, unit.name, unit.name+"s")
		}
	}
	return ""
}

// actionsFor returns what the person can do, the most useful first.
func actionsFor(s syncer.Status) []actionView {
	sync := actionView{Action: "sync", Label: "Sync now"}
	retry := actionView{Action: "retry", Label: "Try again"}
	pause := actionView{Action: "pause", Label: "Pause"}
	switch s.Condition {
	case syncer.Paused:
		return []actionView{{Action: "resume", Label: "Resume"}}
	case syncer.NeedsReconnect:
		reconnect := actionView{Action: "reconnect", Label: "Reconnect", URL: "/connect/" + string(s.Connection.ID)}
		if s.State.Category == resilience.Permission {
			return []actionView{retry, reconnect, pause}
		}
		return []actionView{reconnect, retry, pause}
	case syncer.NeedsAdmin, syncer.Waiting:
		return []actionView{retry, pause}
	case syncer.Held, syncer.Syncing:
		return []actionView{pause}
	}
	switch {
	case len(s.Provider.Streams) == 0: // nothing is read there
		return []actionView{pause}
	case s.Sending != nil && s.Sending.Condition == syncer.Waiting:
		return []actionView{sync, retry, pause}
	}
	return []actionView{sync, pause}
}
