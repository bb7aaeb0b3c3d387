package outbox

import (
	"context"
	"database/sql"
	"errors"
	"strconv"

	"reprise/internal/delivery"
	"reprise/internal/store/db"
)

// assignDeletions is assign for listens that are to be deleted.
func assignDeletions(ctx context.Context, tx *sql.Tx, id int64, d delivery.Draft) error {
	correction, err := strconv.ParseInt(d.Ref, 10, 64)
	if err != nil {
		return err
	}
	const width = 5
	args := make([]any, 0, len(d.Listens)*width)
	for _, listen := range d.Listens {
		args = append(args, correction, listen, d.Connection, d.User, id)
	}
	return db.InsertRows(ctx, tx, "INSERT INTO deletions (correction_id, listen_id, connection, user_id, delivery_id)",
		width, args,
		"ON CONFLICT (correction_id, listen_id, connection) DO UPDATE SET delivery_id = excluded.delivery_id")
}

// dropDeletions takes what was not deleted out of a delivery that is removed. What was stays noted.
func dropDeletions(ctx context.Context, tx *sql.Tx, id int64) error {
	return errors.Join(
		db.ExecTx(ctx, tx, "DELETE FROM deletions WHERE delivery_id = $1 AND asked_at = 0", id),
		db.ExecTx(ctx, tx, "UPDATE deletions SET delivery_id = 0 WHERE delivery_id = $1", id))
}
