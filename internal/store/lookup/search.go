package lookup

import (
	"cmp"
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/music"
	"reprise/internal/search"
	"reprise/internal/store/catalogue"
	"reprise/internal/store/db"
	"reprise/internal/store/listens"
	"reprise/internal/store/statistics"
)

// enough is how many results make it needless to look for what may have been meant with a slip.
const enough = 5

// mostRanked is how many of the artists, albums or tracks that fit are read and ranked: those heard most.
const mostRanked = 100

// Search returns what a user has heard, or has as a playlist, that fits a question. A question may have any length and
// any characters.
func (s *Store) Search(ctx context.Context, q library.Search) (library.Found, error) {
	asked := search.Ask(q.Text)
	if asked.Empty() {
		return library.Found{}, nil
	}
	if err := s.Index(ctx); err != nil {
		return library.Found{}, err
	}
	plays, err := s.statistics.HeardOf(ctx, q.User)
	if err != nil {
		return library.Found{}, err
	}
	ruled, err := s.catalogue.Rulings(ctx)
	if err != nil {
		return library.Found{}, err
	}
	all := &quest{Search: q, asked: asked, store: s, plays: plays, ruled: ruled,
		seen: make([]bool, len(plays.Entity))}
	if err := all.playlists(ctx); err != nil {
		return library.Found{}, err
	}
	if err := all.music(ctx, []search.Query{asked.Query()}); err != nil {
		return library.Found{}, err
	}
	if all.results() < enough {
		words, err := s.vocabulary(ctx)
		if err != nil {
			return library.Found{}, err
		}
		if slips := words.Slips(asked); slips != nil {
			if err := all.music(ctx, slips); err != nil {
				return library.Found{}, err
			}
		}
	}
	return all.found, all.listens(ctx)
}

// quest is a search under way.
type quest struct {
	library.Search
	store *Store
	plays *statistics.HeardBy
	ruled *music.Rulings
	asked search.Question
	seen  []bool  // artists, albums and tracks that have been looked at
	heard []int64 // spellings of the tracks that fit
	found library.Found
}

func (q *quest) results() int {
	return len(q.found.Artists) + len(q.found.Albums) + len(q.heard) + len(q.found.Playlists)
}

func (q *quest) wants(kind string) bool { return q.Kind == "" || q.Kind == kind }

// music adds the artists, albums and tracks that fit one of the queries, after those that are there.
func (q *quest) music(ctx context.Context, all []search.Query) error {
	type part struct {
		kind  string
		in    db.Fields
		to    *[]library.Heard
		spelt []int64
	}
	parts := slices.DeleteFunc([]part{
		{library.KindArtist, db.ArtistFields, &q.found.Artists, nil},
		{library.KindAlbum, db.AlbumFields, &q.found.Albums, nil},
		{library.KindTrack, db.TrackFields, &q.found.Tracks, nil},
	}, func(p part) bool {
		return !q.wants(p.kind) && (p.kind != library.KindTrack || !q.wants(library.KindListen))
	})
	// The index is read for all of them at once: of a letter that most names begin with, that is most of the time.
	reading, readCtx := errgroup.WithContext(ctx)
	for i := range parts {
		p := &parts[i]
		reading.Go(func() (err error) {
			p.spelt, err = q.store.db.Texts(readCtx, q.store.db.Reader, p.in, all)
			return err
		})
	}
	if err := reading.Wait(); err != nil {
		return err
	}
	for _, p := range parts {
		fits := q.meant(p.kind, p.spelt)
		if !q.wants(p.kind) {
			continue
		}
		more, err := q.ranked(ctx, fits)
		if err != nil {
			return err
		}
		*p.to = append(*p.to, more...)
		*p.to = (*p.to)[:min(len(*p.to), q.Most)]
	}
	return nil
}

// fit is an entity that fits a question.
type fit struct {
	id    int64
	plays statistics.Tally
	alone bool // it is the only artist of a text that fits
}

// Meaning returns what the person has heard of a kind that these texts mean.
func (q *quest) meant(kind string, spelt []int64) (fits []fit) {
	alone := map[int64]bool{}
	note := func(id uint32) {
		e := int64(id)
		if plays := statistics.PlaysOf(q.plays.Entity, e); plays.N > 0 && !q.seen[e] {
			q.seen[e] = true
			fits = append(fits, fit{e, plays, kind != library.KindArtist})
		}
	}
	for id, n := range q.ruled.Names { // the texts have the former names
		if n.Kind == kind && q.asked.Rank(n.Name) < search.Other && statistics.PlaysOf(q.plays.Entity, id).N > 0 {
			note(uint32(id))
			if kind == library.KindTrack {
				q.heard = append(q.heard, q.plays.SpellingsOf(kind, id)...)
			}
		}
	}
	for _, id := range spelt {
		if id < 0 && kind == library.KindArtist {
			ends := q.ruled.Ends(-id)
			for _, a := range ends {
				note(uint32(a))
				alone[a] = alone[a] || len(ends) == 1
			}
		}
		if statistics.PlaysOf(q.plays.Spelling, id).N == 0 {
			continue
		}
		artists, album, track := q.plays.Music.Of(uint32(id))
		switch kind {
		case library.KindArtist:
			for _, a := range artists {
				note(a)
			}
			if len(artists) == 1 {
				alone[int64(artists[0])] = true
			}
		case library.KindAlbum:
			note(album)
		case library.KindTrack:
			note(track)
			q.heard = append(q.heard, id)
		}
	}
	for i := range fits {
		fits[i].alone = fits[i].alone || alone[fits[i].id]
	}
	return fits
}

// ranked returns those that fit best, the best first.
func (q *quest) ranked(ctx context.Context, fits []fit) ([]library.Heard, error) {
	fits = listening.Top(fits, mostRanked, func(a, b fit) int {
		return cmp.Or(cmp.Compare(b.plays.N, a.plays.N), cmp.Compare(a.id, b.id))
	})
	byID := make(map[int64]fit, len(fits))
	args := make([]any, len(fits))
	for i, f := range fits {
		byID[f.id], args[i] = f, f.id
	}
	if len(args) == 0 {
		return nil, nil
	}
	stored, err := db.List(ctx, q.store.db.Reader, catalogue.ScanEntity,
		catalogue.SelectEntity+"WHERE e.id IN "+db.Numbered(1, len(args)), args...)
	if err != nil {
		return nil, err
	}
	type one struct {
		library.Heard
		rank int
	}
	all := make([]one, 0, len(stored))
	for _, e := range stored {
		f := byID[e.ID]
		q.ruled.Call(e.ID, &e.Entity)
		h := library.Heard{ID: e.ID, Entity: e.Entity, Plays: int(f.plays.N),
			LastHeard: db.Instant(f.plays.Last * 1000)}
		rank := q.asked.Rank(h.Name())
		if rank < search.Other || f.alone {
			all = append(all, one{h, rank})
		}
	}
	slices.SortStableFunc(all, func(a, b one) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.Plays, a.Plays), cmp.Compare(a.ID, b.ID))
	})
	best := make([]library.Heard, min(len(all), q.Most))
	for i := range best {
		best[i] = all[i].Heard
	}
	return best, nil
}

// playlists adds the person's playlists whose names fit.
func (q *quest) playlists(ctx context.Context) error {
	if !q.wants(library.KindPlaylist) {
		return nil
	}
	type one struct {
		library.StoredPlaylist
		rank int
	}
	scan := func(r db.Scanner) (p one, err error) {
		return p, r.Scan(&p.ID, &p.Connection, &p.SourceID, &p.Name, &p.TrackCount, &p.Active)
	}
	all, err := db.List(ctx, q.store.db.Reader, scan, `SELECT id, connection, source_id, name, track_count, active
		FROM playlists WHERE user_id = $1 ORDER BY active DESC, name, id`, q.User)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(p one) bool { return q.asked.Rank(p.Name) == search.Other })
	for i := range all {
		all[i].rank = q.asked.Rank(all[i].Name)
	}
	slices.SortStableFunc(all, func(a, b one) int { return cmp.Compare(a.rank, b.rank) })
	for _, p := range all[:min(len(all), q.Most)] {
		q.found.Playlists = append(q.found.Playlists, p.StoredPlaylist)
	}
	return nil
}

// listens adds the latest listen of each track that fits, the newest first.
func (q *quest) listens(ctx context.Context) error {
	if !q.wants(library.KindListen) {
		return nil
	}
	last := func(id int64) int64 { return statistics.PlaysOf(q.plays.Spelling, id).Last }
	spelt := q.latest(last)
	want := make([]listens.Picked, len(spelt))
	for i, id := range spelt {
		want[i] = listens.Picked{At: last(id), Spelling: uint32(id)}
	}
	all, err := q.store.listens.PickedAt(ctx, q.User, want)
	if err != nil {
		return err
	}
	for _, id := range spelt {
		var newest library.StoredListen
		for _, l := range all {
			if int64(l.Spelling) == id && l.PlayedAt.After(newest.PlayedAt) { // of those in one second
				newest = l.StoredListen
			}
		}
		if newest.ID != 0 {
			q.found.Listens = append(q.found.Listens, newest)
		}
	}
	return q.store.listens.AddSources(ctx, q.found.Listens)
}

// latest returns the spelling heard last of each track that fits, as many as are wanted, the newest first.
func (q *quest) latest(last func(spelling int64) int64) (spelt []int64) {
	order := func(a, b int64) int { return cmp.Or(cmp.Compare(last(b), last(a)), cmp.Compare(b, a)) }
	for n := 2 * q.Most; ; n *= 4 { // some may be of one track
		top := listening.Top(q.heard, n, order)
		shown := map[uint32]bool{}
		spelt = spelt[:0]
		for _, id := range top {
			if _, _, track := q.plays.Music.Of(uint32(id)); !shown[track] && len(spelt) < q.Most {
				shown[track] = true
				spelt = append(spelt, id)
			}
		}
		if len(spelt) == q.Most || len(top) == len(q.heard) {
			return spelt
		}
	}
}
