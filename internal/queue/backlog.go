package queue

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/riverqueue/river/rivertype"
)

// Backlog is the jobs of a kind that have not ended.
type Backlog struct {
	Kind             string
	Waiting, Running int
	Oldest           time.Time // when the oldest was inserted
}

// Backlogs returns the jobs in a database that wait or run, by kind: those of a server that has it for itself, and of
// the servers with these ids. Those that a server has left behind that is gone are left out.
func Backlogs(ctx context.Context, db *sql.DB, servers []string) (all []Backlog, err error) {
	var states []string
	for _, s := range unended {
		states = append(states, "'"+string(s)+"'")
	}
	rows, err := db.QueryContext(ctx, `SELECT kind, queue, state, count(*), CAST(min(created_at) AS TEXT) FROM river_job
		WHERE state IN (`+strings.Join(states, ", ")+") GROUP BY kind, queue, state ORDER BY kind")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var kind, queue, state, oldest string
		var count int
		if err := rows.Scan(&kind, &queue, &state, &count, &oldest); err != nil {
			return nil, err
		}
		server, shared := strings.CutPrefix(queue, kind+"-")
		if shared && !slices.Contains(servers, server) {
			continue
		}
		oldest, _, _ = strings.Cut(oldest, "+") // Postgres says that it is UTC
		since, err := time.Parse(time.DateTime, oldest)
		if err != nil {
			return nil, err
		}
		if len(all) == 0 || all[len(all)-1].Kind != kind {
			all = append(all, Backlog{Kind: kind, Oldest: since})
		}
		b := &all[len(all)-1]
		if since.Before(b.Oldest) {
			b.Oldest = since
		}
		if state == string(rivertype.JobStateRunning) {
			b.Running += count
		} else {
			b.Waiting += count
		}
	}
	return all, rows.Err()
}
