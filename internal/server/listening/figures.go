package listening

import (
	"context"
	"strconv"
	"time"

	"reprise/internal/listening"
	"reprise/internal/words"
)

// figures are the numbers at the top.
func (a *asked) figures(ctx context.Context, found listening.Answer) []figure {
	l, now, before := words.From(ctx), found.Totals, found.Before
	_, compared := a.Span.Before()
	compared = compared && before.Listens > 0
	note := func(now, before, fresh int) string {
		switch {
		case a.Span.Name == listening.All || a.allNew(found): // all of them were new once
			return ""
		case fresh == now && now > 0:
			return words.T(ctx, "listening.all_new")
		case fresh > 0:
			return words.T(ctx, "listening.new", "Count", fresh)
		case compared:
			return a.change(ctx, now, before)
		}
		return ""
	}
	length := int(now.Time.Round(time.Hour) / time.Hour)
	time1, unit := l.Number(length), words.T(ctx, "listening.hours", "Count", length)
	if now.Time < 2*time.Hour {
		length = int(now.Time.Round(time.Minute) / time.Minute)
		time1, unit = l.Number(length), words.T(ctx, "listening.minutes", "Count", length)
	}
	listens := figure{N: l.Number(now.Listens), Label: words.T(ctx, "listening.listens", "Count", now.Listens),
		URL: a.listens()}
	if compared {
		listens.Note = a.change(ctx, now.Listens, before.Listens)
	}
	hours := figure{N: time1, Label: unit}
	if now.Guessed*10 > now.Listens { // otherwise it hardly matters
		hours.Note = words.T(ctx, "listening.estimated")
	} else if compared {
		hours.Note = a.change(ctx, int(now.Time/time.Minute), int(before.Time/time.Minute))
	}
	return []figure{listens, hours,
		{N: l.Number(now.Artists), Label: words.T(ctx, "listening.artists", "Count", now.Artists), URL: "#artists",
			Note: note(now.Artists, before.Artists, now.NewArtists)},
		{N: l.Number(now.Albums), Label: words.T(ctx, "listening.albums", "Count", now.Albums), URL: "#albums",
			Note: note(now.Albums, before.Albums, now.NewAlbums)},
		{N: l.Number(now.Tracks), Label: words.T(ctx, "listening.tracks", "Count", now.Tracks), URL: "#tracks",
			Note: note(now.Tracks, before.Tracks, now.NewTracks)}}
}

// allNew reports whether nothing in the span had been heard before, as in a person's first month.
func (a *asked) allNew(found listening.Answer) bool {
	now := found.Totals
	return now.NewArtists == now.Artists && now.NewAlbums == now.Albums && now.NewTracks == now.Tracks
}

// change compares a number with that of the span before.
func (a *asked) change(ctx context.Context, now, before int) string {
	if before == 0 || now == before {
		return words.T(ctx, "listening.same")
	}
	if now >= 2*before {
		return words.T(ctx, "listening.times", "Times", words.From(ctx).Decimal(float64(now)/float64(before), 1))
	}
	percent := (now - before) * 100 / before
	switch {
	case percent > 0:
		return words.T(ctx, "listening.more", "Percent", percent, "Than", a.than(ctx))
	case percent < 0:
		return words.T(ctx, "listening.less", "Percent", -percent, "Than", a.than(ctx))
	}
	return words.T(ctx, "listening.same")
}

// than says with which span this one is compared.
func (a *asked) than(ctx context.Context) words.Text {
	before, _ := a.Span.Before()
	switch before.Name {
	case listening.Day:
		return words.New("listening.than.day", "When", words.Day(before.From))
	case listening.Week:
		return words.New("listening.than.week")
	case listening.Month:
		return words.New("listening.than.month", "When", words.From(ctx).Month(before.From))
	case listening.Year:
		return words.New("listening.than.year", "When", strconv.Itoa(before.From.Year()))
	}
	return words.New("listening.than.any")
}
