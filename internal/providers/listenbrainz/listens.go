package listenbrainz

import (
	"cmp"
	"context"
	"iter"
	"net/url"
	"strconv"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
)

const (
	listensRoute = "/1/user/{name}/listens"
	countRoute   = "/1/user/{name}/listen-count"

	listensPerPage = 1000 // the most that ListenBrainz returns
	recentPerPage  = 100  // enough for the listens of a day and those submitted late
)

// listensBody is one page of listens, reduced to the fields that are used.
type listensBody struct {
	Payload struct {
		Listens []listen `json:"listens"`
		Oldest  int64    `json:"oldest_listen_ts"` // of the user's whole history; 0 from older servers
	} `json:"payload"`
}

type listen struct {
	ListenedAt int64  `json:"listened_at"` // Unix seconds
	MSID       string `json:"recording_msid"`
	Metadata   struct {
		Artist  string `json:"artist_name"`
		Title   string `json:"track_name"`
		Album   string `json:"release_name"`
		Mapping struct {
			RecordingMBID string           `json:"recording_mbid"`
			Artists       []creditedArtist `json:"artists"`
		} `json:"mbid_mapping"`
		Info struct { // free-form: set by the submitting client
			DurationMS    number `json:"duration_ms"`
			Duration      number `json:"duration"` // seconds
			ISRC          text   `json:"isrc"`
			RecordingMBID text   `json:"recording_mbid"`
			MSID          text   `json:"recording_msid"`
			Player        text   `json:"media_player"`
			Client        text   `json:"submission_client"`
		} `json:"additional_info"`
	} `json:"track_metadata"`
}

// creditedArtist is one of the artists of the recording that ListenBrainz takes the names of a listen for.
type creditedArtist struct {
	Name string `json:"artist_credit_name"`
	MBID string `json:"artist_mbid"`
}

// credits returns the artists that ListenBrainz lists.
func credits(text string, all []creditedArtist) []library.Credit {
	listed := make([]library.Credit, len(all))
	for i, a := range all {
		listed[i] = library.Credit{Name: a.Name, MBID: a.MBID}
	}
	return library.Listed(text, listed)
}

// usable reports whether l has a time and a name.
func (l *listen) usable() bool {
	return l.ListenedAt > 0 && l.Metadata.Title != "" && l.Metadata.Artist != ""
}

func (l *listen) plain() library.Listen {
	m := &l.Metadata
	duration := time.Duration(m.Info.DurationMS) * time.Millisecond
	if duration <= 0 {
		duration = time.Duration(float64(m.Info.Duration) * float64(time.Second)).Truncate(time.Millisecond)
	}
	msid := cmp.Or(l.MSID, string(m.Info.MSID))
	return library.Listen{
		Track: library.Track{
			Title:         m.Title,
			Artist:        m.Artist,
			Artists:       credits(m.Artist, m.Mapping.Artists),
			Album:         m.Album,
			Duration:      max(duration, 0),
			ISRC:          string(m.Info.ISRC),
			RecordingMBID: cmp.Or(m.Mapping.RecordingMBID, string(m.Info.RecordingMBID)),
			SourceID:      msid,
		},
		SourceID: strconv.FormatInt(l.ListenedAt, 10) + ":" + cmp.Or(msid, library.NameHash(m.Artist, m.Title)),
		PlayedAt: time.Unix(l.ListenedAt, 0).UTC(),
		Player:   library.PlayedWith(string(m.Info.Player), string(m.Info.Client)),
	}
}

// Listens implements providers.ListenSource.
func (a *adapter) Listens(ctx context.Context, span library.Span) iter.Seq2[providers.ListenPage, error] {
	return func(yield func(providers.ListenPage, error) bool) {
		if a.lacks[readsListens] {
			yield(providers.ListenPage{}, providers.ErrNotOffered)
			return
		}
		w, total := walk{count: listensPerPage}, -1
		if !span.After.IsZero() && time.Since(span.After) < 24*time.Hour {
			w.count = recentPerPage // incremental reads are short
		}
		if !span.Before.IsZero() {
			w.maxTS = span.Before.Unix() + 1
		}
		for {
			body, err := a.listens(ctx, w)
			if err == nil && total < 0 {
				total, err = a.total(ctx, span)
			}
			if err != nil {
				yield(providers.ListenPage{}, err)
				return
			}
			page, more := w.page(body)
			page.Total = total
			if len(page.Listens) > 0 && !yield(page, nil) {
				return
			}
			if !more || !page.Oldest.After(span.After) {
				return
			}
		}
	}
}

// listens reads the walk's next page. An answer without a body is an empty page.
func (a *adapter) listens(ctx context.Context, w walk) (*listensBody, error) {
	query := url.Values{"count": {strconv.Itoa(w.count)}}
	if w.maxTS > 0 {
		query.Set("max_ts", strconv.FormatInt(w.maxTS, 10))
	}
	answer, err := a.getUser(ctx, listensRoute, query)
	if err != nil {
		return nil, offered(err)
	}
	var body listensBody
	if answer.Empty() {
		return &body, nil
	}
	if err := providers.DecodeJSON(answer, &body); err != nil {
		return nil, err
	}
	if body.Payload.Listens == nil {
		return nil, providers.Broken(endpoint(listensRoute), "no list of listens")
	}
	for i := range body.Payload.Listens {
		if body.Payload.Listens[i].usable() {
			return &body, nil
		}
	}
	if len(body.Payload.Listens) > 0 {
		return nil, providers.Broken(endpoint(listensRoute), "listens without a time or a name")
	}
	return &body, nil
}

// total returns the number of the user's listens, or 0 when it is unknown. It makes a call only for a whole history.
func (a *adapter) total(ctx context.Context, span library.Span) (int, error) {
	if !span.After.IsZero() {
		return 0, nil
	}
	answer, err := a.getUser(ctx, countRoute, nil)
	if err != nil {
		return 0, ctx.Err()
	}
	var body struct {
		Payload struct {
			Count int `json:"count"`
		} `json:"payload"`
	}
	if answer.Empty() {
		return 0, nil
	}
	if err := providers.DecodeJSON(answer, &body); err != nil {
		return 0, err
	}
	if body.Payload.Count < 0 {
		return 0, providers.Broken(endpoint(countRoute), "a number of listens below 0")
	}
	return body.Payload.Count, nil
}

// CountBetween implements providers.Historian. ListenBrainz counts whole histories only.
func (a *adapter) CountBetween(context.Context, time.Time, time.Time) (int, error) {
	if a.lacks[readsListens] {
		return 0, providers.ErrNotOffered
	}
	return -1, nil
}
