package connections

import (
	"context"
	"slices"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
)

// Connection is a connection in the API and in events.
type Connection struct {
	ID                  string             `json:"id" doc:"Unique among the connections of this user."`
	Name                string             `json:"name" doc:"Given by its user; may be empty."`
	Provider            string             `json:"provider"`
	DisplayName         string             `json:"display_name" doc:"What people read: its name, or that of the provider."`
	Account             string             `json:"account"`
	State               string             `json:"state" enum:"ConnectionState" doc:"The state of reading, or of sending if nothing is read, or only sending needs somebody or fails. A limit that the service asks to keep while sending is in 'sending' only."`
	Category            *string            `json:"category" enum:"Category"`
	Message             string             `json:"message" doc:"A plain sentence."`
	Detail              string             `json:"detail,omitempty" doc:"The latest failure in the service's words."`
	Note                string             `json:"note,omitempty" doc:"What its server doesn't offer, and what to do instead."`
	Since               core.MaybeTime     `json:"since"`
	NextAttemptAt       core.MaybeTime     `json:"next_attempt_at"`
	LastSuccessAt       core.MaybeTime     `json:"last_success_at"`
	ConsecutiveFailures int                `json:"consecutive_failures" minimum:"0"`
	ExpiresAt           core.MaybeTime     `json:"expires_at"`
	ParkedDeliveries    int                `json:"parked_deliveries" minimum:"0" doc:"Listens, playlists and months that wait for a person before Reprise sends them."`
	Reading             *ConnectionLine    `json:"reading" doc:"Null if Reprise reads nothing there."`
	Sending             *ConnectionLine    `json:"sending" doc:"Null if something is read and nothing was ever sent."`
	Streams             []StreamState      `json:"streams" doc:"Those that its server offers."`
	Actions             []ConnectionAction `json:"actions" doc:"What the person can do, the most sensible first."`
	Reads               bool               `json:"-"` // false: things are only sent there
	Archives            bool               `json:"-"` // months of listens are
	Every               string             `json:"-"` // the shortest interval of its streams, in words
	Spread              string             `json:"-"` // why it is read less often than the loops tick
	Waiting             delivery.Waiting   `json:"-"` // what waits to be sent there
}

type StreamState struct {
	Stream        string         `json:"stream" enum:"listens,playlists,deliveries" doc:"deliveries is what is sent there."`
	State         string         `json:"state" enum:"ConnectionState"`
	NextAttemptAt core.MaybeTime `json:"next_attempt_at"`
	LastSuccessAt core.MaybeTime `json:"last_success_at"`
	EverySeconds  int            `json:"every_seconds,omitempty" minimum:"1" doc:"How often it is read at the moment; absent if nothing is. Where many accounts share the pace of a service, this is longer than the interval of the settings."`
	Note          string         `json:"note,omitempty" doc:"What a person should know about the data."`
	HistoryDone   int            `json:"history_done,omitempty" doc:"Plays read of the history before the first sync, while it is being read."`
	HistoryTotal  int            `json:"history_total,omitempty" doc:"All of them, as far as the provider says."`
	Next          string         `json:"-"` // when it is attempted next, in words, if there is no time
}

type ConnectionAction struct {
	Action string `json:"action" enum:"reconnect,retry,sync,pause,resume,lift" doc:"lift is for administrators: where to end a wait of everybody, such as a spent key."`
	Label  string `json:"label"`
	URL    string `json:"url,omitempty"`
}

// plainMessage returns the sentence for a condition without a failure; empty for others.
func plainMessage(s syncer.Status) words.Text {
	switch s.Condition {
	case syncer.New:
		if s.Provider.Takes.Archive {
			return words.New("state.new_archive")
		}
		if s.Reading == nil {
			return words.New("state.new_sending")
		}
	case syncer.Paused:
		if waiting := s.Waiting.Clause(); !waiting.IsZero() {
			return words.New("state.paused_waiting", "Waiting", waiting)
		}
	case syncer.Healthy:
		if s.Reading == nil && s.LastSuccessAt.IsZero() {
			return words.New("state.ready")
		}
	case syncer.Syncing:
	default:
		return words.Text{}
	}
	return words.Each("state.", string(s.Condition))
}

func (h *Statuses) view(ctx context.Context, c syncer.Status) Connection {
	v := Connection{ID: string(c.Connection.ID), Name: c.Connection.Name, Provider: c.Provider.Name,
		DisplayName: c.Connection.Label(c.Provider.Called().T(ctx)), Account: c.Connection.Account,
		State: string(c.Condition), Message: c.Words.Message.T(ctx), Detail: c.Detail,
		LastSuccessAt: core.Moment(c.LastSuccessAt),
		ExpiresAt:     core.Moment(c.Connection.ExpiresAt), Actions: actionsFor(ctx, c), Streams: []StreamState{},
		ParkedDeliveries: c.Waiting.Parked, Waiting: c.Waiting,
		Note: c.Note.T(ctx), Reads: c.Reading != nil, Archives: c.Provider.Takes.Archive}
	v.Reading, v.Sending = viewLine(ctx, "reading", c.Reading), viewLine(ctx, "sending", c.Sending)
	v.Actions = h.withLift(ctx, c, v.Actions)
	if m := plainMessage(c); !m.IsZero() && (c.State.Kind == backoff.Ready || c.Condition == syncer.Paused) {
		v.Message = m.T(ctx)
	}
	if c.State.Kind != backoff.Ready {
		category := c.State.Category.String()
		v.Category, v.Since, v.NextAttemptAt = &category, core.Moment(c.State.Since), core.Moment(c.State.Until)
		v.ConsecutiveFailures = c.State.Failures
	}
	var soonest time.Duration
	for _, st := range c.Streams {
		every := st.Every
		if st.Sharing > 0 && v.Spread == "" {
			v.Spread = words.T(ctx, "sync.spread", "Every", rhythm(every), "Count", st.Sharing,
				"Name", c.Provider.Called())
		}
		if every > 0 && (soonest == 0 || every < soonest) {
			soonest, v.Every = every, rhythm(every).T(ctx)
		}
		sv := StreamState{Stream: st.Stream, State: string(st.Condition), NextAttemptAt: core.Moment(st.State.Until),
			EverySeconds:  int(every.Seconds()),
			LastSuccessAt: core.Moment(st.LastSuccessAt), Note: st.Note.T(ctx),
			Next: nextWords(st, every).T(ctx)}
		if st.History {
			sv.HistoryDone, sv.HistoryTotal = st.Done, st.Total
		}
		v.Streams = append(v.Streams, sv)
	}
	return v
}

// nextWords says when a stream is attempted next.
func nextWords(st syncer.StreamStatus, every time.Duration) words.Text {
	switch {
	case st.Condition == syncer.NeedsReconnect:
		return words.New("next.reconnect")
	case st.Condition == syncer.NeedsAdmin:
		return words.New("next.admin")
	case st.Condition == syncer.Paused:
		return words.New("next.resume")
	case st.Condition == syncer.Syncing:
		return words.New("next.now")
	case st.Stream == library.Deliveries:
		return words.New("next.when_needed")
	}
	if name, n := unitOf(every); n > 0 {
		return words.Each("next.within.", name, "Count", n)
	}
	return words.New("next.sync")
}

// rhythm says how often something happens that happens at an interval, such as "every hour"; empty for zero.
func rhythm(d time.Duration) words.Text {
	name, n := unitOf(d)
	if n == 0 {
		return words.Text{}
	}
	return words.Each("every.", name, "Count", n)
}

// unitOf returns the largest unit that a duration is a multiple of, and how many of it; 0 for less than a second.
func unitOf(d time.Duration) (name string, n int) {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{time.Hour, "hours"}, {time.Minute, "minutes"}, {time.Second, "seconds"}} {
		if n := int(d / unit.length); d%unit.length == 0 && n > 0 {
			return unit.name, n
		}
	}
	return "", 0
}

// actionsFor returns what the person can do, the most useful first.
func actionsFor(ctx context.Context, s syncer.Status) []ConnectionAction {
	action := func(name string) ConnectionAction {
		return ConnectionAction{Action: name, Label: words.Each("action.", name).T(ctx)}
	}
	retry, pause := action("retry"), action("pause")
	calm := s.Reading != nil && s.Reading.State.Kind == backoff.Ready // only sending waits
	switch s.Condition {
	case syncer.Paused:
		return []ConnectionAction{action("resume")}
	case syncer.NeedsReconnect:
		reconnect := action("reconnect")
		reconnect.URL = "/connect/" + string(s.Connection.ID)
		if s.State.Category == resilience.Permission {
			return []ConnectionAction{retry, reconnect, pause}
		}
		return []ConnectionAction{reconnect, retry, pause}
	case syncer.Waiting, syncer.Held:
		all := []ConnectionAction{pause}
		if calm {
			all = []ConnectionAction{action("sync"), pause}
		}
		if s.Condition == syncer.Waiting {
			return append([]ConnectionAction{retry}, all...)
		}
		return all
	case syncer.NeedsAdmin:
		return []ConnectionAction{retry, pause}
	case syncer.Syncing:
		return []ConnectionAction{pause}
	}
	switch {
	case s.Reading == nil:
		return []ConnectionAction{pause}
	case s.Sending != nil && s.Sending.Condition == syncer.Waiting:
		return []ConnectionAction{action("sync"), retry, pause}
	}
	return []ConnectionAction{action("sync"), pause}
}

// has says whether a connection has a stream.
func (v Connection) has(stream string) bool {
	return slices.ContainsFunc(v.Streams, func(s StreamState) bool { return s.Stream == stream })
}
