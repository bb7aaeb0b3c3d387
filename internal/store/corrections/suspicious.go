package corrections

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/store/db"
	"reprise/internal/store/listens"
	"reprise/internal/store/statistics"
)

// mostOfStretch is how many listens of a stretch are read.
const mostOfStretch = 5

// manyOfStretch is how many listens whose times are known make a stretch.
const manyOfStretch = 10

// suspect is a suspicion before its listens are read.
type suspect struct{ listening.Suspect }

// id names a suspicion.
func (v suspect) id() string { return fmt.Sprintf("%d-%d-%d", v.From, v.To, v.Track) }

// suspectNamed returns the suspect with an id, with no more than that says.
func suspectNamed(id string) (v suspect, ok bool) {
	_, err := fmt.Sscanf(id, "%d-%d-%d", &v.From, &v.To, &v.Track)
	return v, err == nil && v.id() == id
}

// vetted says what a person has decided about listens that look wrong.
type vetted struct {
	right []checkedListens
	apart map[int64][]int64 // by listen, the corrections that keep it apart from others
}

// checkedListens are listens that are right.
type checkedListens struct {
	correction, from, to int64
	stretch              bool
}

// vetted reads what a person has decided.
func (s *Store) vetted(ctx context.Context, user int64) (v vetted, err error) {
	scan := func(r db.Scanner) (c checkedListens, err error) {
		return c, r.Scan(&c.correction, &c.from, &c.to, &c.stretch)
	}
	v.right, err = db.List(ctx, s.db.Reader, scan,
		"SELECT correction_id, from_at, to_at, stretch FROM checked_listens WHERE user_id = $1", user)
	if err != nil {
		return v, err
	}
	v.apart = map[int64][]int64{}
	_, err = db.List(ctx, s.db.Reader, func(r db.Scanner) (none struct{}, err error) {
		var correction, listen int64
		err = r.Scan(&correction, &listen)
		v.apart[listen] = append(v.apart[listen], correction)
		return none, err
	}, "SELECT correction_id, listen_id FROM kept_apart WHERE user_id = $1", user)
	return v, err
}

// correction returns the number of the correction that says that a suspect is right; 0 for none. Two pairs in the same
// two seconds are one for it, so that it holds whatever their track becomes. A stretch is right if it lies in one that
// is, and listed again when it grows.
func (v vetted) correction(o suspect) int64 {
	for _, c := range v.right {
		same := c.from == o.From && c.to == o.To
		if c.stretch == (o.Track == 0) && (same || c.stretch && c.from <= o.From && c.to >= o.To) {
			return c.correction
		}
	}
	return 0
}

// suspects calls fn for a person's suspects, the latest first, until that returns false.
func (s *Store) suspects(ctx context.Context, user int64, fn func(suspect) bool) error {
	music, err := s.statistics.Meanings(ctx)
	if err != nil {
		return err
	}
	find := listening.NewSuspects(music, func(v listening.Suspect) bool { return fn(suspect{v}) })
	err = s.statistics.EachColumns(ctx, statistics.Range{User: user, First: -1 << 50, Last: 1 << 50, Backwards: true},
		find.Add)
	if err == nil {
		find.End()
	}
	return err
}

// Suspicious returns a page of a person's listens that can hardly be what happened, the latest first, and the cursor of
// the next page, empty at the end. It leaves out those that the person has kept. limit is 1 to 1,000. An invalid cursor
// is library.ErrBadCursor.
func (s *Store) Suspicious(ctx context.Context, user int64, before string, limit int) (
	page []library.Suspicion, next string, err error) {
	after, ok := suspectNamed(before)
	if before != "" && !ok {
		return nil, "", library.ErrBadCursor
	}
	known, err := s.vetted(ctx, user)
	if err != nil {
		return nil, "", err
	}
	var some []suspect
	look := func() bool {
		var found []library.Suspicion
		found, err = s.suspicions(ctx, user, some, known.apart)
		page, some = append(page, found...), some[:0]
		return err == nil && len(page) <= limit
	}
	found := s.suspects(ctx, user, func(v suspect) bool {
		if before != "" && !v.Before(after.Suspect) || known.correction(v) != 0 {
			return true
		}
		some = append(some, v)
		return len(some) <= limit || look()
	})
	if err = errors.Join(err, found); err == nil && len(some) > 0 {
		look()
	}
	if err != nil {
		return nil, "", err
	}
	if len(page) > limit {
		page = page[:limit]
		next = page[limit-1].ID
	}
	return page, next, nil
}

// suspicions reads the listens of suspects. It leaves out what is none: listens whose times are guesses, and pairs that
// their person keeps apart.
func (s *Store) suspicions(ctx context.Context, user int64, some []suspect, apart map[int64][]int64) (
	all []library.Suspicion, err error) {
	heard, err := s.pairsAt(ctx, user, some)
	if err != nil {
		return nil, err
	}
	for _, v := range some {
		o := library.Suspicion{ID: v.id(), From: time.Unix(v.From, 0).UTC(), To: time.Unix(v.To+1, 0).UTC(),
			Count: v.Listens, Length: v.Length}
		if v.Track == 0 {
			o.Listens, err = db.List(ctx, s.db.Reader, listens.ScanListen,
				listens.SelectListen+`WHERE l.user_id = $1 AND l.played_at >= $2
				AND l.played_at < $3 AND l.approximate = 0 ORDER BY l.played_at, l.id LIMIT $4`,
				user, db.Millis(o.From), db.Millis(o.To), manyOfStretch)
			if err != nil {
				return nil, err
			}
			if len(o.Listens) == manyOfStretch {
				o.Listens = o.Listens[:mostOfStretch]
				all = append(all, o)
			}
			continue
		}
		first, second := heard[listens.Picked{At: v.From, Spelling: v.First}],
			heard[listens.Picked{At: v.To, Spelling: v.Second}]
		if v.From == v.To && v.First == v.Second && len(second) > 0 {
			second = second[1:]
		}
		if len(first) == 0 || len(second) == 0 { // a guess, or it has changed meanwhile
			continue
		}
		o.Listens = []library.StoredListen{first[0], second[0]}
		if !meet(apart[first[0].ID], apart[second[0].ID]) {
			all = append(all, o)
		}
	}
	for i := range all {
		if err := s.listens.AddSources(ctx, all[i].Listens); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// meet reports whether two lists have something in common.
func meet(a, b []int64) bool {
	return slices.ContainsFunc(a, func(id int64) bool { return slices.Contains(b, id) })
}

// pairsAt returns the listens of suspects that are pairs, without those whose times are guesses.
func (s *Store) pairsAt(ctx context.Context, user int64, some []suspect) (map[listens.Picked][]library.StoredListen,
	error) {
	heard := map[listens.Picked][]library.StoredListen{}
	var want []listens.Picked
	for _, v := range some {
		for _, one := range []listens.Picked{{At: v.From, Spelling: v.First}, {At: v.To, Spelling: v.Second}} {
			if _, ok := heard[one]; !ok && v.Track != 0 {
				heard[one] = nil
				want = append(want, one)
			}
		}
	}
	page, err := s.listens.PickedAt(ctx, user, want)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(page, func(x, y listens.PickedListen) int {
		return cmp.Or(x.PlayedAt.Compare(y.PlayedAt), cmp.Compare(x.ID, y.ID))
	})
	for _, l := range page {
		if one := (listens.Picked{At: listens.Floor(l.PlayedAt.UnixMilli()), Spelling: l.Spelling}); !l.Approximate {
			heard[one] = append(heard[one], l.StoredListen)
		}
	}
	return heard, nil
}

// KeepSuspicious notes that listens that look wrong are right, so that they are not suspicious from now on, and returns
// the correction, which is the one before if they are kept already. It returns library.ErrNotFound if there are none.
func (s *Store) KeepSuspicious(ctx context.Context, user int64, id string) (c library.Correction, err error) {
	known, err := s.vetted(ctx, user)
	if err != nil {
		return c, err
	}
	var some []suspect
	err = s.suspects(ctx, user, func(v suspect) bool {
		if v.id() == id {
			some = append(some, v)
		}
		return len(some) == 0
	})
	if err != nil {
		return c, err
	}
	found, err := s.suspicions(ctx, user, some, known.apart)
	if err != nil {
		return c, err
	}
	if len(found) == 0 {
		return c, library.ErrNotFound
	}
	if before := known.correction(some[0]); before != 0 {
		return ScanCorrection(s.db.Reader.QueryRowContext(ctx, selectCorrection+"WHERE user_id = $1 AND id = $2", user,
			before))
	}
	c = library.Correction{User: user, Kind: library.Checked, Listens: found[0].Count,
		MadeAt: db.Instant(db.Millis(time.Now()))}
	if found[0].Pair() {
		c.Title, c.Artist = found[0].Listens[0].Title, found[0].Listens[0].Artist
	}
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		if err := addCorrection(ctx, tx, &c); err != nil {
			return err
		}
		return db.ExecTx(ctx, tx, `INSERT INTO checked_listens (correction_id, user_id, from_at, to_at, stretch)
			VALUES ($1, $2, $3, $4, $5)`, c.ID, user, some[0].From, some[0].To, db.Flag(some[0].Track == 0))
	})
	return c, err
}
