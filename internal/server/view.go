package server

import (
	"strconv"
	"time"

	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/resilience"
	syncer "reprise/internal/sync"
	"reprise/web"
)

// The views are the objects of the JSON API and of the websocket, and what the pages' templates are filled with.

type connectionView struct {
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
	Streams             []streamView `json:"streams"`
	Actions             []actionView `json:"actions"`
	Reads               bool         `json:"-"` // else things are only sent there
	Every               string       `json:"-"` // how often the stream is read that is read most often
}

type streamView struct {
	Stream        string  `json:"stream"`
	State         string  `json:"state"`
	NextAttemptAt *string `json:"next_attempt_at"`
	LastSuccessAt *string `json:"last_success_at"`
	Note          string  `json:"note,omitempty"`
	HistoryDone   int     `json:"history_done,omitempty"`
	HistoryTotal  int     `json:"history_total,omitempty"`
	Every         string  `json:"-"` // how often it is read
}

type actionView struct {
	Action string `json:"action"`
	Label  string `json:"label"`
	URL    string `json:"url,omitempty"`
}

// messages are the sentences for conditions that no failure explains.
var messages = map[syncer.Condition]string{
	syncer.Healthy: "Everything is in order.",
	syncer.Syncing: "Reading now.",
	syncer.New:     "Connected; the first reading starts in a moment.",
	syncer.Paused:  "Paused by you. Nothing is read or sent until you press Resume.",
}

// plainMessage is the sentence for a condition that no failure explains.
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

func (s *Server) viewConnection(c syncer.Status) connectionView {
	v := connectionView{Provider: c.Provider.Name, DisplayName: c.Provider.DisplayName, Account: c.Connection.Account,
		State: string(c.Condition), Message: c.Words.Message, Detail: c.Detail, LastSuccessAt: moment(c.LastSuccessAt),
		ExpiresAt: moment(c.Connection.ExpiresAt), Actions: actionsFor(c), Streams: []streamView{}, ParkedDeliveries: c.Waiting.Parked,
		Reads: len(c.Provider.Streams) > 0}
	if m, ok := plainMessage(c); ok && (c.State.Kind == resilience.Ready || c.Condition == syncer.Paused) {
		v.Message = m
	}
	if c.State.Kind != resilience.Ready {
		category := c.State.Category.String()
		v.Category, v.Since, v.NextAttemptAt = &category, moment(c.State.Since), moment(c.State.Until)
		v.ConsecutiveFailures = c.State.Failures
	}
	var soonest time.Duration
	for _, st := range c.Streams {
		every := s.Syncer.Every(st.Stream)
		if every > 0 && (soonest == 0 || every < soonest) {
			soonest, v.Every = every, rhythm(every)
		}
		sv := streamView{Stream: st.Stream, State: string(st.Condition), NextAttemptAt: moment(st.State.Until),
			LastSuccessAt: moment(st.LastSuccessAt), Note: st.Note, Every: rhythm(every)}
		if st.History {
			sv.HistoryDone, sv.HistoryTotal = st.Done, st.Total
		}
		v.Streams = append(v.Streams, sv)
	}
	return v
}

// rhythm says how often something is done, after "every"; empty for zero.
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

// actionsFor lists what the person can do, the most sensible first.
func actionsFor(s syncer.Status) []actionView {
	sync := actionView{Action: "sync", Label: "Sync now"}
	retry := actionView{Action: "retry", Label: "Try again"}
	pause := actionView{Action: "pause", Label: "Pause"}
	switch s.Condition {
	case syncer.Paused:
		return []actionView{{Action: "resume", Label: "Resume"}}
	case syncer.NeedsReconnect:
		reconnect := actionView{Action: "reconnect", Label: "Reconnect", URL: "/connect/" + s.Provider.Name}
		if s.State.Category == resilience.Permission {
			return []actionView{retry, reconnect, pause}
		}
		return []actionView{reconnect, retry, pause}
	case syncer.NeedsAdmin, syncer.Waiting:
		return []actionView{retry, pause}
	case syncer.Held, syncer.Syncing:
		return []actionView{pause}
	}
	if len(s.Provider.Streams) == 0 { // there is nothing to read
		return []actionView{pause}
	}
	return []actionView{sync, pause}
}

type playlistView struct {
	ID         string      `json:"id"`
	Provider   string      `json:"provider"`
	SourceID   string      `json:"source_id"`
	Name       string      `json:"name"`
	TrackCount int         `json:"track_count"`
	Active     bool        `json:"active"`
	Tracks     []trackView `json:"tracks,omitempty"`
}

type trackView struct {
	Position   int     `json:"position"`
	Track      string  `json:"track"`
	Artist     string  `json:"artist"`
	Album      string  `json:"album"`
	DurationMS *int64  `json:"duration_ms"`
	ISRC       *string `json:"isrc"`
}

func viewPlaylist(p library.StoredPlaylist, tracks []library.Track) playlistView {
	v := playlistView{ID: strconv.FormatInt(p.ID, 10), Provider: p.Provider, SourceID: p.SourceID, Name: p.Name, TrackCount: p.TrackCount, Active: p.Active}
	for i, t := range tracks {
		v.Tracks = append(v.Tracks, trackView{Position: i + 1, Track: t.Title, Artist: t.Artist, Album: t.Album,
			DurationMS: known64(t.Duration.Milliseconds()), ISRC: knownText(t.ISRC)})
	}
	return v
}

type notificationView struct {
	ID             string      `json:"id"`
	Severity       string      `json:"severity"`
	Title          string      `json:"title"`
	Message        string      `json:"message"`
	Detail         string      `json:"detail,omitempty"`
	Provider       string      `json:"provider"`
	Category       string      `json:"category"`
	Action         *linkAction `json:"action"`
	CreatedAt      string      `json:"created_at"`
	AcknowledgedAt *string     `json:"acknowledged_at"`
	ResolvedAt     *string     `json:"resolved_at"`
}

type linkAction struct {
	Label string `json:"label"`
	URL   string `json:"url"`
}

func viewNotification(n notify.Notification) notificationView {
	v := notificationView{ID: strconv.FormatInt(n.ID, 10), Severity: string(n.Severity), Title: n.Title, Message: n.Message, Detail: n.Detail,
		Provider: n.Provider, Category: n.Category, CreatedAt: library.Stamp(n.CreatedAt), AcknowledgedAt: moment(n.AcknowledgedAt), ResolvedAt: moment(n.ResolvedAt)}
	if n.Action.URL != "" {
		v.Action = &linkAction{Label: n.Action.Label, URL: n.Action.URL}
	}
	return v
}

func viewAll[T, V any](all []T, view func(T) V) []V {
	views := make([]V, len(all))
	for i, v := range all {
		views[i] = view(v)
	}
	return views
}

// moment writes a time as the API does, and nil for none.
func moment(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := library.Stamp(t)
	return &text
}

func known64(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

func knownText(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
