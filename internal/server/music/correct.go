package music

import (
	"context"

	"github.com/labstack/echo/v4"

	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// correction holds the links to correct an artist, an album or a track. Names belong to the household, so members see
// who can correct them instead.
type correction struct {
	Links []ui.Link
	Who   string // shown instead of the links
}

// correctionOf returns what the reader can do on the page at an address.
func correctionOf(c echo.Context, page string) correction {
	ctx := c.Request().Context()
	if !core.Administers(c) {
		return correction{Who: words.T(ctx, "rules.member")}
	}
	return correction{Links: correctionLinks(ctx, page)}
}

func correctionLinks(ctx context.Context, page string) []ui.Link {
	return []ui.Link{
		{Label: words.T(ctx, "rules.rename"), URL: page + "/rename"},
		{Label: words.T(ctx, "rules.merge"), URL: page + "/merge"},
		{Label: words.T(ctx, "rules.split"), URL: page + "/split"},
		{Label: words.T(ctx, "rules.picture"), URL: page + "/picture"},
	}
}
