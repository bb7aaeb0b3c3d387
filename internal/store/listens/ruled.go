package listens

import (
	"context"

	"reprise/internal/library"
	"reprise/internal/store/db"
	"reprise/internal/store/playrules"
)

// AddRuled adds to a person's listens what their rules did to them. Of those that they have given other names since,
// the names before are left out: elsewhere, undoing the rule would take the person's own names.
func (s *Store) AddRuled(ctx context.Context, user int64, page []library.StoredListen) error {
	var renamed, withheld bool
	err := s.db.Reader.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM ruled_listens WHERE user_id = $1),
		EXISTS (SELECT 1 FROM withheld WHERE user_id = $1)`, user).Scan(&renamed, &withheld)
	if err != nil || len(page) == 0 || !renamed && !withheld {
		return db.Explain(err)
	}
	names, err := s.ruleNames(ctx, user)
	if err != nil {
		return err
	}
	by := func(id int64) library.RuleName { return library.RuleName{ID: id, Name: names[id]} }
	index, ids := map[int64]*library.StoredListen{}, make([]int64, len(page))
	for i := range page {
		index[page[i].ID], ids[i] = &page[i], page[i].ID
	}
	did := func(listen int64) *library.Ruled {
		l := index[listen]
		if l.Ruled == nil {
			l.Ruled = &library.Ruled{}
		}
		return l.Ruled
	}
	return db.InChunks(ids, func(these string, args []any) error {
		args = append([]any{user}, args...)
		_, err := db.List(ctx, s.db.Reader, func(r db.Scanner) (none struct{}, err error) {
			var listen int64
			var list string
			var was library.Track
			if err := r.Scan(&listen, &list, &was.Title, &was.Artist, &was.Album, &was.ISRC,
				&was.RecordingMBID); err != nil {
				return none, err
			}
			v := did(listen)
			v.Was = was
			for _, id := range playrules.Listed(list) {
				v.Renamed = append(v.Renamed, by(id))
			}
			return none, nil
		}, `SELECT r.listen_id, r.rules, p.title, p.artist, p.album, p.isrc, p.recording_mbid FROM ruled_listens r
			JOIN spellings p ON p.id = r.spelling_id
			LEFT JOIN listens l ON l.id = r.listen_id LEFT JOIN removed_listens d ON d.id = r.listen_id
			WHERE +r.user_id = $1 AND NOT EXISTS (SELECT 1 FROM edited_listens e WHERE e.user_id = r.user_id
				AND e.listen_id = r.listen_id AND e.spelling_id <> coalesce(l.spelling_id, d.spelling_id))
			AND r.listen_id IN `+these, args...)
		if err != nil {
			return err
		}
		_, err = db.List(ctx, s.db.Reader, func(r db.Scanner) (none struct{}, err error) {
			var listen, rule int64
			var to library.Connection
			if err := r.Scan(&listen, &to.ID, &rule, &to.AccountID); err != nil {
				return none, err
			}
			v := did(listen)
			v.Withheld = append(v.Withheld, library.Withheld{To: to.ID, By: by(rule),
				Account: to.AccountHash()})
			return none, nil
		}, `SELECT w.listen_id, w.connection, w.rule_id, coalesce(c.account_id, '') FROM withheld w
			LEFT JOIN connections c ON c.user_id = w.user_id AND c.connection = w.connection
			WHERE +w.user_id = $1 AND w.listen_id IN `+these+" ORDER BY w.listen_id, w.connection, w.rule_id", args...)
		return err
	})
}

// ruleNames returns the names of a person's rules.
func (s *Store) ruleNames(ctx context.Context, user int64) (map[int64]string, error) {
	names := map[int64]string{}
	_, err := db.List(ctx, s.db.Reader, func(r db.Scanner) (none struct{}, err error) {
		var id int64
		var name string
		err = r.Scan(&id, &name)
		names[id] = name
		return none, err
	}, "SELECT id, name FROM play_rules WHERE user_id = $1", user)
	return names, err
}

// IgnoredPlays returns a page of the plays that a person's rules make no listens of, the newest first, with what rules
// did to them, and the cursor of the next page, empty at the end. limit is 1 to 1,000. An invalid cursor is
// library.ErrBadCursor.
func (s *Store) IgnoredPlays(ctx context.Context, user int64, before string, limit int) (
	page []library.StoredListen, next string, err error) {
	p, err := placeOf(library.ListenFilter{User: user}, before)
	if err != nil {
		return nil, "", err
	}
	rules := map[int64]int64{} // that ignore the plays
	page, err = db.List(ctx, s.db.Reader, func(r db.Scanner) (library.StoredListen, error) {
		var rule int64
		l, err := ScanListen(beside{r, &rule})
		rules[l.ID] = rule
		return l, err
	}, "SELECT "+ListenColumns+", c.rule_id FROM removed_listens l "+TheirSpellings+`
		JOIN corrections c ON c.id = l.correction_id
		WHERE l.user_id = $1 AND c.rule_id <> 0 AND c.undone_at = 0 AND (l.played_at, l.id) < ($2, $3)
		ORDER BY l.played_at DESC, l.id DESC LIMIT $4`, user, p.at, p.id, limit+1)
	if err == nil && len(page) > limit {
		page = page[:limit]
		next = p.f.After(page[limit-1]).Text()
	}
	if err == nil {
		err = s.addSources(ctx, "removed_sources", page)
	}
	if err == nil {
		err = s.AddRuled(ctx, user, page)
	}
	if err != nil {
		return nil, "", err
	}
	names, err := s.ruleNames(ctx, user)
	for i := range page {
		l := &page[i]
		if l.Ruled == nil {
			l.Ruled = &library.Ruled{}
		}
		l.Ruled.Ignored = library.RuleName{ID: rules[l.ID], Name: names[rules[l.ID]]}
	}
	return page, next, err
}

// beside scans a further column after those that are asked for.
type beside struct {
	db.Scanner
	last *int64
}

func (b beside) Scan(to ...any) error { return b.Scanner.Scan(append(to, b.last)...) }
