package listening

import (
	"context"
	"slices"
	"strings"
	"time"

	"reprise/internal/digest"
	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/server/core"
	"reprise/internal/server/digests"
	"reprise/internal/words"
	"reprise/web/ui"
)

// digestView is the card with the digest of a week.
type digestView struct {
	Week       string
	URL        string // of this page for the week
	Language   string
	Paragraphs []string
	Written    time.Time
	Covers     []coverView
}

// coverView is the cover of an album heard in the week.
type coverView struct {
	Picture ui.Picture
	URL     string
}

// mostCovers caps the covers of a digest.
const mostCovers = 6

// digest returns the latest digest of a week in the span, or nil.
func (h *Handler) digest(ctx context.Context, user int64, a *asked) (*digestView, error) {
	all, err := h.store.Digests(ctx, user)
	if err != nil {
		return nil, err
	}
	zone := a.Now.Location()
	for _, d := range all { // the newest first
		monday, err := time.ParseInLocation(time.DateOnly, d.Week, zone)
		if err != nil || d.State != digest.Written {
			continue
		}
		span, err := listening.NewSpan(listening.Week, monday)
		if err != nil {
			return nil, err
		}
		if a.Span.Name != listening.All && (!span.From.Before(a.Span.To) || !span.To.After(a.Span.From)) {
			continue
		}
		v := &digestView{Week: digests.WeekName(words.From(ctx), d.Week), URL: a.spanned(span, monday),
			Language: d.Language, Written: d.WrittenAt}
		for line := range strings.SplitSeq(d.Text, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				v.Paragraphs = append(v.Paragraphs, line)
			}
		}
		v.Covers, err = h.covers(ctx, user, a, span)
		return v, err
	}
	return nil, nil
}

// covers returns the covers of the albums heard most in a span.
func (h *Handler) covers(ctx context.Context, user int64, a *asked, span listening.Span) (all []coverView, err error) {
	columns, err := h.store.Columns(ctx, user)
	if err != nil {
		return nil, err
	}
	// Listens outside the span do not matter here.
	columns = slices.DeleteFunc(columns, func(c *listening.Columns) bool {
		n := len(c.At)
		return n == 0 || c.Start+int64(c.At[n-1]) < span.From.Unix() || c.Start+int64(c.At[0]) >= span.To.Unix()
	})
	meanings, err := h.store.Meanings(ctx)
	if err != nil {
		return nil, err
	}
	found := listening.Count(columns, meanings, listening.Question{Span: span, Now: a.Now, Most: 2 * mostCovers})
	names, err := h.namesOf(ctx, nil, found.Albums)
	if err != nil {
		return nil, err
	}
	links, err := h.rows.Links(ctx, core.ViewAll(found.Albums, func(r listening.Row) library.Track {
		return library.Track{Artist: names[r.ID].Artist, Album: names[r.ID].Title}
	})...)
	for i := range links {
		if links[i].Picture == "" || links[i].Portrait || len(all) == mostCovers {
			continue
		}
		e := names[found.Albums[i].ID]
		all = append(all, coverView{URL: pageOf(library.KindAlbum, found.Albums[i].ID), Picture: ui.Picture{
			URL: "/art/" + links[i].Picture, Size: 96, Alt: words.T(ctx, "listening.cover", "Album", e.Title,
				"Artist", e.Artist)}})
	}
	return all, err
}
