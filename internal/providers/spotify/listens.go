package spotify

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
)

// lastPlays is the number of plays that Spotify keeps, and the maximum of one call.
const lastPlays = 50

const recentlyPlayed = "/v1/me/player/recently-played"

// track is a track of a play or of a playlist. The ID of a local file is null.
type track struct {
	ID      string `json:"id"`
	URI     string `json:"uri"`
	Type    string `json:"type"`
	Name    string `json:"name"`
	Artists []struct {
		Name string `json:"name"`
	} `json:"artists"`
	Album struct {
		Name string `json:"name"`
	} `json:"album"`
	DurationMS  int64 `json:"duration_ms"`
	ExternalIDs struct {
		ISRC string `json:"isrc"`
	} `json:"external_ids"`
}

// slot is the place of a track in a list. It is null for a track that Spotify no longer offers; a missing slot means
// that the answer has another shape.
type slot struct {
	present bool
	*track
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *slot) UnmarshalJSON(b []byte) error {
	s.present = true
	return json.Unmarshal(b, &s.track)
}

// usable reports whether t is music: not null, not a podcast, and, for a local file, with a title.
func (t *track) usable() bool { return t != nil && t.Type != "episode" && t.Name != "" }

func (t *track) sourceID() string {
	if t.ID != "" {
		return t.ID
	}
	return t.URI
}

func (t *track) artist() string {
	if len(t.Artists) == 1 {
		return t.Artists[0].Name
	}
	names := make([]string, 0, len(t.Artists))
	for _, a := range t.Artists {
		if a.Name != "" {
			names = append(names, a.Name)
		}
	}
	return strings.Join(names, ", ")
}

// credits returns the artists one by one.
func (t *track) credits() (all []library.Credit) {
	for _, a := range t.Artists {
		if a.Name != "" {
			all = append(all, library.Credit{Name: a.Name})
		}
	}
	return all
}

func (t *track) plain() library.Track {
	return library.Track{
		Title:    t.Name,
		Artist:   t.artist(),
		Artists:  t.credits(),
		Album:    t.Album.Name,
		Duration: time.Duration(t.DurationMS) * time.Millisecond,
		ISRC:     t.ExternalIDs.ISRC,
		SourceID: t.sourceID(),
	}
}

// Listens implements providers.ListenSource. There is one page at most.
func (a *adapter) Listens(ctx context.Context, span library.Span) iter.Seq2[providers.ListenPage, error] {
	return func(yield func(providers.ListenPage, error) bool) {
		page, err := a.plays(ctx, span)
		if err != nil {
			yield(providers.ListenPage{}, err)
		} else if !page.Oldest.IsZero() {
			yield(page, nil)
		}
	}
}

func (a *adapter) plays(ctx context.Context, span library.Span) (page providers.ListenPage, err error) {
	query := url.Values{"limit": {strconv.Itoa(lastPlays)}}
	switch { // Spotify accepts only one of them
	case !span.After.IsZero():
		query.Set("after", strconv.FormatInt(span.After.UnixMilli(), 10))
	case !span.Before.IsZero():
		query.Set("before", strconv.FormatInt(span.Before.UnixMilli(), 10))
	}
	var body struct {
		Items []struct {
			Track    slot   `json:"track"`
			PlayedAt string `json:"played_at"`
		} `json:"items"`
	}
	if err := a.get(ctx, recentlyPlayed, recentlyPlayed, query, table, &body); err != nil {
		return page, err
	}
	if body.Items == nil {
		return page, providers.Broken(endpoint(recentlyPlayed), "no list of plays")
	}
	page.Listens = make([]library.Listen, 0, len(body.Items))
	for i := range body.Items {
		row := &body.Items[i]
		at, err := time.Parse(time.RFC3339, row.PlayedAt)
		if err != nil || !row.Track.present {
			return page, providers.Broken(endpoint(recentlyPlayed), "a play without a track or a readable time")
		}
		at = at.UTC().Truncate(time.Millisecond)
		if page.Oldest.IsZero() || at.Before(page.Oldest) {
			page.Oldest = at
		}
		if row.Track.usable() {
			page.Listens = append(page.Listens, library.Listen{
				Track:    row.Track.plain(),
				SourceID: strconv.FormatInt(at.Unix(), 10) + ":" + row.Track.sourceID(),
				PlayedAt: at,
			})
		}
	}
	page.Lost = len(body.Items) >= lastPlays && !span.After.IsZero() && page.Oldest.After(span.After)
	return page, nil
}
