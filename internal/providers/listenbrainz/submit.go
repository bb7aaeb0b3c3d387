package listenbrainz

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

const (
	submitRoute = "/1/submit-listens"

	// Limits of ListenBrainz. It refuses a whole call for one listen beyond them.
	listensPerSubmission = 1000
	maxListenSize        = 10_240     // bytes of JSON
	firstListen          = 1033430400 // Unix seconds: 1 October 2002, when scrobbling began

	client = "Reprise" // shown to ListenBrainz' users
)

// service is the argument of sentences about ListenBrainz; see server.named.
var service = []any{"Service", "ListenBrainz"}

// onItem returns the meaning of a listen that ListenBrainz never accepts.
func onItem(advice words.Text) resilience.Meaning {
	return resilience.Meaning{Class: resilience.Fatal, Category: resilience.Item, Scope: resilience.ScopeItem,
		Advice: advice}
}

var (
	tooLarge = onItem(words.New("listenbrainz.too_large", service...))
	tooEarly = onItem(words.New("listenbrainz.too_early", service...))
	nameless = onItem(words.New("listenbrainz.nameless", service...))
)

// ourMistake is the meaning of a refusal that concerns the call, not a listen.
var ourMistake = resilience.Meaning{Class: resilience.Fatal, Category: resilience.Contract,
	Scope: resilience.ScopeStream}

// submitTable is table for submitting. A batch is refused as a whole for one bad listen, and there is no object that
// could be missing.
var submitTable = append(table[:len(table):len(table)],
	providers.Row{Status: http.StatusBadRequest, Meaning: onItem(words.New("listenbrainz.rejected", service...))},
	providers.Row{Status: http.StatusConflict, Meaning: onItem(words.New("listenbrainz.same_second", service...))},
	providers.Row{Status: http.StatusNotFound, Meaning: ourMistake},
	providers.Row{Status: http.StatusGone, Meaning: ourMistake},
	providers.Row{Status: http.StatusUnprocessableEntity, Meaning: ourMistake},
)

// submission is the body of one call. Unknown values are omitted, as the documentation asks.
type submission struct {
	Type    string            `json:"listen_type"`
	Payload []json.RawMessage `json:"payload"`
}

type submitted struct {
	ListenedAt int64    `json:"listened_at,omitempty"` // 0 for what is playing now
	Metadata   metadata `json:"track_metadata"`
}

type metadata struct {
	Artist string `json:"artist_name"`
	Title  string `json:"track_name"`
	Album  string `json:"release_name,omitempty"`
	Info   struct {
		Client        string `json:"submission_client"`
		Service       string `json:"music_service,omitempty"`
		DurationMS    int64  `json:"duration_ms,omitempty"`
		ISRC          string `json:"isrc,omitempty"`
		RecordingMBID string `json:"recording_mbid,omitempty"`
		Account       string `json:"reprise_account,omitempty"` // only another Reprise gets it
	} `json:"additional_info"`
}

// metadataOf describes a track for ListenBrainz.
func metadataOf(t library.Track) (m metadata) {
	m.Title, m.Artist, m.Album = clean(t.Title), clean(t.Artist), clean(t.Album)
	m.Info.Client = client
	m.Info.DurationMS, m.Info.ISRC = max(t.Duration, 0).Milliseconds(), clean(t.ISRC)
	if mbidForm.MatchString(t.RecordingMBID) {
		m.Info.RecordingMBID = t.RecordingMBID
	}
	return m
}

// Submit implements providers.ListenTaker. The same play always encodes to the same JSON, so that ListenBrainz stores
// it once. A play beyond the limits is not sent, because ListenBrainz would refuse the whole batch.
func (a *adapter) Submit(ctx context.Context, plays []library.StoredListen) ([]error, error) {
	outcomes := make([]error, len(plays))
	call := submission{Type: "import", Payload: make([]json.RawMessage, 0, len(plays))}
	for i := range plays {
		text, err := marshal(&plays[i], a.musicService(plays[i].Sources), a.from)
		if outcomes[i] = a.server.worded(err); err == nil {
			call.Payload = append(call.Payload, text)
		}
	}
	if len(call.Payload) == 0 {
		return outcomes, nil
	}
	body, err := json.Marshal(call)
	if err != nil {
		return nil, err
	}
	answer, err := a.send(ctx, http.MethodPost, submitRoute, submitRoute, body, submitTable)
	if err != nil {
		return nil, err
	}
	var taken struct {
		Status string `json:"status"`
	}
	if err := providers.DecodeJSON(answer, &taken); err != nil {
		return nil, err
	}
	if taken.Status != "ok" {
		return nil, &resilience.ContractError{Endpoint: answer.Endpoint, What: "a status that is not ok"}
	}
	return outcomes, nil
}

// playingTable is table for what is playing now, which nobody misses: another server may not know it.
var playingTable = func() (t providers.Table) {
	for _, status := range []int{http.StatusBadRequest, http.StatusNotFound, http.StatusGone,
		http.StatusUnprocessableEntity} {
		t = append(t, providers.Row{Status: status, Meaning: onItem(words.New("listenbrainz.rejected", service...))})
	}
	return append(t, table...)
}()

// Playing implements providers.PlayingTaker.
func (a *adapter) Playing(ctx context.Context, t library.Track) error {
	m := metadataOf(t)
	m.Info.Account = a.from
	text, err := json.Marshal(submitted{Metadata: m})
	if err != nil {
		return err
	}
	body, err := json.Marshal(submission{Type: "playing_now", Payload: []json.RawMessage{text}})
	if err != nil {
		return err
	}
	_, err = a.send(ctx, http.MethodPost, submitRoute, submitRoute, body, playingTable)
	return err
}

// worded returns the failure of a listen in words about the server that was given.
func (s server) worded(err error) error {
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok {
		m := *e.Meaning
		m.Advice = s.named(words.Of(m.Advice))
		e.Means(&m)
	}
	return err
}

// marshal encodes a play from a streaming service for ListenBrainz. from names our person to another Reprise. Its error
// is an item failure.
func marshal(play *library.StoredListen, service, from string) (json.RawMessage, error) {
	l := submitted{ListenedAt: play.PlayedAt.Unix(), Metadata: metadataOf(play.Track)}
	m := &l.Metadata
	m.Info.Service, m.Info.Account = service, from
	switch {
	case m.Title == "" || m.Artist == "":
		return nil, unsent("without a title or an artist", nameless)
	case l.ListenedAt < firstListen:
		return nil, unsent("played at "+play.PlayedAt.UTC().Format(time.RFC3339), tooEarly)
	}
	text, err := json.Marshal(&l)
	if err != nil {
		return nil, err
	}
	if len(text) > maxListenSize {
		return nil, unsent("larger than 10,240 bytes", tooLarge)
	}
	return text, nil
}

// mbidForm matches the MusicBrainz ids that ListenBrainz accepts. Tags may contain anything.
var mbidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// clean removes NUL bytes, for which ListenBrainz refuses a batch, and trims spaces.
func clean(name string) string {
	return strings.TrimSpace(strings.ReplaceAll(name, "\x00", ""))
}

// unsent returns the error that ListenBrainz would return for a listen, without a call.
func unsent(why string, m resilience.Meaning) error {
	return &resilience.AnswerError{
		Endpoint: http.MethodPost + " " + submitRoute, Status: http.StatusBadRequest, Code: "not_sent",
		Message: "a listen " + why, Meaning: &m,
	}
}

// musicService returns the domain by which ListenBrainz knows the streaming service that told of a play.
func (a *adapter) musicService(sources []library.Source) string {
	for _, s := range sources {
		if domain := a.domains[s.Connection.Provider()]; domain != "" {
			return domain
		}
	}
	return ""
}
