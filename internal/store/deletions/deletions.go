package deletions

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/store/connections"
	"reprise/internal/store/db"
	"reprise/internal/store/listens"
)

// Listens that their person has deleted can be deleted at the services that told of them, too. Which ones is kept with
// the correction, what they are called there with the deleted listens.

// CountSources returns how many listens of a selection each of a person's connections told of. Those that told of none
// are left out.
func (s *Store) CountSources(ctx context.Context, v library.Selection) (map[library.ConnectionID]int, error) {
	held := map[library.ConnectionID]int{}
	add := func(all []library.StoredListen) {
		for _, l := range all {
			counted := map[library.ConnectionID]bool{}
			for _, from := range l.Sources {
				if !counted[from.Connection] {
					held[from.Connection]++
				}
				counted[from.Connection] = true
			}
		}
	}
	switch {
	case len(v.IDs) > 0:
		some, err := listens.Owned(ctx, s.db.Reader, v.User, v.IDs)
		if err != nil {
			return nil, err
		}
		all := make([]library.StoredListen, len(some))
		for i, l := range some {
			all[i].ID = l.Listen
		}
		err = s.listens.AddSources(ctx, all)
		add(all)
		return held, err
	case v.Source != "": // the columns know one source of a filter
		for before := ""; ; {
			page, next, err := s.listens.FindListens(ctx, v.ListenFilter, before, listens.DeleteAtOnce)
			add(page)
			if before = next; err != nil || next == "" {
				return held, err
			}
		}
	}
	ids, err := connections.AccountsOf(ctx, s.db.Reader, v.User)
	for id := range ids {
		f := v.ListenFilter
		f.Source = id
		n, e := s.listens.CountFound(ctx, f)
		if err = errors.Join(err, e); n > 0 {
			held[id] = n
		}
	}
	return held, err
}

// DeleteThere enqueues the deletion of listens that a correction has just deleted at some connections, as far as these
// told of them.
func (s *Store) DeleteThere(ctx context.Context, tx *sql.Tx, c library.Correction, some []delivery.Play,
	there []library.ConnectionID) error {
	for _, conn := range there {
		var ids []int64
		err := db.InChunks(listens.IdsOf(some), func(these string, args []any) error {
			more, err := db.List(ctx, tx, db.ScanID, `SELECT DISTINCT s.listen_id FROM removed_sources s
				JOIN connection_numbers n ON n.number = s.connection AND n.connection = $1
				WHERE s.listen_id IN `+these+" ORDER BY s.listen_id", append([]any{conn}, args...)...)
			ids = append(ids, more...)
			return err
		})
		if err != nil {
			return err
		}
		d := delivery.Draft{User: c.User, Connection: conn, Kind: delivery.DeleteListens,
			Ref: strconv.FormatInt(c.ID, 10), History: true}
		if err := s.outbox.EnqueueAll(ctx, tx, d.InBatches(ids, delivery.DeletedAtOnce)); err != nil {
			return err
		}
	}
	return nil
}

// NextDeletion returns the listen of a delivery with the lowest number above after whose service has not been asked
// yet; the zero value at the end.
func (s *Store) NextDeletion(ctx context.Context, id, after int64) (d delivery.Deletion, err error) {
	var conn library.ConnectionID
	err = s.db.Reader.QueryRowContext(ctx, `SELECT d.listen_id, d.connection,
		(SELECT count(*) FROM deletions o WHERE o.delivery_id = $1 AND o.asked_at > 0)
		FROM deletions d WHERE d.delivery_id = $1 AND d.asked_at = 0 AND d.listen_id > $2
		ORDER BY d.listen_id LIMIT 1`, id, after).Scan(&d.Listen, &conn, &d.Asked)
	if errors.Is(err, sql.ErrNoRows) {
		return delivery.Deletion{}, nil
	}
	if err != nil {
		return d, db.Explain(err)
	}
	scan := func(r db.Scanner) (id string, err error) { return id, r.Scan(&id) }
	d.SourceIDs, err = db.List(ctx, s.db.Reader, scan, "SELECT "+listens.IdOf("s")+` AS source_id FROM removed_sources s
		WHERE s.listen_id = $1 AND `+connections.SourceOf("s", 2)+" ORDER BY source_id", d.Listen, conn)
	return d, err
}

// Deleted notes that the service of a delivery has accepted the deletion of a listen.
func (s *Store) Deleted(ctx context.Context, id, listen int64) error {
	return s.db.Exec(ctx, "UPDATE deletions SET asked_at = $3 WHERE delivery_id = $1 AND listen_id = $2",
		id, listen, db.Millis(time.Now()))
}

// KeepThere takes back what a correction still waits to have deleted at services.
func KeepThere(ctx context.Context, tx *sql.Tx, c library.Correction) error {
	if err := db.ExecTx(ctx, tx, "DELETE FROM deletions WHERE correction_id = $1 AND asked_at = 0", c.ID); err != nil {
		return err
	}
	const mine = "d.user_id = $1 AND d.kind = $2 AND d.ref = $3"
	args := []any{c.User, delivery.DeleteListens, strconv.FormatInt(c.ID, 10)}
	err := db.ExecTx(ctx, tx, `UPDATE deliveries AS d SET items = (SELECT count(*) FROM deletions o
		WHERE o.delivery_id = d.id) WHERE `+mine+" AND d.state <> 'done'", args...)
	if err != nil {
		return err
	}
	return db.ExecTx(ctx, tx, "DELETE FROM deliveries AS d WHERE "+mine+
		" AND d.items = 0 AND d.state NOT IN ('done', 'running')", args...)
}

// AddThere gives corrections what services are asked to delete, too.
func (s *Store) AddThere(ctx context.Context, page []library.Correction) error {
	byID := map[int64]*library.Correction{}
	var ids []any
	for i := range page {
		if page[i].Kind == library.Deleted && page[i].About == "" {
			byID[page[i].ID] = &page[i]
			ids = append(ids, page[i].ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	type row struct {
		correction int64
		library.There
	}
	scan := func(r db.Scanner) (v row, err error) {
		return v, r.Scan(&v.correction, &v.Connection, &v.Listens, &v.Asked)
	}
	rows, err := db.List(ctx, s.db.Reader, scan, `SELECT correction_id, connection, count(*),
		sum(CASE WHEN asked_at > 0 THEN 1 ELSE 0 END) FROM deletions WHERE correction_id IN `+db.Numbered(1, len(ids))+`
		GROUP BY correction_id, connection ORDER BY correction_id, connection`, ids...)
	for _, r := range rows {
		c := byID[r.correction]
		c.There = append(c.There, r.There)
	}
	return err
}
