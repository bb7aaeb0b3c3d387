package imports

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/imports"
	"reprise/internal/library"
	"reprise/internal/music"
	rules "reprise/internal/playrules"
	"reprise/internal/store/db"
	"reprise/internal/store/intake"
	"reprise/internal/store/listens"
	"reprise/internal/store/playrules"
	"reprise/internal/store/runs"
)

// restoredListen is a listen from an export that is being imported.
type restoredListen struct {
	*library.StoredListen
	id    int64 // of the stored listen that it matches; 0 for none
	at    time.Time
	in    intake.Pile      // where that listen is: among the kept or the deleted ones
	fresh bool             // to be stored as a new listen, or as a play that a rule ignores
	gets  []library.Source // sources to add
}

// ignored returns the rule that makes no listen of it, or 0.
func (r *restoredListen) ignored() int64 {
	if r.Ruled == nil {
		return 0
	}
	return r.Ruled.Ignored.ID
}

// SaveRestored stores listens that Reprise exported, and the progress of their import, in one transaction. Each is
// stored as it was, with all its sources and what rules did to it, and separate listens stay separate. If one of its
// sources is stored already, or another connection reported the same play before the import, the stored listen gets the
// missing sources. Plays that rules ignored stay ignored, and do not count. archived has the ids of the archive's own
// rules: what those withhold, the listens say, so they are not applied again.
func (s *Store) SaveRestored(ctx context.Context, v imports.Import, listens []library.StoredListen, archived []int64) (
	imports.Import, error) {
	n := 0
	for i := range listens {
		if r := listens[i].Ruled; r == nil || r.Ignored.ID == 0 {
			n++
		}
	}
	return s.counted(ctx, v, n, func(tx *sql.Tx) (added int, err error) {
		all, err := s.restore(ctx, tx, v, listens, archived)
		for _, r := range all {
			if r.fresh && r.ignored() == 0 {
				added++
			}
		}
		return added, err
	})
}

func (s *Store) restore(ctx context.Context, tx *sql.Tx, v imports.Import, listens []library.StoredListen,
	archived []int64) ([]*restoredListen, error) {
	all := make([]*restoredListen, len(listens))
	for i := range listens {
		all[i] = &restoredListen{StoredListen: &listens[i], at: listens[i].PlayedAt, in: intake.Kept}
	}
	by, err := intake.CorrectedBy(ctx, tx, library.Intake{User: v.User, Connection: v.Connection})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b *restoredListen) int { return a.PlayedAt.Compare(b.PlayedAt) })
	if err := findRestored(ctx, tx, v.User, by.Piles, all); err != nil {
		return nil, err
	}
	if err := joinEarlier(ctx, tx, v, by, all); err != nil {
		return nil, err
	}
	if err := s.addRestored(ctx, tx, v.User, all); err != nil {
		return nil, err
	}
	return all, errors.Join(s.noteRenamed(ctx, tx, v.User, all), s.followRestored(ctx, tx, v.User, all, archived))
}

// place identifies a stored listen.
type place struct {
	id int64
	at time.Time
	in intake.Pile
}

// placesOf adds to `to` the listens in a pile that have one of these sources of a connection.
func placesOf(ctx context.Context, tx *sql.Tx, in intake.Pile, user int64, conn library.ConnectionID, ids []string,
	to map[library.Source]place) error {
	scan := func(r db.Scanner) (none struct{}, err error) {
		var id, at int64
		source := library.Source{Connection: conn}
		err = r.Scan(&source.SourceID, &id, &at)
		to[source] = place{id, db.Instant(at), in}
		return none, err
	}
	for chunk := range slices.Chunk(ids, 100) {
		args := []any{user, conn}
		for _, id := range chunk {
			args = append(args, intake.SourceKey(user, conn, id))
		}
		_, err := db.List(ctx, tx, scan, "SELECT "+listens.IdOf("s")+", l.id, l.played_at"+intake.WithKeys(in)+
			db.Numbered(3, len(chunk)), args...)
		if err != nil {
			return err
		}
	}
	return nil
}

// findRestored finds the listens that have a stored source, and notes for each listen the sources to add. A source is
// added only once.
func findRestored(ctx context.Context, tx *sql.Tx, user int64, piles []intake.Pile, all []*restoredListen) error {
	stored := map[library.Source]place{} // without Later
	by := map[library.ConnectionID][]string{}
	for _, r := range all {
		for _, s := range r.Sources {
			by[s.Connection] = append(by[s.Connection], s.SourceID)
		}
	}
	for conn, ids := range by {
		for _, in := range piles {
			if err := placesOf(ctx, tx, in, user, conn, ids, stored); err != nil {
				return err
			}
		}
	}
	given := map[library.Source]bool{}
	for _, r := range all {
		twice := false
		for _, s := range r.Sources {
			bare := library.Source{Connection: s.Connection, SourceID: s.SourceID}
			p, known := stored[bare]
			switch {
			case given[bare]:
				twice = true
			case known && r.id == 0:
				r.id, r.at, r.in = p.id, p.at, p.in
			case !known:
				r.gets = append(r.gets, s)
			}
		}
		if twice && r.id == 0 { // a repeat within the file
			r.id, r.gets = -1, nil
		}
		for _, s := range r.gets {
			given[library.Source{Connection: s.Connection, SourceID: s.SourceID}] = true
		}
	}
	return nil
}

// joinEarlier finds the listens that other connections reported before the import. Listens from the import itself are
// not compared, since they were separate when they were exported.
func joinEarlier(ctx context.Context, tx *sql.Tx, v imports.Import, by intake.Corrected, all []*restoredListen) error {
	var unknown []*library.Listen
	for _, r := range all {
		if r.id == 0 && !r.Approximate {
			unknown = append(unknown, &r.Listen)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	m, err := intake.PlaysAround(ctx, tx, v.User, by, unknown, nil)
	if err != nil {
		return err
	}
	taken, err := importedSince(ctx, tx, v, by.Piles, m)
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.id != 0 || r.Approximate {
			continue
		}
		for _, p := range m.Known[music.MatchKey(r.Title, music.Indexed(r.Artist))] {
			if !taken[p.ID] && p.CouldBe(r.StoredListen, by.Apart) {
				r.id, r.at, r.in, taken[p.ID] = p.ID, p.At, intake.PileOf(p), true
				break
			}
		}
	}
	return nil
}

// importedSince returns the IDs of the plays in m that got a source after the import was uploaded.
func importedSince(ctx context.Context, tx *sql.Tx, v imports.Import, piles []intake.Pile,
	m *music.Matcher) (map[int64]bool,
	error) {
	var ids []any
	for _, plays := range m.Known {
		for _, p := range plays {
			ids = append(ids, p.ID)
		}
	}
	found := map[int64]bool{}
	scan := func(r db.Scanner) (none struct{}, err error) {
		var id int64
		err = r.Scan(&id)
		found[id] = true
		return none, err
	}
	for _, in := range piles {
		for chunk := range slices.Chunk(ids, 200) {
			_, err := db.List(ctx, tx, scan, "SELECT listen_id FROM "+in.Sources+
				" WHERE stored_at >= $1 AND listen_id IN "+db.Numbered(2, len(chunk)),
				append([]any{v.CreatedAt.Unix()}, chunk...)...)
			if err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// addRestored stores new listens and missing sources.
func (s *Store) addRestored(ctx context.Context, tx *sql.Tx, user int64, all []*restoredListen) error {
	var fresh []*restoredListen
	ignored := map[int64]int{} // by rule
	for _, r := range all {
		if r.id != 0 {
			continue
		}
		r.fresh = true
		fresh = append(fresh, r)
		if rule := r.ignored(); rule != 0 {
			r.in = intake.Removed
			ignored[rule]++
		}
	}
	corrections := map[int64]int64{} // that hold what rules ignore, by rule
	for rule, n := range ignored {
		correction, err := intake.CorrectionOf(ctx, tx, user, rule, n)
		if err != nil {
			return err
		}
		corrections[rule] = correction
	}
	next, err := db.NextIDs(ctx, tx, "listens", len(fresh))
	if err != nil {
		return err
	}
	spellings, plays := make([]music.Spelling, len(fresh)), make([]*library.Listen, len(fresh))
	for i, r := range fresh {
		r.id, spellings[i], plays[i] = next+int64(i), music.SpellingOf(r.Track), &r.Listen
	}
	spelt, err := s.catalogue.Shelve(ctx, tx, spellings)
	if err != nil {
		return err
	}
	var conns []library.ConnectionID
	var players []string
	for _, r := range all {
		for _, source := range r.gets {
			conns, players = append(conns, source.Connection), append(players, source.Player)
		}
	}
	rows, err := intake.NewRows(ctx, tx, user, conns, players)
	if err != nil {
		return err
	}
	for i, r := range fresh {
		if r.in.Removed {
			rows.Ignored(r.id, r.PlayedAt, r.Approximate, spelt[i], corrections[r.ignored()])
		} else {
			rows.Listen(r.id, r.PlayedAt, r.Approximate, spelt[i])
		}
	}
	for _, r := range all {
		for _, source := range r.gets {
			rows.Source(r.in, r.id, source, r.PlayedAt.Add(source.Later).Sub(r.at))
		}
	}
	return rows.Insert(ctx, tx)
}

// noteRenamed stores what new listens were called before rules renamed them.
func (s *Store) noteRenamed(ctx context.Context, tx *sql.Tx, user int64, all []*restoredListen) error {
	var some []*restoredListen
	var was []music.Spelling
	for _, r := range all {
		if r.fresh && r.Ruled != nil && len(r.Ruled.Renamed) > 0 {
			t := r.Ruled.Was
			t.Duration = r.Duration
			some, was = append(some, r), append(was, music.SpellingOf(t))
		}
	}
	spelt, err := s.catalogue.Shelve(ctx, tx, was)
	if err != nil {
		return err
	}
	rows := make([]any, 0, len(some)*4)
	for i, r := range some {
		var ids []int64 // once each: several may be gone, or one here
		for _, by := range r.Ruled.Renamed {
			if !slices.Contains(ids, by.ID) {
				ids = append(ids, by.ID)
			}
		}
		rows = append(rows, r.id, user, spelt[i], playrules.List(ids...))
	}
	return db.InsertRows(ctx, tx, "INSERT INTO ruled_listens (listen_id, user_id, spelling_id, rules)", 4, rows, "")
}

// followRestored fills gaps with restored listens, withholds them as the archive and the person's other rules say, and
// forwards them to the services that lack them.
func (s *Store) followRestored(ctx context.Context, tx *sql.Tx, user int64, all []*restoredListen,
	archived []int64) error {
	set, err := playrules.Of(ctx, tx, user)
	if err != nil {
		return err
	}
	held := playrules.NewHeld(user)
	var plays []delivery.Play
	var times, joined []int64
	by := map[library.ConnectionID][]*library.Listen{}
	for _, r := range all {
		if !r.fresh && len(r.gets) == 0 { // all of its sources are here
			if r.id > 0 && r.Ruled != nil && len(r.Ruled.Withheld) > 0 {
				held.AddRuled(r.id, r.Ruled)
				joined = append(joined, r.id)
			}
			continue
		}
		one := delivery.Play{Listen: r.id, At: r.at, Fresh: r.fresh, Guess: r.Approximate, Others: r.Sources}
		if r.Ruled != nil {
			held.AddRuled(r.id, r.Ruled)
			for _, w := range r.Ruled.Withheld {
				one.Withheld = append(one.Withheld, w.To)
			}
		}
		for _, source := range r.Sources {
			o := set.Apply(rules.Play{Track: r.Track, At: r.at, Player: source.Player, Source: source.Connection})
			o.Withheld = slices.DeleteFunc(o.Withheld, func(w rules.Withheld) bool {
				return slices.Contains(archived, w.Rule)
			})
			held.Add(r.id, o)
			one.Withheld = append(one.Withheld, o.Targets()...)
		}
		if r.in.Removed {
			continue
		}
		if !r.fresh && len(one.Withheld) > 0 {
			joined = append(joined, r.id)
		}
		times, plays = append(times, db.Millis(r.at)), append(plays, one)
		for _, source := range r.gets {
			if among := by[source.Connection]; len(among) == 0 || among[len(among)-1] != &r.Listen {
				by[source.Connection] = append(among, &r.Listen)
			}
		}
	}
	for conn, fresh := range by {
		if err := runs.FillGaps(ctx, tx, user, conn, fresh); err != nil {
			return err
		}
	}
	return errors.Join(held.Insert(ctx, tx), intake.DontSend(ctx, tx, user, joined),
		intake.Touched(ctx, tx, user, times), s.outbox.EnqueuePlays(ctx, tx, user, imports.Reprise, plays))
}
