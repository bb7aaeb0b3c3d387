package servers

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"reprise/internal/leases"
	"reprise/internal/store/db"
)

func scanLease(r db.Scanner) (l leases.Lease, err error) { return l, r.Scan(&l.App, &l.Number) }

// ConfirmLeases implements leases.Book.
func (b *Book) ConfirmLeases(ctx context.Context, server string) ([]leases.Lease, error) {
	return db.List(ctx, b.db, scanLease,
		"UPDATE leases SET seen_at = "+now+" WHERE server_id = $1 RETURNING app, lease", server)
}

// Leases implements leases.Book.
func (b *Book) Leases(ctx context.Context, server, says string) (all []leases.Holding, workers map[string]string,
	err error) {
	if says != "" {
		_, err := b.changed(ctx, "UPDATE servers SET works_at = "+now+", says = $2 WHERE id = $1", server, says)
		if err != nil {
			return nil, nil, err
		}
	}
	all, err = db.List(ctx, b.db, func(r db.Scanner) (h leases.Holding, err error) {
		var age int64
		err = r.Scan(&h.App, &h.Number, &h.Server, &age, &h.State)
		h.Age = time.Duration(age) * time.Millisecond
		return h, err
	}, "SELECT app, lease, server_id, "+now+" - seen_at, state FROM leases ORDER BY app")
	if err != nil {
		return nil, nil, err
	}
	workers = map[string]string{}
	_, err = db.List(ctx, b.db, func(r db.Scanner) (none struct{}, err error) {
		var id, says string
		err = r.Scan(&id, &says)
		workers[id] = says
		return none, err
	}, "SELECT id, says FROM servers WHERE works_at > "+now+" - $1", leases.VacantAfter.Milliseconds())
	return all, workers, err
}

// TakeLease implements leases.Book. It waits for a transaction under the lease before, and no other one begins.
func (b *Book) TakeLease(ctx context.Context, server string, was leases.Lease) (number int64, err error) {
	err = b.db.QueryRowContext(ctx, "UPDATE leases SET lease = lease + 1, server_id = $1, state = '', seen_at = "+now+`
		WHERE app = $2 AND lease = $3 AND server_id <> $1 AND (server_id = '' OR seen_at <= `+now+` - $4)
		RETURNING lease`, server, was.App, was.Number, leases.VacantAfter.Milliseconds()).Scan(&number)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return number, db.Explain(err)
}

// GiveLease implements leases.Book.
func (b *Book) GiveLease(ctx context.Context, l leases.Lease) error {
	_, err := b.changed(ctx, "UPDATE leases SET lease = lease + 1, server_id = '' WHERE app = $1 AND lease = $2", l.App,
		l.Number)
	return err
}

// RemoveLease implements leases.Book. It waits for a transaction under the lease.
func (b *Book) RemoveLease(ctx context.Context, l leases.Lease) error {
	_, err := b.changed(ctx, "DELETE FROM leases WHERE app = $1 AND lease = $2", l.App, l.Number)
	return err
}

// GiveLeases implements leases.Book.
func (b *Book) GiveLeases(ctx context.Context, server string) error {
	_, err := b.changed(ctx, "UPDATE leases SET lease = lease + 1, server_id = '' WHERE server_id = $1", server)
	if err == nil {
		_, err = b.changed(ctx, "UPDATE servers SET works_at = 0 WHERE id = $1", server)
	}
	return err
}

// SaveAppState implements leases.Book.
func (b *Book) SaveAppState(ctx context.Context, l leases.Lease, state string) error {
	_, err := b.changed(ctx, "UPDATE leases SET state = $3 WHERE app = $1 AND lease = $2", l.App, l.Number, state)
	return err
}

// NoteApps implements leases.Book. The numbers of a lease begin with the time: an app that comes back gets none that a
// server had before, which might be stopped and wake up.
func (b *Book) NoteApps(ctx context.Context, apps []string) error {
	_, err := b.changed(ctx, `INSERT INTO leases (app, lease, server_id, seen_at)
		SELECT app, `+now+`, '', 0 FROM unnest($1::text[]) app ON CONFLICT DO NOTHING`, apps)
	return err
}
