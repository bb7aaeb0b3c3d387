package music

import (
	"context"
	"slices"

	"reprise/internal/art"
	"reprise/internal/enrich"
	"reprise/internal/library"
	"reprise/internal/server/core"
)

// LinkStore finds the pages and pictures of the music in listens.
type LinkStore interface {
	Links(ctx context.Context, tracks []library.Track) ([]enrich.Links, error)
}

// Rows makes rows of listens.
type Rows struct {
	core  *core.Core
	store LinkStore
	art   *art.Cache
}

// NewRows returns Rows. pictures may be nil: rows have none then.
func NewRows(k *core.Core, store LinkStore, pictures *art.Cache) *Rows {
	return &Rows{core: k, store: store, art: pictures}
}

// Row is a listen on a page, with its picture and the pages of its music.
type Row struct {
	library.ListenRecord
	Links enrich.Links
	From  []string // labels of the connections that reported it
}

// Of returns the rows of a user's listens.
func (r *Rows) Of(ctx context.Context, user int64, page []library.StoredListen) ([]Row, error) {
	label, err := r.core.Labels(ctx, user)
	if err != nil {
		return nil, err
	}
	links, err := r.links(ctx, core.ViewAll(page, func(l library.StoredListen) library.Track { return l.Track })...)
	if err != nil {
		return nil, err
	}
	rows := make([]Row, len(page))
	for i, l := range page {
		rows[i] = Row{ListenRecord: l.Record(), Links: links[i]}
		for _, s := range l.Sources {
			if name := label(s.Connection); !slices.Contains(rows[i].From, name) {
				rows[i].From = append(rows[i].From, name)
			}
		}
	}
	return rows, nil
}

// links returns where tracks lead, with the pictures that can be shown.
func (r *Rows) links(ctx context.Context, tracks ...library.Track) ([]enrich.Links, error) {
	links, err := r.store.Links(ctx, tracks)
	for i := range links {
		links[i].Picture = r.shown(links[i].Picture)
	}
	return links, err
}

// shown returns the name of a picture; empty if the cache does not hold it any more.
func (r *Rows) shown(picture string) string {
	if picture == "" || r.art == nil || !r.art.Has(picture) {
		return ""
	}
	return picture
}
