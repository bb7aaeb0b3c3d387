package digest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/go-co-op/gocron/v2"

	"reprise/internal/bounded"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/words"
)

// Guard decides whether the model may be called. It is implemented by sync.Guard.
type Guard interface {
	Do(context.Context, providers.Subject, func(context.Context, resilience.Call, providers.Adapter) error) error
}

// Store keeps digests and listens.
type Store interface {
	weekStore
	wishStore
}

// weekStore is what writing needs.
type weekStore interface {
	// DueDigests returns the digests to write: every one that a person asked for, and that of week w for people who
	// heard something in it, have no digest of it, and had digests on before the following week ended.
	DueDigests(ctx context.Context, w Week) ([]Due, error)
	// Heard returns what a person heard in a week.
	Heard(ctx context.Context, user int64, w Week, most Limits) (Heard, error)
	// SaveDigest stores a written or failed digest in place of the week's earlier one, and adds their costs. If the
	// person has deleted the digest meanwhile it stays deleted, and only the cost is added.
	SaveDigest(ctx context.Context, d Digest) error
}

// wishStore is what people's requests need.
type wishStore interface {
	// AskDigest stores that a person asked for a week's digest, or returns ErrThere.
	AskDigest(ctx context.Context, d Digest) error
	// SwitchDigests stores whether a person wants digests.
	SwitchDigests(ctx context.Context, user int64, on bool, at time.Time) error
	// DeleteDigest deletes the text of a written or failed digest, or returns library.ErrNotFound.
	DeleteDigest(ctx context.Context, user, id int64) error
}

// Due is a digest to write.
type Due struct {
	User  int64
	Week  string // see Digest
	Asked bool   // the person asked for it
}

// Config is what a Runner works with. Nothing is written while no service is a language model that is set up.
type Config struct {
	Options
	Services *providers.Registry
	Guard    Guard
	Store    Store
	Bus      *events.Bus
	Log      *slog.Logger
	// Reader returns a context with the language that a person reads. Nil for English.
	Reader func(ctx context.Context, user int64) context.Context
}

// Options shape a Runner. The zero value has the defaults.
type Options struct {
	Every time.Duration  // how often to look for due digests, an hour by default
	Late  time.Duration  // how long to wait after a week's end for late listens
	Zone  *time.Location // of the weeks; the server's by default
}

const (
	every    = time.Hour
	goBack   = 4               // number of weeks to write about after the server was off
	patience = 5 * time.Second // for an answer under way during a stop, because it is paid for
	tryAgain = time.Minute     // wait after a failure of the database
)

// Runner writes digests. Make it with New, and run it with Run. It is safe for concurrent use.
type Runner struct {
	c    Config
	wake chan struct{}

	unsaved []Digest // answers that could not be stored yet; used by Run only
}

// New returns a Runner.
func New(c Config) *Runner {
	if c.Every == 0 {
		c.Every = every
	}
	if c.Zone == nil {
		c.Zone = time.Local
	}
	return &Runner{c: c, wake: make(chan struct{}, 1)}
}

// Options returns the options, with defaults filled in.
func (r *Runner) Options() Options { return r.c.Options }

// Provider returns the model's server as a provider; nil while the installation has no model.
func (r *Runner) Provider() *providers.Provider { return r.c.Services.Model() }

// Week returns the latest week that has ended.
func (r *Runner) Week() Week { return lastFull(time.Now().In(r.c.Zone)) }

// language returns the language in which a person's digests are written.
func (r *Runner) language(ctx context.Context, user int64) *words.Language {
	if r.c.Reader == nil {
		return words.English
	}
	return words.From(r.c.Reader(ctx, user))
}

// Preview returns the prompt for the last week, and the number of plays in it.
func (r *Runner) Preview(ctx context.Context, user int64) (providers.Prompt, int, error) {
	h, err := r.c.Store.Heard(ctx, user, r.Week(), usual)
	return promptOf(h, usual, r.language(ctx, user)), h.Plays, err
}

// Ask requests a person's digest of the last week. It returns ErrThere if there is one, ErrSilent if there is nothing
// to write about, and ErrOff if there is no model.
func (r *Runner) Ask(ctx context.Context, user int64) error {
	if r.Provider() == nil {
		return ErrOff
	}
	week := r.Week()
	h, err := r.c.Store.Heard(ctx, user, week, short)
	if err != nil {
		return err
	}
	if h.Plays == 0 {
		return ErrSilent
	}
	d := Digest{User: user, Week: week.Name(), State: Waiting, CreatedAt: time.Now()}
	if err := r.c.Store.AskDigest(ctx, d); err != nil {
		return err
	}
	r.tell(user)
	r.Look()
	return nil
}

// Switch turns a person's weekly digests on or off. The first one is about the last full week.
func (r *Runner) Switch(ctx context.Context, user int64, on bool) error {
	if err := r.c.Store.SwitchDigests(ctx, user, on, time.Now()); err != nil {
		return err
	}
	r.tell(user)
	if on {
		r.Look()
	}
	return nil
}

// Delete deletes the text of a digest. It is written again only if the person asks for it.
func (r *Runner) Delete(ctx context.Context, user, id int64) error {
	err := r.c.Store.DeleteDigest(ctx, user, id)
	if err == nil {
		r.tell(user)
	}
	return err
}

func (r *Runner) tell(user int64) { r.c.Bus.Publish(user, events.Event{Type: events.Digest}) }

// Look makes Run look for due digests now.
func (r *Runner) Look() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run writes due digests, one after the other, until ctx ends. It returns an error if it cannot start.
func (r *Runner) Run(ctx context.Context) error {
	quiet := gocron.WithLogger(gocron.NewLogger(gocron.LogLevelError))
	loop, err := gocron.NewScheduler(quiet, gocron.WithStopTimeout(15*time.Second))
	if err != nil {
		return fmt.Errorf("start digests: %w", err)
	}
	jitter := r.c.Every / 10 // so that installations do not call in step
	_, err = loop.NewJob(
		gocron.DurationRandomJob(r.c.Every-jitter, r.c.Every+jitter),
		gocron.NewTask(r.Look),
		gocron.WithName("digests"),
		gocron.WithStartAt(gocron.WithStartImmediately()),
	)
	if err != nil {
		return errors.Join(fmt.Errorf("start digests: %w", err), loop.Shutdown())
	}
	loop.Start()
	for ctx.Err() == nil {
		var again <-chan time.Time
		if at := r.look(ctx); !at.IsZero() {
			again = time.After(time.Until(at))
		}
		select {
		case <-ctx.Done():
		case <-r.wake:
		case <-again:
		}
	}
	return loop.Shutdown()
}

// look writes what is due now. It returns when to look again, or zero for the loop's next time.
func (r *Runner) look(ctx context.Context) (again time.Time) {
	defer func() {
		if p := recover(); p != nil {
			r.c.Log.Error("digest panicked", "err", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	if r.Provider() == nil {
		return time.Time{}
	}
	err := r.writeDue(ctx)
	if err == nil || ctx.Err() != nil {
		return time.Time{}
	}
	if e, ok := errors.AsType[*backoff.NotBeforeError](err); ok {
		if e.State.Until.IsZero() { // until a person acts
			return time.Time{}
		}
		return later(e.State.Until, time.Now().Add(time.Second))
	}
	if _, ok := errors.AsType[*resilience.LocalError](err); ok {
		r.c.Log.Error("digest cannot be stored", "err", err)
		return time.Now().Add(tryAgain)
	}
	return time.Now().Add(time.Second) // the guard then says how long to wait
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (r *Runner) writeDue(ctx context.Context) error {
	for len(r.unsaved) > 0 { // before paying for more
		if err := r.c.Store.SaveDigest(ctx, r.unsaved[0]); err != nil {
			return err
		}
		r.tell(r.unsaved[0].User)
		r.unsaved = r.unsaved[1:]
	}
	now := time.Now().In(r.c.Zone)
	week := lastFull(now)
	for range goBack {
		due, err := r.c.Store.DueDigests(ctx, week)
		if err != nil {
			return err
		}
		for _, d := range due {
			if !d.Asked && now.Before(week.To.Add(r.c.Late)) {
				continue
			}
			of, err := named(d.Week, r.c.Zone)
			if err != nil {
				return err
			}
			if err := r.write(ctx, d, of); err != nil {
				r.tell(d.User)
				return err
			}
		}
		week = week.Before()
	}
	return ctx.Err()
}

// write writes one digest. After an error it is still due.
func (r *Runner) write(ctx context.Context, due Due, week Week) error {
	heard, err := r.c.Store.Heard(ctx, due.User, week, usual)
	if err != nil {
		return err
	}
	d := Digest{User: due.User, Week: due.Week, State: Written, CreatedAt: time.Now()}
	model := r.Provider()
	if model == nil { // taken away meanwhile
		return ErrOff
	}
	if heard.Plays == 0 {
		d.State = Failed
		d.Reason = words.New("digest.failed.removed")
		return r.keep(ctx, d)
	}
	language := r.language(ctx, due.User)
	d.Language = language.Code()
	for _, most := range []Limits{usual, short} {
		// Earlier digests may have taken minutes, in which the person may have changed their mind.
		if still, err := r.stillDue(ctx, due, week); err != nil || !still {
			return err
		}
		d.Prompt = promptOf(heard, most, language)
		before := d.Completion
		d.Completion, err = r.complete(ctx, model, d.Prompt)
		d.PromptTokens += before.PromptTokens
		d.CompletionTokens += before.CompletionTokens
		if !resilience.IsItem(err) {
			break
		}
	}
	if err != nil && !resilience.IsItem(err) {
		return err
	}
	if err != nil {
		d.State, d.Reason, d.Detail = Failed, refusal(err), resilience.Excerpt(err.Error())
	}
	if err == nil || d.PromptTokens+d.CompletionTokens > 0 { // a refusal may have been paid for
		d.WrittenAt, d.Cost = time.Now(), pricesOf(model.Settings).of(d.Completion)
	}
	return r.keep(ctx, d)
}

// stillDue reports whether a digest is still to be written.
func (r *Runner) stillDue(ctx context.Context, due Due, week Week) (bool, error) {
	all, err := r.c.Store.DueDigests(ctx, week)
	same := func(d Due) bool { return d.User == due.User && d.Week == due.Week }
	return slices.ContainsFunc(all, same), err
}

// keep stores a written or failed digest, now or later.
func (r *Runner) keep(ctx context.Context, d Digest) error {
	if err := r.c.Store.SaveDigest(context.WithoutCancel(ctx), d); err != nil {
		r.unsaved = append(r.unsaved, d)
		return err
	}
	r.c.Log.Info("digest written", "user_id", d.User, "outcome", string(d.State))
	r.tell(d.User)
	return nil
}

// refusal returns why the model did not write, for a person.
func refusal(err error) words.Text {
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && !words.Of(e.Advice()).IsZero() {
		return words.Of(e.Advice())
	}
	return words.New("digest.failed.refused")
}

// longest is the most letters of a text that are kept; the prompt asks for some hundred words.
const longest = 20_000

func (r *Runner) complete(
	ctx context.Context, model *providers.Provider, p providers.Prompt,
) (out providers.Completion, err error) {
	subject := providers.OfInstallation(model, library.Digest)
	err = r.c.Guard.Do(ctx, subject, func(ctx context.Context, call resilience.Call, _ providers.Adapter) error {
		ctx, cancel := patient(ctx)
		defer cancel()
		out, err = model.Model.Complete(ctx, call, p)
		out.Text, out.Model = bounded.Cut(out.Text, longest, 4*longest), library.Name(out.Model)
		return err
	})
	return out, err
}

// patient returns a context that ends a while after ctx does.
func patient(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(patience):
			cancel()
		case <-longer.Done():
		}
	})
	return longer, func() {
		stop()
		cancel()
	}
}
