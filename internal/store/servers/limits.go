package servers

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"reprise/internal/store/db"
	"reprise/internal/throttle"
)

// Limits counts tries over all servers, by the clock of the database. Like throttle.Throttle it has a fixed number of
// buckets for each limit, so that it takes no more room whatever is tried. Which bucket a key has depends on the secret
// key: who reads the database learns neither addresses nor names, which may be passwords in the wrong field. It is safe
// for concurrent use.
type Limits struct {
	db  *sql.DB
	key *db.Key
	// here are the tries that this server has let through, by the same limits: a flood of tries at one server does not
	// reach the database.
	here throttle.Memory
}

// Limits returns the limits that all servers share, until Close. They have connections of their own: a flood of tries
// holds up neither leases nor what people write.
func (b *Book) Limits() *Limits { return &Limits{db: b.tries, key: b.key} }

// bucket returns the name of the bucket of a toll.
func (l *Limits) bucket(t throttle.Toll) string {
	sum := l.key.MAC(t.Key, "try of "+t.Limit.Name)
	return fmt.Sprint(t.Limit.Name, " ", binary.BigEndian.Uint64(sum)%throttle.Buckets)
}

const (
	// asked are tolls at one time, in milliseconds: the names of their buckets $1, with the bursts and intervals of
	// their limits, $2 and $3.
	asked = `WITH clock AS MATERIALIZED (SELECT ` + now + ` AS at),
		asked AS (SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS a (bucket, burst, every), clock),
		wait AS (SELECT greatest(0, max(forgets_at - at - (burst - 1) * every)) AS ms
			FROM asked JOIN tries USING (bucket))`
	// take counts those tolls unless one has to wait. It changes the buckets in order, so that two tries at once never
	// wait for each other. A bucket that another try has filled meanwhile is left as it is.
	take = asked + `, taken AS (INSERT INTO tries (bucket, forgets_at)
			SELECT bucket, at + every FROM asked, wait WHERE ms = 0 ORDER BY bucket
			ON CONFLICT (bucket) DO UPDATE SET forgets_at = (SELECT greatest(tries.forgets_at, at) + every
				FROM asked WHERE asked.bucket = tries.bucket)
			WHERE tries.forgets_at <= (SELECT at + (burst - 1) * every FROM asked WHERE asked.bucket = tries.bucket)
			RETURNING bucket)
		SELECT ms, coalesce((SELECT string_agg(bucket, $4) FROM taken), '') FROM wait`
)

// args are what asked needs.
func (l *Limits) args(tolls []throttle.Toll) []any {
	var names []string
	var bursts, intervals []int64
	for _, t := range tolls {
		names = append(names, l.bucket(t))
		bursts = append(bursts, int64(t.Limit.Rate.Burst))
		intervals = append(intervals, t.Limit.Rate.Every.Milliseconds())
	}
	return []any{names, bursts, intervals}
}

// Take implements throttle.Limits.
func (l *Limits) Take(ctx context.Context, tolls ...throttle.Toll) (wait time.Duration, err error) {
	if wait, _ = l.here.Take(ctx, tolls...); wait > 0 {
		return wait, nil
	}
	if wait, err = l.takeShared(ctx, tolls); wait > 0 || err != nil {
		_ = l.here.GiveBack(ctx, tolls...)
	}
	return wait, err
}

// answerWithin is how long the database may take to count a try.
const answerWithin = 5 * time.Second

func (l *Limits) takeShared(ctx context.Context, tolls []throttle.Toll) (time.Duration, error) {
	args := append(l.args(tolls), "\n")
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	for {
		var ms int64
		var names string
		if err := l.db.QueryRowContext(ctx, take, args...).Scan(&ms, &names); err != nil {
			return 0, db.Explain(err)
		}
		taken := strings.Split(names, "\n")
		if ms > 0 || len(taken) == len(tolls) {
			return db.Length(ms), nil
		}
		// Another try has filled a bucket at the same moment, for which the next round waits.
		counted := slices.DeleteFunc(slices.Clone(tolls), func(t throttle.Toll) bool {
			return !slices.Contains(taken, l.bucket(t))
		})
		if err := l.giveBackShared(context.WithoutCancel(ctx), counted); err != nil {
			return 0, err
		}
	}
}

// Wait implements throttle.Limits.
func (l *Limits) Wait(ctx context.Context, tolls ...throttle.Toll) (time.Duration, error) {
	var ms int64
	err := l.db.QueryRowContext(ctx, asked+" SELECT ms FROM wait", l.args(tolls)...).Scan(&ms)
	return db.Length(ms), db.Explain(err)
}

// GiveBack implements throttle.Limits.
func (l *Limits) GiveBack(ctx context.Context, tolls ...throttle.Toll) error {
	_ = l.here.GiveBack(ctx, tolls...)
	return l.giveBackShared(ctx, tolls)
}

func (l *Limits) giveBackShared(ctx context.Context, tolls []throttle.Toll) error {
	for _, t := range tolls { // one by one: a statement with several could lock them in another order than take
		_, err := l.db.ExecContext(ctx, "UPDATE tries SET forgets_at = forgets_at - $2 WHERE bucket = $1",
			l.bucket(t), t.Limit.Rate.Every.Milliseconds())
		if err != nil {
			return db.Explain(err)
		}
	}
	return nil
}
