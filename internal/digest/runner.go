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

	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// Model writes.
type Model interface {
	Complete(context.Context, providers.Prompt) (providers.Completion, error)
}

// Guard stands before the model.
type Guard interface {
	Do(context.Context, providers.Subject, func(context.Context, providers.Adapter) error) error
}

// Store keeps digests and knows what was heard.
type Store interface {
	Weeks
	Wishes
}

// Weeks are what there is to write about, and what was written.
type Weeks interface {
	// DueDigests returns what is to be written: of whatever week somebody asked for by hand, and this one of those who
	// have wanted digests since before the end of the week after it, have none of it, and heard something in it.
	DueDigests(ctx context.Context, w Week) ([]Due, error)
	// Heard counts what a person heard in a week.
	Heard(ctx context.Context, user int64, w Week, most Limits) (Heard, error)
	// SaveDigest stores what was written, or why not, in the place of what there is of that week. What was spent on it
	// before is added to. What its person has deleted meanwhile stays deleted, and only what it cost is added.
	SaveDigest(ctx context.Context, d Digest) error
}

// Wishes are what people want.
type Wishes interface {
	// AskDigest notes that a person asked for a week's digest, or is ErrThere.
	AskDigest(ctx context.Context, d Digest) error
	// SwitchDigests notes whether a person wants digests.
	SwitchDigests(ctx context.Context, user int64, on bool, at time.Time) error
	// DeleteDigest deletes the words of a digest that has ended, or is library.ErrNotFound.
	DeleteDigest(ctx context.Context, user, id int64) error
}

// Due is a person of whose week something is to be written.
type Due struct {
	User  int64
	Week  string // see Digest
	Asked bool   // by hand
}

// Options are how a Runner works. The zero value is a good one.
type Options struct {
	Every  time.Duration  // how often to look for what is due, an hour by default
	Late   time.Duration  // how long after a week's end plays of it may still come in: it is not written about earlier
	Zone   *time.Location // whose Monday it is; the server's by default
	Prices Prices
	Host   string // of the model's server, to say where the prompt goes
}

const (
	every    = time.Hour
	goBack   = 4               // weeks that are looked at, so that a server that was off for a while writes about them
	patience = 5 * time.Second // that a stop waits for an answer under way: it is paid for
	tryAgain = time.Minute     // after trouble with the database
)

// Runner writes digests. Make it with New, and run it with Run. Safe for concurrent use.
type Runner struct {
	opt      Options
	provider *providers.Provider
	model    Model
	guard    Guard
	store    Store
	bus      *events.Bus
	log      *slog.Logger
	wake     chan struct{}

	unsaved []Digest // answers that could not be stored yet; only Run's
}

// New returns a Runner. A nil model means that the installation has none: then nothing is ever written.
func New(opt Options, p *providers.Provider, model Model, guard Guard, store Store, bus *events.Bus, log *slog.Logger) *Runner {
	r := &Runner{provider: p, model: model, guard: guard, store: store, bus: bus, log: log, wake: make(chan struct{}, 1)}
	r.Set(opt)
	return r
}

// Set changes the options. It must not be called while the Runner runs.
func (r *Runner) Set(opt Options) {
	if opt.Every == 0 {
		opt.Every = every
	}
	if opt.Zone == nil {
		opt.Zone = time.Local
	}
	r.opt = opt
}

// Options are those it works with.
func (r *Runner) Options() Options { return r.opt }

// Provider is the model's server as a provider; nil when the installation has no model.
func (r *Runner) Provider() *providers.Provider {
	if r.model == nil {
		return nil
	}
	return r.provider
}

// Week is the latest week that is over.
func (r *Runner) Week() Week { return LastFull(time.Now().In(r.opt.Zone)) }

// Preview is what would be sent about the last week, and how many plays there were in it.
func (r *Runner) Preview(ctx context.Context, user int64) (providers.Prompt, int, error) {
	h, err := r.store.Heard(ctx, user, r.Week(), usual)
	return promptOf(h, usual), h.Plays, err
}

// Ask lets the last week's digest of a person be written now. It is ErrThere when there is one, ErrSilent when there is
// nothing to write about, and ErrOff when there is nobody to write.
func (r *Runner) Ask(ctx context.Context, user int64) error {
	if r.model == nil {
		return ErrOff
	}
	week := r.Week()
	h, err := r.store.Heard(ctx, user, week, short)
	if err != nil {
		return err
	}
	if h.Plays == 0 {
		return ErrSilent
	}
	if err := r.store.AskDigest(ctx, Digest{User: user, Week: week.Name(), State: Waiting, CreatedAt: time.Now()}); err != nil {
		return err
	}
	r.tell(user)
	r.Look()
	return nil
}

// Switch says whether a person wants a digest every week, from the last full one on.
func (r *Runner) Switch(ctx context.Context, user int64, on bool) error {
	if err := r.store.SwitchDigests(ctx, user, on, time.Now()); err != nil {
		return err
	}
	r.tell(user)
	if on {
		r.Look()
	}
	return nil
}

// Delete deletes the words of a digest. Its week is not written about again unless its person asks for it.
func (r *Runner) Delete(ctx context.Context, user, id int64) error {
	err := r.store.DeleteDigest(ctx, user, id)
	if err == nil {
		r.tell(user)
	}
	return err
}

func (r *Runner) tell(user int64) { r.bus.Publish(user, events.Event{Type: events.Digest}) }

// Look lets Run look now for what is due.
func (r *Runner) Look() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run writes what is due, one digest after the other, until ctx ends. It returns an error when it cannot begin.
func (r *Runner) Run(ctx context.Context) error {
	if r.model == nil {
		<-ctx.Done()
		return nil
	}
	loop, err := gocron.NewScheduler(gocron.WithLogger(gocron.NewLogger(gocron.LogLevelError)), gocron.WithStopTimeout(15*time.Second))
	if err != nil {
		return fmt.Errorf("start digests: %w", err)
	}
	jitter := r.opt.Every / 10 // installations do not call in step
	_, err = loop.NewJob(gocron.DurationRandomJob(r.opt.Every-jitter, r.opt.Every+jitter), gocron.NewTask(r.Look),
		gocron.WithName("digests"), gocron.WithStartAt(gocron.WithStartImmediately()))
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

// look writes what is due now. The time is when to look again, if that is before the loop does.
func (r *Runner) look(ctx context.Context) (again time.Time) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("digest panicked", "err", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	err := r.writeDue(ctx)
	if err == nil || ctx.Err() != nil {
		return time.Time{}
	}
	if e, ok := errors.AsType[*resilience.NotBeforeError](err); ok {
		if e.State.Until.IsZero() { // it needs a person
			return time.Time{}
		}
		return later(e.State.Until, time.Now().Add(time.Second))
	}
	if _, ok := errors.AsType[*resilience.LocalError](err); ok {
		r.log.Error("digest cannot be stored", "err", err)
		return time.Now().Add(tryAgain)
	}
	return time.Now().Add(time.Second) // the guard says then how long to wait
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (r *Runner) writeDue(ctx context.Context) error {
	for len(r.unsaved) > 0 { // before anything else is paid for
		if err := r.store.SaveDigest(ctx, r.unsaved[0]); err != nil {
			return err
		}
		r.tell(r.unsaved[0].User)
		r.unsaved = r.unsaved[1:]
	}
	now := time.Now().In(r.opt.Zone)
	week := LastFull(now)
	for range goBack {
		due, err := r.store.DueDigests(ctx, week)
		if err != nil {
			return err
		}
		for _, d := range due {
			if !d.Asked && now.Before(week.To.Add(r.opt.Late)) {
				continue
			}
			of, err := named(d.Week, r.opt.Zone)
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

// write writes about one week of one person. An error leaves it due.
func (r *Runner) write(ctx context.Context, due Due, week Week) error {
	heard, err := r.store.Heard(ctx, due.User, week, usual)
	if err != nil {
		return err
	}
	d := Digest{User: due.User, Week: due.Week, State: Written, CreatedAt: time.Now()}
	if heard.Plays == 0 { // they were removed after it was asked for
		d.State, d.Reason = Failed, "What was heard in this week has been removed since, so there is nothing to write about."
		return r.keep(ctx, d)
	}
	for _, most := range []Limits{usual, short} {
		// Others' may have taken minutes: a person who has said no meanwhile is not written about.
		if now, dueErr := r.store.DueDigests(ctx, week); dueErr != nil || !slices.ContainsFunc(now, func(d Due) bool { return d.User == due.User && d.Week == due.Week }) {
			return dueErr
		}
		d.Prompt = promptOf(heard, most)
		before := d.Completion
		d.Completion, err = r.complete(ctx, d.Prompt)
		d.PromptTokens, d.CompletionTokens = d.PromptTokens+before.PromptTokens, d.CompletionTokens+before.CompletionTokens
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
		d.WrittenAt, d.Cost = time.Now(), r.opt.Prices.Of(d.Completion)
	}
	return r.keep(ctx, d)
}

// keep stores what has become of a digest.
func (r *Runner) keep(ctx context.Context, d Digest) error {
	if err := r.store.SaveDigest(context.WithoutCancel(ctx), d); err != nil {
		r.unsaved = append(r.unsaved, d)
		return err
	}
	r.log.Info("digest written", "user_id", d.User, "outcome", string(d.State))
	r.tell(d.User)
	return nil
}

// refusal says why a week was not written about.
func refusal(err error) string {
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && e.Meaning != nil && e.Meaning.Advice != "" {
		return e.Meaning.Advice
	}
	return "The model did not want to write about this week, or it was too much for it even in a few words."
}

func (r *Runner) complete(ctx context.Context, p providers.Prompt) (out providers.Completion, err error) {
	subject := providers.OfInstallation(r.provider, library.Digest)
	err = r.guard.Do(ctx, subject, func(ctx context.Context, _ providers.Adapter) error {
		ctx, cancel := patient(ctx)
		defer cancel()
		out, err = r.model.Complete(ctx, p)
		return err
	})
	return out, err
}

// patient is a context that ends a while after ctx does.
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
