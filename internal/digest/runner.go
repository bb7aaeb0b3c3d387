package digest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/riverqueue/river"

	"reprise/internal/bounded"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/queue"
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
	Queue() *queue.Queue
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
	c Config

	unsaved []Digest // answers that could not be stored yet; used by the job under way only

	mu   sync.Mutex
	next time.Time // when to look for what is due
}

// New returns a Runner.
func New(c Config) *Runner {
	if c.Every == 0 {
		c.Every = every
	}
	if c.Zone == nil {
		c.Zone = time.Local
	}
	return &Runner{c: c}
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

// Look has what is due written now.
func (r *Runner) Look() { r.lookAt(time.Time{}) }

// lookAt sets when to look up what is due.
func (r *Runner) lookAt(at time.Time) {
	r.mu.Lock()
	r.next = at
	r.mu.Unlock()
	r.c.Store.Queue().Look(Job{}.Kind())
}

// Job asks for the digest of a person's week.
type Job struct {
	User int64  `json:"user"`
	Week string `json:"week"` // see Digest
}

// Kind implements river.JobArgs.
func (Job) Kind() string { return "digest" }

// InsertOpts implements river.JobArgsWithInsertOpts.
func (j Job) InsertOpts() river.InsertOpts { return queue.Unique(j) }

// Run writes due digests, one after the other, until ctx ends. It returns an error if it cannot start.
func (r *Runner) Run(ctx context.Context) error {
	return queue.Work(ctx, r.c.Store.Queue(), queue.Crew[Job]{Work: r.work, AtOnce: 1,
		Grace: patience, Due: r.due, Log: r.c.Log,
		Failed: func(err error) { r.c.Log.Error("digests cannot be looked up", "err", err) }})
}

// due returns jobs for what is due, if it is time to look, and when it is time again.
func (r *Runner) due(ctx context.Context, _, now time.Time) (jobs []Job, next time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock() // a request that comes now is found, or sets r.next after this
	if r.next.After(now) {
		return nil, r.next, nil
	}
	if r.Provider() != nil {
		if jobs, err = r.jobs(ctx, now.In(r.c.Zone)); err != nil {
			return nil, r.next, err
		}
	}
	r.next = queue.Again(now, r.c.Every)
	return jobs, r.next, nil
}

// jobs returns a job for each digest that is due.
func (r *Runner) jobs(ctx context.Context, now time.Time) (all []Job, err error) {
	week := lastFull(now)
	for range goBack {
		due, err := r.c.Store.DueDigests(ctx, week)
		if err != nil {
			return nil, err
		}
		for _, d := range due {
			job := Job{d.User, d.Week} // what a person asked for is due in every week
			if (d.Asked || !now.Before(week.To.Add(r.c.Late))) && !slices.Contains(all, job) {
				all = append(all, job)
			}
		}
		week = week.Before()
	}
	return all, nil
}

// work works a job. A digest that could not be written is still due; it is tried again when that may help.
func (r *Runner) work(ctx context.Context, job *river.Job[Job]) error {
	defer func() {
		if p := recover(); p != nil {
			r.c.Log.Error("digest panicked", "err", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	err := r.writeDue(ctx, job.Args)
	if err != nil && ctx.Err() == nil {
		r.tell(job.Args.User)
		if at := r.again(err); !at.IsZero() {
			defer r.lookAt(at)
		}
	}
	return queue.End(context.WithoutCancel(ctx), r.c.Store.Queue(), job)
}

// again returns when to look again after a failure; zero for the next usual time.
func (r *Runner) again(err error) time.Time {
	if e, ok := errors.AsType[*backoff.NotBeforeError](err); ok {
		if e.State.Until.IsZero() { // until a person acts
			return time.Time{}
		}
		return time.Now().Add(max(time.Until(e.State.Until), time.Second))
	}
	if _, ok := errors.AsType[*resilience.LocalError](err); ok {
		r.c.Log.Error("digest cannot be stored", "err", err)
		return time.Now().Add(tryAgain)
	}
	return time.Now().Add(time.Second) // the guard then says how long to wait
}

func (r *Runner) writeDue(ctx context.Context, job Job) error {
	for len(r.unsaved) > 0 { // before paying for more
		if err := r.c.Store.SaveDigest(ctx, r.unsaved[0]); err != nil {
			return err
		}
		r.tell(r.unsaved[0].User)
		r.unsaved = r.unsaved[1:]
	}
	week, err := named(job.Week, r.c.Zone)
	if err != nil || r.Provider() == nil { // taken away meanwhile
		return err
	}
	return r.write(ctx, job, week)
}

// write writes one digest. After an error it is still due.
func (r *Runner) write(ctx context.Context, due Job, week Week) error {
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
func (r *Runner) stillDue(ctx context.Context, due Job, week Week) (bool, error) {
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
		out, err = model.Model.Complete(ctx, call, p)
		out.Text, out.Model = bounded.Cut(out.Text, longest, 4*longest), library.Name(out.Model)
		return err
	})
	return out, err
}
