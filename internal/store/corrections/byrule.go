package corrections

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/music"
	rules "reprise/internal/playrules"
	"reprise/internal/store/catalogue"
	"reprise/internal/store/db"
	"reprise/internal/store/intake"
	"reprise/internal/store/listens"
	"reprise/internal/store/playrules"
)

// atOnce is how many listens one transaction changes, so that other writers do not wait long.
const atOnce = 5_000

// ApplyPlayRule applies a rule that asks only for names and lengths to what was played before, and returns how many
// listens it has changed. It may be called again, even after the rule was changed. Listens that the person has renamed
// or added themselves stay as they are. A rule that asks for more, or withholds, changes nothing.
func (s *Store) ApplyPlayRule(ctx context.Context, r rules.Rule) (n int, err error) {
	set := pastSet(&r)
	if set == nil {
		return 0, nil
	}
	all, err := s.concerned(ctx, r, set)
	if err != nil {
		return 0, err
	}
	others, err := s.rules.PlayRules(ctx, r.User)
	if err != nil {
		return 0, err
	}
	for some := range slices.Chunk(all, atOnce) {
		var changed int
		if r.Kind == rules.Ignore {
			changed, err = s.ignore(ctx, r, set, some)
		} else {
			err = s.db.Write(ctx, func(tx *sql.Tx) error {
				if err := there(ctx, tx, r.User, r.ID); err != nil {
					return err
				}
				changed, err = s.applyTo(ctx, tx, r, set, others, some)
				return err
			})
		}
		if n += changed; err != nil {
			return n, err
		}
	}
	return n, nil
}

// CountPlayRule returns how many listens ApplyPlayRule would change now.
func (s *Store) CountPlayRule(ctx context.Context, r rules.Rule) (n int, err error) {
	set := pastSet(&r)
	if set == nil {
		return 0, nil
	}
	ids, err := s.concerned(ctx, r, set)
	if err != nil {
		return 0, err
	}
	others, err := s.rules.PlayRules(ctx, r.User)
	if err != nil {
		return 0, err
	}
	all, err := s.ruled(ctx, s.db.Reader, r.User, ids)
	for _, l := range all {
		if r.Kind == rules.Ignore && ignores(set, l) {
			n++
		} else if r.Kind == rules.Rewrite {
			if now, ok := renamedBy(r, set, others, l); ok && !now.named(l.track) {
				n++
			}
		}
	}
	return n, err
}

// pastSet returns a rule, switched on, as a set; nil if it changes nothing of the past.
func pastSet(r *rules.Rule) *rules.Set {
	r.Off = false
	if !r.OfNames() || r.Kind == rules.Withhold {
		return nil
	}
	return rules.New([]rules.Rule{*r}, time.UTC)
}

// concerned returns the listens, the earliest first, whose names a rule asks for, or that it has renamed before. Names
// are looked at once for each spelling, so that it takes little time for a long history.
func (s *Store) concerned(ctx context.Context, r rules.Rule, set *rules.Set) (ids []int64, err error) {
	type one struct{ id, spelling int64 }
	scan := func(row db.Scanner) (v one, err error) { return v, row.Scan(&v.id, &v.spelling) }
	all, err := db.List(ctx, s.db.Reader, scan,
		"SELECT id, spelling_id FROM listens WHERE user_id = $1 ORDER BY played_at, id", r.User)
	if err != nil {
		return nil, err
	}
	before, err := db.List(ctx, s.db.Reader, db.ScanID,
		"SELECT listen_id FROM ruled_listens WHERE user_id = $1 AND rules LIKE $2", r.User,
		"%"+playrules.List(r.ID)+"%")
	if err != nil {
		return nil, err
	}
	renamed := map[int64]bool{}
	for _, id := range before {
		renamed[id] = true
	}
	spellings := make([]int64, len(all))
	for i, l := range all {
		spellings[i] = l.spelling
	}
	slices.Sort(spellings)
	spelt, err := catalogue.SpellingsByID(ctx, s.db.Reader, slices.Compact(spellings))
	if err != nil {
		return nil, err
	}
	meant := make(map[int64]bool, len(spelt))
	for id, v := range spelt {
		o := set.Apply(rules.Play{Track: v.Track})
		meant[id] = o.Ignored != 0 || len(o.Rewrote) > 0
	}
	for _, l := range all {
		if meant[l.spelling] || renamed[l.id] {
			ids = append(ids, l.id)
		}
	}
	return ids, nil
}

// ignores reports whether a rule that ignores takes a listen away.
func ignores(set *rules.Set, l ruled) bool {
	return !l.mine && !l.added && set.Apply(rules.Play{Track: l.track}).Ignored != 0
}

// ignore removes those of some listens that a rule ignores, adds them to the rule's correction, and returns how many.
func (s *Store) ignore(ctx context.Context, r rules.Rule, set *rules.Set, some []int64) (int, error) {
	all, err := s.ruled(ctx, s.db.Reader, r.User, some)
	if err != nil {
		return 0, err
	}
	all = slices.DeleteFunc(all, func(l ruled) bool { return !ignores(set, l) })
	ids := make([]int64, len(all))
	for i, l := range all {
		ids[i] = l.id
	}
	return s.deleteByRule(ctx, r.User, r.ID, ids)
}

// there returns library.ErrNotFound if the rule was deleted meanwhile: what it did then could no longer be undone.
func there(ctx context.Context, tx *sql.Tx, user, rule int64) error {
	var id int64
	return db.Found(tx.QueryRowContext(ctx, "SELECT id FROM play_rules WHERE user_id = $1 AND id = $2", user, rule).
		Scan(&id))
}

// deleteByRule deletes listens that a person's rule ignores, and returns how many. It adds them to the rule's
// correction, or to a new one if that was undone.
func (s *Store) deleteByRule(ctx context.Context, user, rule int64, ids []int64) (n int, err error) {
	for chunk := range slices.Chunk(ids, listens.DeleteAtOnce) {
		err = s.db.Write(ctx, func(tx *sql.Tx) error {
			some, err := listens.Owned(ctx, tx, user, chunk)
			if err != nil || len(some) == 0 {
				return err
			}
			if err := there(ctx, tx, user, rule); err != nil {
				return err
			}
			c := library.Correction{User: user, Kind: library.Deleted}
			if c.ID, err = intake.CorrectionOf(ctx, tx, user, rule, len(some)); err != nil {
				return err
			}
			n += len(some)
			return s.putAway(ctx, tx, c, some)
		})
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// applyTo renames listens as a rule says, and returns how many it has changed.
func (s *Store) applyTo(ctx context.Context, tx *sql.Tx, r rules.Rule, set *rules.Set,
	others []rules.Rule, some []int64) (int, error) {
	all, err := s.ruled(ctx, tx, r.User, some)
	if err != nil {
		return 0, err
	}
	var changed []ruled
	for _, l := range all {
		now, ok := renamedBy(r, set, others, l)
		switch {
		case !ok:
			continue
		case slices.Contains(l.rules, r.ID):
		case l.told == 0:
			err = db.ExecTx(ctx, tx, `INSERT INTO ruled_listens (listen_id, user_id, spelling_id, rules)
				VALUES ($1, $2, $3, $4)`, l.id, r.User, l.spelling, playrules.List(now.rules...))
		default:
			err = s.leave(ctx, tx, l.id, now.rules)
		}
		if err != nil {
			return 0, err
		}
		if !now.named(l.track) {
			changed = append(changed, now)
		}
	}
	return len(changed), s.rename(ctx, tx, r.User, changed)
}

// renamedBy returns a listen as a rule that rewrites makes it; not ok if the rule has nothing to do with it.
func renamedBy(r rules.Rule, set *rules.Set, others []rules.Rule, l ruled) (now ruled, ok bool) {
	now = l
	switch {
	case l.mine || l.added:
		return l, false
	case slices.Contains(l.rules, r.ID):
		if again, known := l.by(others, l.rules); known {
			now.track = again
		}
		return now, true
	}
	now.track = set.Apply(rules.Play{Track: l.track}).Track
	now.rules = append(slices.Clone(l.rules), r.ID)
	return now, !now.named(l.track)
}

// ruled is a stored listen with what rules have done to it.
type ruled struct {
	id, at, spelling int64
	track            library.Track
	told             int64         // the spelling as reported; 0 if no rule has renamed it
	was              library.Track // the track as reported
	rules            []int64       // the rules that have renamed it
	edited, mine     bool          // whether the person has changed it since, and whether its names
	added            bool          // whether only the person reported it, by hand
}

// named reports whether a listen has the names of a track.
func (l ruled) named(t library.Track) bool {
	return l.track.Title == t.Title && l.track.Artist == t.Artist && l.track.Album == t.Album
}

// ruled returns some listens of a person, removed ones too.
func (s *Store) ruled(ctx context.Context, q db.Querier, user int64, ids []int64) (all []ruled,
	err error) {
	scan := func(r db.Scanner) (v ruled, err error) {
		var rules string
		err = r.Scan(&v.id, &v.at, &v.spelling, &v.told, &rules, &v.edited, &v.mine, &v.added)
		v.rules = playrules.Listed(rules)
		return v, err
	}
	const edited = `EXISTS (SELECT 1 FROM edited_listens e WHERE e.user_id = l.user_id AND e.listen_id = l.id`
	of := func(in intake.Pile) string {
		return "SELECT l.id, l.played_at, l.spelling_id, coalesce(r.spelling_id, 0), coalesce(r.rules, ''), " +
			edited + "), " + edited + " AND e.spelling_id <> l.spelling_id), NOT EXISTS (SELECT 1 FROM " + in.Sources +
			` s JOIN connection_numbers n ON n.number = s.connection WHERE s.listen_id = l.id AND n.connection <> $2)
			FROM ` + in.Listens + ` l LEFT JOIN ruled_listens r ON r.listen_id = l.id
			WHERE +l.user_id = $1 AND l.id IN `
	}
	for chunk := range slices.Chunk(ids, 500) {
		args := append([]any{user, library.ByHand}, catalogue.Anys(chunk)...)
		in := db.Numbered(3, len(chunk))
		some, err := db.List(ctx, q, scan, of(intake.Kept)+in+" UNION ALL "+of(intake.Removed)+in, args...)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	var spellings []int64
	for _, v := range all {
		spellings = append(spellings, v.spelling, v.told)
	}
	slices.Sort(spellings)
	spelt, err := catalogue.SpellingsByID(ctx, q, slices.Compact(spellings))
	for i, v := range all {
		if now := spelt[v.spelling]; now != nil {
			all[i].track, all[i].was = now.Track, now.Track
		}
		if told := spelt[v.told]; told != nil {
			all[i].was = told.Track
		}
	}
	return all, err
}

// by returns a listen's track as some rules rename it. It checks only the names that they ask for, because they have
// matched the listen before. ok is false if one of them no longer exists.
func (l ruled) by(all []rules.Rule, ids []int64) (t library.Track, ok bool) {
	var some []rules.Rule
	for _, r := range all {
		if slices.Contains(ids, r.ID) {
			r.Off, r.Player, r.Source, r.Begins, r.Ends = false, "", "", "", ""
			some = append(some, r)
		}
	}
	return rules.New(some, time.UTC).Apply(rules.Play{Track: l.was}).Track, len(some) == len(ids)
}

// rename gives listens the names of their tracks, and updates everything that depends on those.
func (s *Store) rename(ctx context.Context, tx *sql.Tx, user int64, some []ruled) error {
	spellings, plays := make([]music.Spelling, len(some)), make([]delivery.Play, len(some))
	for i, l := range some {
		spellings[i] = music.SpellingOf(l.track)
		plays[i] = delivery.Play{Listen: l.id, At: time.UnixMilli(l.at)}
	}
	ids, err := s.catalogue.Shelve(ctx, tx, spellings)
	if err != nil {
		return err
	}
	of := map[int64][]int64{}
	for i, l := range some {
		of[ids[i]] = append(of[ids[i]], l.id)
		if l.edited { // its person changed the time only, so undoing that keeps these names
			err := db.ExecTx(ctx, tx,
				"UPDATE edited_listens SET spelling_id = $3 WHERE user_id = $1 AND listen_id = $2", user, l.id, ids[i])
			if err != nil {
				return err
			}
		}
	}
	for spelling, these := range of {
		err := db.InChunks(these, func(in string, args []any) error {
			args = append([]any{spelling}, args...)
			return errors.Join(
				db.ExecTx(ctx, tx, "UPDATE listens SET spelling_id = $1 WHERE id IN "+in, args...),
				db.ExecTx(ctx, tx, "UPDATE removed_listens SET spelling_id = $1 WHERE id IN "+in, args...))
		})
		if err != nil {
			return err
		}
	}
	return s.intake.ListensChanged(ctx, tx, user, plays)
}

// UndoPlayRule undoes everything that a rule has done: listens get the names that the person's other rules give them,
// ignored plays become listens again, and withheld listens may be sent with what is forwarded later. A listen that the
// person has renamed since keeps its names until they undo that. UndoPlayRule returns how many listens it has changed.
// If it breaks off halfway, the next call continues.
func (s *Store) UndoPlayRule(ctx context.Context, user, id int64) (n int, err error) {
	others, err := s.rules.PlayRules(ctx, user)
	if err != nil {
		return 0, err
	}
	all, err := db.List(ctx, s.db.Reader, db.ScanID, `SELECT listen_id FROM ruled_listens
		WHERE user_id = $1 AND rules LIKE '%,' || CAST($2 AS TEXT) || ',%' ORDER BY listen_id`, user,
		strconv.FormatInt(id, 10))
	if err != nil {
		return 0, err
	}
	for some := range slices.Chunk(all, atOnce) {
		err := s.db.Write(ctx, func(tx *sql.Tx) error {
			changed, err := s.takeBack(ctx, tx, user, id, others, some)
			n += changed
			return err
		})
		if err != nil {
			return n, err
		}
	}
	all, err = db.List(ctx, s.db.Reader, db.ScanID,
		"SELECT id FROM corrections WHERE user_id = $1 AND rule_id = $2 AND undone_at = 0 ORDER BY id", user, id)
	err = errors.Join(err, s.db.Write(ctx, func(tx *sql.Tx) error { return noLongerHeld(ctx, tx, user, id) }))
	for _, correction := range all {
		c, e := s.UndoCorrection(ctx, user, correction)
		n, err = n+c.Listens, errors.Join(err, e)
	}
	return n, err
}

// noLongerHeld forgets which listens a rule has withheld, so that they count as missing again where they were not sent.
func noLongerHeld(ctx context.Context, tx *sql.Tx, user, rule int64) error {
	err := db.Changed(tx.ExecContext(ctx, "DELETE FROM withheld WHERE user_id = $1 AND rule_id = $2", user, rule))
	if errors.Is(err, library.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return db.ExecTx(ctx, tx, "UPDATE listen_columns SET version = version + 1 WHERE user_id = $1", user)
}

// takeBack undoes the names that a rule gave to some listens, and returns how many listens it has changed.
func (s *Store) takeBack(ctx context.Context, tx *sql.Tx, user, id int64, others []rules.Rule,
	some []int64) (int, error) {
	all, err := s.ruled(ctx, tx, user, some)
	if err != nil {
		return 0, err
	}
	var changed, edited []ruled
	for _, l := range all {
		if !slices.Contains(l.rules, id) {
			continue
		}
		now := l
		now.rules = slices.DeleteFunc(slices.Clone(l.rules), func(other int64) bool { return other == id })
		if err := s.leave(ctx, tx, l.id, now.rules); err != nil {
			return 0, err
		}
		var ok bool
		now.track, ok = l.by(others, now.rules)
		switch {
		case !ok: // one of the other rules is gone: it keeps its names
		case l.mine:
			edited = append(edited, now)
		case !now.named(l.track):
			changed = append(changed, now)
		}
	}
	return len(changed), errors.Join(s.rename(ctx, tx, user, changed), s.renameBefore(ctx, tx, user, edited))
}

// renameBefore stores the names that listens get when the person undoes their own changes: those of their tracks.
func (s *Store) renameBefore(ctx context.Context, tx *sql.Tx, user int64, some []ruled) error {
	spellings := make([]music.Spelling, len(some))
	for i, l := range some {
		spellings[i] = music.SpellingOf(l.track)
	}
	ids, err := s.catalogue.Shelve(ctx, tx, spellings)
	for i, l := range some {
		if err != nil {
			return err
		}
		err = db.ExecTx(ctx, tx, `UPDATE edited_listens SET spelling_id = $1 WHERE correction_id = (SELECT
			min(correction_id) FROM edited_listens WHERE user_id = $2 AND listen_id = $3)`, ids[i], user, l.id)
	}
	return err
}

// leave notes that these are the only rules that still rename a listen.
func (s *Store) leave(ctx context.Context, tx *sql.Tx, id int64, rules []int64) error {
	if len(rules) == 0 {
		return db.ExecTx(ctx, tx, "DELETE FROM ruled_listens WHERE listen_id = $1", id)
	}
	return db.ExecTx(ctx, tx, "UPDATE ruled_listens SET rules = $2 WHERE listen_id = $1", id,
		playrules.List(rules...))
}
