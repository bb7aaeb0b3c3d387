package reviews

import (
	"strconv"
	"time"

	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/review"
	"reprise/internal/server/core"
)

// HeardAmount is how much was heard in a span, in the API.
type HeardAmount struct {
	Listens int   `json:"listens"`
	Seconds int64 `json:"seconds"`
	Artists int   `json:"artists"`
	Albums  int   `json:"albums"`
	Tracks  int   `json:"tracks"`
}

// AmountOf returns totals in the form of the API.
func AmountOf(t listening.Totals) HeardAmount {
	return HeardAmount{t.Listens, int64(t.Time / time.Second), t.Artists, t.Albums, t.Tracks}
}

// HeardRow is an artist, an album or a track in the API.
type HeardRow struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Artist  string `json:"artist"`
	Listens int    `json:"listens"`
	Seconds int64  `json:"seconds"`
}

// HeardRows returns rows of a review for the API.
func HeardRows(of *review.Review, all []listening.Row) []HeardRow {
	return core.ViewAll(all, func(r listening.Row) HeardRow {
		e := of.Names[r.ID]
		v := HeardRow{strconv.FormatUint(uint64(r.ID), 10), e.Title, e.Artist, r.Listens, int64(r.Time.Seconds())}
		if e.Kind == library.KindArtist {
			v.Name = e.Artist
		}
		return v
	})
}
