package weeks

import (
	"context"
	"strings"

	"reprise/internal/server/cards"
	"reprise/internal/server/reviews"
	"reprise/internal/weekly"
	"reprise/internal/words"
)

// titleSize is the size of the title of a card, the dates of the week, in pixels.
const titleSize = 52

// contentOf returns the content of the card of a week. top is what was heard most in it.
func contentOf(ctx context.Context, w *weekly.Week, v weekly.Said, top []reviews.Row, as reviews.Look) reviews.Content {
	c := reviews.Content{Look: as, Name: v.Monday, Title: v.Week, Size: titleSize, SoFar: words.T(ctx, "week.report"),
		Slots: len(v.Days), Other: words.T(ctx, "year.card.unwritten")}
	about := []string{words.T(ctx, "week.title", "Week", v.Week) + "."}
	if v.Empty != "" {
		c.About = strings.Join(append(about, v.Empty), " ")
		return c
	}
	c.Figures = cards.Figures(ctx, w.Found.Totals)
	about = append(about, v.Lead[0])
	for _, d := range v.Days {
		c.Bars = append(c.Bars, reviews.Column{Label: d.Short, Part: d.Part})
	}
	for _, r := range top {
		p := cards.Row{Label: words.Each("week.top.", r.Entity.Kind).T(ctx), Name: r.Name, By: r.By, Note: r.Said,
			Picture: r.Picture}
		c.Prizes = append(c.Prizes, p)
		about = append(about, cards.About(ctx, p))
	}
	c.About = strings.Join(about, " ")
	return c
}
