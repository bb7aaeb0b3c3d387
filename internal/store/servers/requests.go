package servers

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"reprise/internal/store/db"
)

const (
	// deskConnections is how many connections the requests have that servers pass on to each other.
	deskConnections = 4
	// requestsLast is how long a request is kept whose server doesn't remove it, because it was killed.
	requestsLast = time.Minute
	// The purposes of what is sealed.
	aRequest, anAnswer = "request ", "answer "
)

// LeaveRequest implements cluster.Desk.
func (b *Book) LeaveRequest(ctx context.Context, id, server string, request []byte) error {
	_, err := b.desk.ExecContext(ctx, "INSERT INTO requests (id, server_id, asked_at, request) VALUES ($1, $2, "+now+
		", $3)", id, server, b.key.Wrap(request, aRequest+id))
	return db.Explain(err)
}

// TakeRequests implements cluster.Desk. Those that another key has sealed are left out.
func (b *Book) TakeRequests(ctx context.Context, server string, most int) (map[string][]byte, error) {
	all := map[string][]byte{}
	_, err := db.List(ctx, b.desk, func(r db.Scanner) (none struct{}, err error) {
		var id, sealed string
		if err := r.Scan(&id, &sealed); err != nil {
			return none, err
		}
		if request, err := b.key.Unwrap(sealed, aRequest+id); err == nil {
			all[id] = request
		}
		return none, nil
	}, `UPDATE requests SET taken = 1 WHERE taken = 0 AND id IN (SELECT id FROM requests
		WHERE server_id = $1 AND taken = 0 ORDER BY asked_at LIMIT $2) RETURNING id, request`, server, most)
	return all, err
}

// AnswerRequest implements cluster.Desk.
func (b *Book) AnswerRequest(ctx context.Context, id string, answer []byte) error {
	_, err := b.desk.ExecContext(ctx, "UPDATE requests SET request = '', answer = $2 WHERE id = $1", id,
		b.key.Wrap(answer, anAnswer+id))
	return db.Explain(err)
}

// Answer implements cluster.Desk.
func (b *Book) Answer(ctx context.Context, id string) ([]byte, error) {
	var sealed string
	err := b.desk.QueryRowContext(ctx, "DELETE FROM requests WHERE id = $1 AND answer <> '' RETURNING answer", id).
		Scan(&sealed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, db.Explain(err)
	}
	return b.key.Unwrap(sealed, anAnswer+id)
}

// Withdraw implements cluster.Desk.
func (b *Book) Withdraw(ctx context.Context, id string) (bool, error) {
	result, err := b.desk.ExecContext(ctx, "DELETE FROM requests WHERE id = $1 AND taken = 0", id)
	if err != nil {
		return false, db.Explain(err)
	}
	n, err := result.RowsAffected()
	return n > 0, db.Explain(err)
}

// Forget implements cluster.Desk.
func (b *Book) Forget(ctx context.Context, id string) error {
	_, err := b.desk.ExecContext(ctx, "DELETE FROM requests WHERE id = $1", id)
	return db.Explain(err)
}
