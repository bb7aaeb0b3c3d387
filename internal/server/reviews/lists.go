package reviews

import (
	"context"

	"reprise/internal/library"
	"reprise/internal/review"
	"reprise/internal/server/core"
	"reprise/internal/server/music"
	"reprise/web/ui"
)

// List is a list of artists, albums or tracks.
type List struct {
	ID, Title, Lead string
	Rows            []Row
}

// Row is a row of a list, with the address that it links to; empty for none.
type Row struct {
	review.Row
	URL string
}

// Rows returns rows of a review with the addresses that urlOf returns. Without urlOf, they have none.
func Rows(all []review.Row, urlOf func(review.Row) string) []Row {
	return core.ViewAll(all, func(r review.Row) Row {
		if urlOf == nil {
			return Row{Row: r}
		}
		return Row{r, urlOf(r)}
	})
}

// Items returns the rows for a page.
func (l List) Items(pictured bool) []ui.Item {
	return core.ViewAll(l.Rows, func(r Row) ui.Item {
		i := ui.Item{Title: ui.Named{Text: r.Name, URL: r.URL}, Note: r.Note, Aside: Bar(r.N, r.Said, r.Part)}
		if r.By != "" {
			i.By = []ui.Named{{Text: r.By}}
		}
		if pictured {
			i.Picture = &ui.Picture{URL: Art(r.Picture), Portrait: r.Entity.Kind == library.KindArtist}
		}
		return i
	})
}

// Picture fills in the pictures of rows.
func Picture(ctx context.Context, from *music.Rows, lists ...[]Row) error {
	var tracks []library.Track
	for _, rows := range lists {
		for _, r := range rows {
			tracks = append(tracks, r.Entity.Pictured())
		}
	}
	links, err := from.Links(ctx, tracks...)
	if err != nil {
		return err
	}
	for _, rows := range lists {
		for i := range rows {
			rows[i].Picture, links = links[0].Picture, links[1:]
		}
	}
	return nil
}

// Art returns the address of a picture; empty for none.
func Art(picture string) string {
	if picture == "" {
		return ""
	}
	return "/art/" + picture
}
