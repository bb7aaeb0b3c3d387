package intake

import (
	"context"
	"database/sql"
	"errors"
	"hash/fnv"
	"math"
	"strconv"

	"reprise/internal/library"
	"reprise/internal/music"
	"reprise/internal/store/connections"
	"reprise/internal/store/db"
	"reprise/internal/store/listens"
)

// SourceKey returns the number by which a source of a listen is found: 31 bits of the time that its id tells, and 16
// bits of a hash of its person, its connection and its id. Those of the same time lie together in the index, so that
// storing a page changes few pages of it. Different sources may have the same number. SQLite keeps it in six bytes.
func SourceKey(user int64, conn library.ConnectionID, id string) int64 {
	h := fnv.New32a()
	_, _ = h.Write(strconv.AppendInt(nil, user, 10))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(conn))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(id))
	sum := h.Sum32()
	return (listens.TimeIn(id)&math.MaxInt32)<<16 | int64(sum>>16^sum&math.MaxUint16)
}

// KnownSources selects the ids of a person's sources of a connection that have one of some keys.
func KnownSources(in Pile) string { return "SELECT " + listens.IdOf("s") + WithKeys(in) }

// WithKeys is the end of a query for a person's sources of a connection that have one of some keys, with their listens.
// The cross join makes SQLite begin with the keys, and the plus Postgres.
func WithKeys(in Pile) string {
	return " FROM " + in.Sources + " s CROSS JOIN " + in.Listens + ` l
	WHERE l.id = s.listen_id AND +l.user_id = $1 AND +` + connections.SourceOf("s", 2) + " AND s.source_key IN "
}

// moveSources stores the reports of earlier pages that became sources of other listens.
func moveSources(ctx context.Context, tx *sql.Tx, user int64, stored []*music.Report) error {
	for _, r := range stored {
		if !r.Moved {
			continue
		}
		args := []any{r.Was.ID, SourceKey(user, r.Connection, r.SourceID), r.Connection, r.SourceID}
		this := " WHERE listen_id = $1 AND source_key = $2 AND " + connections.SourceOf(PileOf(r.Was).Sources, 3) +
			" AND " + listens.IdOf(PileOf(r.Was).Sources) + " = $4"
		var err error
		if later := r.At.Sub(r.Play.At).Milliseconds(); r.Was.Removed == r.Play.Removed {
			err = db.ExecTx(ctx, tx, "UPDATE "+PileOf(r.Was).Sources+" SET listen_id = $5, later = $6"+this,
				append(args, r.Play.ID, later)...)
		} else {
			err = errors.Join(
				db.ExecTx(ctx, tx, "INSERT INTO "+PileOf(r.Play).Sources+`
					(listen_id, connection, source_key, name_id, later, stored_at, player)
					SELECT CAST($5 AS BIGINT), connection, source_key, name_id, CAST($6 AS BIGINT), stored_at, player
					FROM `+PileOf(r.Was).Sources+this, append(args, r.Play.ID, later)...),
				db.ExecTx(ctx, tx, "DELETE FROM "+PileOf(r.Was).Sources+this, args...))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
