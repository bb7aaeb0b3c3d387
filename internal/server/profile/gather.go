package profile

import (
	"cmp"
	"context"
	"slices"
	"time"

	"reprise/internal/enrich"
	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/players"
	"reprise/internal/playrules"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// The most of each part that a profile shows.
const (
	mostPlaying = 3
	mostLatest  = 20
	mostTop     = 10
	mostLoved   = 20
)

// content is what a profile shows. Parts that its person has not chosen are empty.
type content struct {
	share   library.Share
	parts   shown
	Playing []song
	Latest  []song
	Loved   []song
	Totals  listening.Totals
	Tops    []top
}

// song is a track that is playing, was heard or is loved.
type song struct {
	Title, Artist, Album string
	Picture              string // name of a cached picture; empty for none
	Portrait             bool
	At                   time.Time // when it was heard or began to play; zero for a loved one
	About                bool      // At is a guess
}

// top is a list of the artists, albums or tracks that were heard most.
type top struct {
	Part string
	Rows []row
}

// row is an artist, an album or a track.
type row struct {
	Kind, Name, By string
	Listens        int
	Picture        string // name of a cached picture; empty for none
}

// gather reads what a profile shows: the parts in only that its person has also chosen, with up to many of the latest
// listens.
func (h *Handler) gather(ctx context.Context, s library.Share, only shown, many int) (p content, err error) {
	p = content{share: s, parts: shown{}}
	for _, name := range showing(s.Parts).list() {
		p.parts[name] = only[name]
	}
	if p.parts[playing] {
		if err := h.playing(ctx, &p); err != nil {
			return p, err
		}
	}
	if p.parts[latest] {
		if err := h.latest(ctx, &p, many); err != nil {
			return p, err
		}
	}
	if p.parts[loved] {
		if err := h.loved(ctx, &p); err != nil {
			return p, err
		}
	}
	if p.parts.spanned() {
		err = h.most(ctx, &p)
	}
	return p, err
}

// everything returns all parts.
func everything() shown { return showing(parts) }

// playing reads what is playing now, except what rules keep from being sent anywhere.
func (h *Handler) playing(ctx context.Context, p *content) error {
	all := slices.DeleteFunc(h.now.Of(p.share.User), func(one players.Playing) bool { return !one.Sent() })
	all = all[:min(len(all), mostPlaying)]
	songs, err := h.songs(ctx, core.ViewAll(all, func(one players.Playing) library.Track { return one.Track }))
	for i := range songs {
		songs[i].At = all[i].Since
	}
	p.Playing = songs
	return err
}

func (h *Handler) latest(ctx context.Context, p *content, many int) error {
	all, err := h.store.SentListens(ctx, p.share.User, many)
	if err != nil {
		return err
	}
	songs, err := h.songs(ctx, core.ViewAll(all, func(l library.StoredListen) library.Track { return l.Track }))
	for i := range songs {
		songs[i].At, songs[i].About = all[i].PlayedAt, all[i].Approximate
	}
	p.Latest = songs
	return err
}

// loved reads the tracks that were loved last. It leaves out tracks whose plays rules keep from being sent anywhere,
// although loving a track isn't playing it.
func (h *Handler) loved(ctx context.Context, p *content) error {
	all, _, err := h.store.Loves(ctx, library.LoveFilter{User: p.share.User, Score: library.Loved}, 0, 5*mostLoved)
	if err != nil {
		return err
	}
	rules, err := h.store.PlayRules(ctx, p.share.User)
	if err != nil {
		return err
	}
	never := neverSent(rules)
	found := slices.DeleteFunc(core.ViewAll(all, func(v library.Love) library.Track {
		return library.Track{Title: v.Title, Artist: v.Artist}
	}), func(t library.Track) bool { return len(never.Apply(playrules.Play{Track: t}).Withheld) > 0 })
	p.Loved, err = h.songs(ctx, found[:min(len(found), mostLoved)])
	return err
}

// neverSent returns those of a person's rules that keep plays from being sent anywhere and ask for names only. They can
// be applied to a track as well as to a listen.
func neverSent(all []playrules.Rule) *playrules.Set {
	return playrules.New(slices.DeleteFunc(slices.Clone(all), func(r playrules.Rule) bool {
		return r.Kind != playrules.Withhold || len(r.To) > 0 || !r.OfNames()
	}), nil)
}

// songs returns tracks with their pictures, under the names that administrators have given them.
func (h *Handler) songs(ctx context.Context, all []library.Track) ([]song, error) {
	links, err := h.rows.Links(ctx, all...)
	if err != nil {
		return nil, err
	}
	songs := make([]song, len(all))
	for i, t := range all {
		songs[i] = songOf(t, links[i])
	}
	return songs, nil
}

func songOf(t library.Track, l enrich.Links) song {
	return song{Title: cmp.Or(l.TrackName, t.Title), Artist: cmp.Or(l.ArtistName, t.Artist),
		Album: cmp.Or(l.AlbumName, t.Album), Picture: l.Picture, Portrait: l.Portrait}
}

// zoneOf returns the time zone of a profile's days.
func zoneOf(s library.Share) *time.Location {
	if zone, ok := words.ZoneNamed(s.Zone); ok {
		return zone
	}
	return time.UTC
}

// spanOf returns the span of a profile's numbers.
func spanOf(name string, now time.Time) listening.Span {
	if name == library.ProfileSpans[1] {
		return listening.Recent(now, 1, 0)
	}
	return listening.Recent(now, 0, 30)
}

// most counts what was heard in the span of the profile.
func (h *Handler) most(ctx context.Context, p *content) error {
	now := time.Now().In(zoneOf(p.share))
	span := spanOf(p.share.Span, now)
	columns, err := h.store.SentColumns(ctx, p.share.User, span.From, span.To)
	if err != nil {
		return err
	}
	meanings, err := h.store.Meanings(ctx)
	if err != nil {
		return err
	}
	found := listening.Count(columns, meanings, listening.Question{Span: span, Now: now, Most: mostTop, Bare: true})
	if p.parts[numbers] {
		p.Totals = found.Totals
	}
	for _, one := range []struct {
		part string
		rows []listening.Row
	}{{artists, found.Artists}, {albums, found.Albums}, {tracks, found.Tracks}} {
		if !p.parts[one.part] || len(one.rows) == 0 {
			continue
		}
		rows, err := h.named(ctx, one.rows)
		if err != nil {
			return err
		}
		p.Tops = append(p.Tops, top{one.part, rows})
	}
	return nil
}

// named returns what was counted, with names and pictures.
func (h *Handler) named(ctx context.Context, counted []listening.Row) ([]row, error) {
	names, err := h.store.Entities(ctx, core.ViewAll(counted, func(r listening.Row) uint32 { return r.ID }))
	if err != nil {
		return nil, err
	}
	links, err := h.rows.Links(ctx, core.ViewAll(counted, func(r listening.Row) library.Track {
		return names[r.ID].Pictured()
	})...)
	if err != nil {
		return nil, err
	}
	rows := make([]row, len(counted))
	for i, r := range counted {
		e := names[r.ID]
		rows[i] = row{Kind: e.Kind, Name: e.Title, By: e.Artist, Listens: r.Listens, Picture: links[i].Picture}
		if e.Kind == library.KindArtist {
			rows[i].Name, rows[i].By = e.Artist, ""
		}
	}
	return rows, nil
}
