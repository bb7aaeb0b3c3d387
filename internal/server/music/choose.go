package music

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"reprise/internal/listening"
	"reprise/internal/words"
	"reprise/web/ui"
)

// choice is what a page of listens needs for choosing some of them.
type choice struct {
	Fields []ui.Hidden // the filter, to come back to
	All    *ui.Link    // deletes all that the filter selects; nil without a filter
	Back   string
}

// countedAt returns the address of the statistics with the filter of a query. Artists must be given by ID.
func countedAt(asked url.Values) string {
	query := maps.Clone(asked)
	if _, err := strconv.ParseUint(query.Get("artist"), 10, 32); err != nil {
		query.Del("artist")
	}
	if query.Get("from") == "" || query.Get("to") == "" {
		query.Del("from")
		query.Del("to")
		if !query.Has("span") {
			query.Set("span", listening.All)
		}
	}
	return "/listening?" + query.Encode()
}

// choose lets listens be chosen on the page if on is set; else it offers that. asked is the query of the filter, which
// selects total listens.
func (v *listensView) choose(ctx context.Context, on bool, rows []Row, total int, asked url.Values) {
	if len(rows) == 0 {
		return
	}
	back := "/listens"
	if len(asked) > 0 {
		back += "?" + asked.Encode()
	}
	if !on {
		with := maps.Clone(asked)
		with.Set(selecting, "1")
		v.Do = append(v.Do, ui.Link{Label: words.T(ctx, "listens.counted"), URL: countedAt(asked)},
			ui.Link{Label: words.T(ctx, "listens.select"), URL: "/listens?" + with.Encode()},
			ui.Link{Label: words.T(ctx, "corrections.new"), URL: "/listens/new"},
			ui.Link{Label: words.T(ctx, "corrections.title"), URL: "/corrections"},
			ui.Link{Label: words.T(ctx, "loves.title"), URL: lovedPath},
			ui.Link{Label: words.T(ctx, "playrules.title"), URL: "/rules"},
			ui.Link{Label: words.T(ctx, "export.title"), URL: strings.TrimSuffix("/export?"+asked.Encode(), "?")})
		return
	}
	v.Select = &choice{Back: back}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		v.Select.Fields = append(v.Select.Fields, ui.Hidden{Name: name, Value: asked.Get(name)})
	}
	if len(asked) > 0 {
		v.Select.All = &ui.Link{Label: words.T(ctx, "listens.delete_all", "Count", total),
			URL: "/listens/delete?" + asked.Encode()}
	}
	n := 0
	for _, day := range v.Days {
		for i := range day.Items {
			l := rows[n]
			day.Items[i].Pick = &ui.Pick{Name: "listen", Value: strconv.FormatInt(l.ID, 10),
				Label: words.T(ctx, "listens.choose", "Title", l.Title, "Artist", l.Artist)}
			n++
		}
	}
}
