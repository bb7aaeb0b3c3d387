package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivermigrate"

	"reprise/internal/delivery"
)

// clock makes River read the process's clock for all that it stores, so that there is one clock.
type clock struct{}

func (clock) NowUTC() time.Time       { return time.Now().UTC() }
func (clock) NowUTCOrNil() *time.Time { now := time.Now().UTC(); return &now }

// queueTime is how River writes times into its table on SQLite, so that they compare as texts. Postgres reads it too.
const queueTime = "2006-01-02 15:04:05.999"

func riverTime(t time.Time) string { return t.UTC().Round(time.Millisecond).Format(queueTime) }

// riverConfig is what every River client here has in common.
func riverConfig(c river.Config) *river.Config {
	c.Test.Time = clock{}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	// What is done or dead is removed by Retire, together with what belongs to it.
	c.CompletedJobRetentionPeriod, c.CancelledJobRetentionPeriod, c.DiscardedJobRetentionPeriod = -1, -1, -1
	return &c
}

// Queue returns a River client that works on this database. What the process that had the database before was working
// on when it died is due again, and nobody waits until that process can be taken for dead.
func (s *Store) Queue(ctx context.Context, c river.Config) (*river.Client[*sql.Tx], error) {
	for _, left := range []string{"UPDATE river_job SET state = 'available' WHERE state = 'running'", "DELETE FROM river_leader"} {
		if err := s.exec(ctx, left); err != nil {
			return nil, err
		}
	}
	client, err := river.NewClient(s.queue(s.writer), riverConfig(c))
	if err != nil {
		return nil, fmt.Errorf("open queue: %w", err)
	}
	return client, nil
}

// Running implements delivery.CareStore.
func (s *Store) Running(ctx context.Context) (map[int64]time.Time, error) {
	all := map[int64]time.Time{}
	scan := func(r scanner) (_ struct{}, err error) {
		var id int64
		var taken sql.NullTime
		err = r.Scan(&id, &taken)
		all[id] = taken.Time
		return struct{}{}, err
	}
	_, err := list(ctx, s.reader, scan, "SELECT id, attempted_at FROM river_job WHERE state = 'running'")
	return all, err
}

// Resume implements delivery.CareStore.
func (s *Store) Resume(ctx context.Context, id int64) error {
	return s.exec(ctx, "UPDATE river_job SET state = 'available' WHERE id = $1 AND state = 'running'", id)
}

// SetAttempts says how often a delivery that is written down from now on may be attempted.
func (s *Store) SetAttempts(n int) { s.attempts.Store(int64(n)) }

// openQueue brings River's own tables up to date and prepares writing deliveries down.
func (s *Store) openQueue(ctx context.Context) error {
	driver := s.queue(s.writer)
	m, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fmt.Errorf("migrate the queue: %w", err)
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate the queue: %w", local(err))
	}
	if s.orders, err = river.NewClient(driver, riverConfig(river.Config{})); err != nil {
		return fmt.Errorf("open queue: %w", err)
	}
	return nil
}

// enqueue writes a delivery down and returns its number. The same one, when it is there already, stays as it is, but
// comes back to life when it is dead.
func (s *Store) enqueue(ctx context.Context, tx *sql.Tx, o delivery.Order) (int64, error) {
	args, opts := o.Job(max(int(s.attempts.Load()), 1))
	result, err := s.orders.InsertTx(ctx, tx, args, opts)
	if err != nil {
		return 0, err
	}
	id := result.Job.ID
	if result.UniqueSkippedAsDuplicate {
		_, err := redrive(ctx, tx, id, delivery.Dead)
		return id, err
	}
	err = execTx(ctx, tx, "INSERT INTO deliveries (id, user_id, provider, kind, ref, items, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)",
		id, o.User, o.Provider, o.Kind, o.Ref, o.Items(), millis(time.Now()))
	return id, errors.Join(err, carry(ctx, tx, id, o))
}

// carry notes that these listens are carried by a delivery, whichever carried them before.
func carry(ctx context.Context, tx *sql.Tx, id int64, o delivery.Order) error {
	const width = 4
	args := make([]any, 0, len(o.Listens)*width)
	for _, listen := range o.Listens {
		args = append(args, listen, o.Provider, o.User, id)
	}
	return insertRows(ctx, tx, "INSERT INTO forwards (listen_id, provider, user_id, delivery_id)", width, args,
		"ON CONFLICT (listen_id, provider) DO UPDATE SET delivery_id = excluded.delivery_id")
}

// redrive makes a delivery that is dead, or waits for its next attempt, due with all its attempts before it. It says
// whether there was one in these states.
func redrive(ctx context.Context, tx *sql.Tx, id int64, states ...delivery.State) (bool, error) {
	result, err := tx.ExecContext(ctx, `UPDATE river_job SET state = 'available', attempt = 0, finalized_at = NULL, scheduled_at = $1
		WHERE id = $2 AND state IN (`+riverStates(states)+")", riverTime(time.Now().Add(redriveIn)), id)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// redriveIn is how soon what is re-driven is due: not before River has noted how the attempt before ended.
const redriveIn = time.Second

// rule is one row of forwarding.
type rule struct {
	provider, kind string
	batch          int
	from, oldest   int64
}

// takes says whether a play is carried at all.
func (r rule) takes(p stored, now time.Time) bool {
	return p.fresh && !p.guess && millis(p.at) >= r.from && (r.oldest == 0 || now.Sub(p.at).Milliseconds() <= r.oldest)
}

func rules(ctx context.Context, q querier, user int64) ([]rule, error) {
	scan := func(r scanner) (v rule, err error) {
		return v, r.Scan(&v.provider, &v.kind, &v.batch, &v.from, &v.oldest)
	}
	return list(ctx, q, scan, "SELECT provider, kind, batch, from_at, oldest FROM forwarding WHERE user_id = $1 ORDER BY provider", user)
}

// stored is a listen that has just been stored, or has got another source.
type stored struct {
	id    int64
	at    time.Time // as the listen has it
	fresh bool      // a new listen, not one that was known from another provider
	guess bool      // its time is a guess
}

// owe writes down what follows from plays that have just been stored: they are owed to whom their person wants them
// carried, except to the provider that told of them.
func (s *Store) owe(ctx context.Context, tx *sql.Tx, user int64, from string, plays []stored) error {
	all, err := rules(ctx, tx, user)
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.kind == delivery.Archive {
			err = errors.Join(err, s.oweMonths(ctx, tx, user, r.provider, plays))
			continue
		}
		if r.provider == from {
			continue
		}
		now := time.Now()
		var news, history []int64
		for _, p := range plays {
			switch {
			case !r.takes(p, now):
			case now.Sub(p.at) > newsFor:
				history = append(history, p.id)
			default:
				news = append(news, p.id)
			}
		}
		o := delivery.Order{User: user, Provider: r.provider, Kind: r.kind}
		err = errors.Join(err, s.oweListens(ctx, tx, o, news, r.batch))
		o.History = true
		err = errors.Join(err, s.oweListens(ctx, tx, o, history, r.batch))
	}
	return err
}

// newsFor is how long after it was played a listen goes out before those that are history.
const newsFor = 24 * time.Hour

func (s *Store) oweListens(ctx context.Context, tx *sql.Tx, o delivery.Order, ids []int64, batch int) error {
	for chunk := range slices.Chunk(ids, batch) {
		o.Listens = chunk
		if _, err := s.enqueue(ctx, tx, o); err != nil {
			return err
		}
	}
	return nil
}

// Queues returns the names of the queues in which something waits, or may come to wait.
func (s *Store) Queues(ctx context.Context) ([]string, error) {
	scan := func(r scanner) (name string, err error) { return name, r.Scan(&name) }
	names, err := list(ctx, s.reader, scan, "SELECT DISTINCT queue FROM river_job WHERE state IN ('available', 'scheduled', 'retryable', 'running')")
	if err != nil {
		return nil, err
	}
	type owner struct {
		user     int64
		provider string
	}
	owners, err := list(ctx, s.reader, func(r scanner) (v owner, err error) { return v, r.Scan(&v.user, &v.provider) },
		"SELECT user_id, provider FROM forwarding UNION SELECT user_id, provider FROM copies")
	for _, o := range owners {
		names = append(names, delivery.QueueOf(o.provider, o.user))
	}
	type channel struct{ user, id int64 }
	channels, e := list(ctx, s.reader, func(r scanner) (v channel, err error) { return v, r.Scan(&v.user, &v.id) }, "SELECT user_id, id FROM channels")
	for _, c := range channels {
		names = append(names, delivery.QueueOf(delivery.ChannelName(c.id), c.user))
	}
	err = errors.Join(err, e)
	slices.Sort(names)
	return slices.Compact(names), err
}

// oweMonths notes that the months of these plays have changed.
func (s *Store) oweMonths(ctx context.Context, tx *sql.Tx, user int64, provider string, plays []stored) error {
	months := map[string]bool{}
	for _, p := range plays {
		months[delivery.MonthOf(p.at)] = true
	}
	var errs []error
	for month := range months {
		errs = append(errs, s.oweCopy(ctx, tx, delivery.Order{User: user, Provider: provider, Kind: delivery.Archive, Ref: month,
			Due: time.Now().Add(time.Duration(s.archiveEvery.Load()))}))
	}
	return errors.Join(errs...)
}

// oweCopy notes that ours has changed, and that its copy is to be written again.
func (s *Store) oweCopy(ctx context.Context, tx *sql.Tx, o delivery.Order) error {
	err := execTx(ctx, tx, `INSERT INTO copies (user_id, provider, kind, ref, wanted, written) VALUES ($1, $2, $3, $4, 1, 0)
		ON CONFLICT (user_id, provider, kind, ref) DO UPDATE SET wanted = copies.wanted + 1`, o.User, o.Provider, o.Kind, o.Ref)
	if err != nil {
		return err
	}
	_, err = s.enqueue(ctx, tx, o)
	return err
}

// SetArchiveEvery says how long a month of the archive waits for more before it is written again.
func (s *Store) SetArchiveEvery(d time.Duration) { s.archiveEvery.Store(int64(d)) }
