package profile

import (
	"context"

	"reprise/internal/library"
	"reprise/internal/server/cards"
	"reprise/internal/words"
	"reprise/web/ui"
)

// openView is the page of a profile.
type openView struct {
	Title   string
	Lead    string // what the page is, if the title is a name
	Empty   string // says that there is nothing to see; empty if there is
	Span    string // of the numbers and the lists; empty without them
	Figures []cards.Figure
	Tops    []topView
	Playing []ui.Item
	Latest  []ui.Item
	Loved   []ui.Item
	Feed    string // address; empty for none
}

// topView is a list of the artists, albums or tracks that were heard most.
type topView struct {
	ID, Title string
	Items     []ui.Item
}

// view describes a profile. art returns the address of a picture.
func (p *content) view(ctx context.Context, art func(picture string) string) openView {
	v := openView{Title: title(ctx, p.share.Name), Playing: items(ctx, p.Playing, art),
		Latest: items(ctx, p.Latest, art), Loved: items(ctx, p.Loved, art), Figures: p.figures(ctx)}
	if p.share.Name != "" {
		v.Lead = words.T(ctx, "profile.title")
	}
	for _, t := range p.Tops {
		v.Tops = append(v.Tops, t.view(ctx, art))
	}
	if len(v.Figures)+len(v.Tops) > 0 {
		v.Span = spanWords(ctx, p.share.Span)
	}
	if v.Span == "" && len(v.Playing)+len(v.Latest)+len(v.Loved) == 0 {
		v.Empty = words.T(ctx, "profile.empty")
	}
	return v
}

// spanWords returns the name of a span for the reader.
func spanWords(ctx context.Context, span string) string {
	if span == library.ProfileSpans[1] {
		return words.T(ctx, "profile.span.year")
	}
	return words.T(ctx, "profile.span.month")
}

// items returns songs as rows of a list, without links.
func items(ctx context.Context, all []song, art func(string) string) []ui.Item {
	rows := make([]ui.Item, len(all))
	for i, one := range all {
		rows[i] = ui.Item{Picture: &ui.Picture{URL: art(one.Picture), Portrait: one.Portrait},
			Title: ui.Named{Text: one.Title}, By: []ui.Named{{Text: one.Artist}}, At: one.At}
		if one.Album != "" {
			rows[i].By = append(rows[i].By, ui.Named{Text: one.Album})
		}
		if one.About {
			rows[i].About = words.T(ctx, "listens.about")
		}
	}
	return rows
}

func (t top) view(ctx context.Context, art func(string) string) topView {
	v := topView{ID: t.Part, Title: words.Each("listening.top_", t.Part).T(ctx)}
	for _, r := range t.Rows {
		item := ui.Item{Picture: &ui.Picture{URL: art(r.Picture), Portrait: r.Kind == library.KindArtist},
			Title: ui.Named{Text: r.Name}, Aside: ui.ShareOf(ui.Share{N: words.From(ctx).Number(r.Listens),
				Label: words.T(ctx, "listening.count", "Count", r.Listens), Part: r.Listens * 100 / t.Rows[0].Listens})}
		if r.By != "" {
			item.By = []ui.Named{{Text: r.By}}
		}
		v.Items = append(v.Items, item)
	}
	return v
}

// figures returns the numbers; none if nothing was heard.
func (p *content) figures(ctx context.Context) []cards.Figure {
	if p.Totals.Listens == 0 {
		return nil
	}
	return cards.Figures(ctx, p.Totals)
}
