package sync

import (
	"context"
	"errors"

	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// DoForAll is Do for what is asked of a provider on behalf of the whole installation, such as facts about music: it
// belongs to no person's connection, and its trouble is told to the administrators. A failure about one item, and
// [library.ErrNotThere], are returned and change nothing.
func (g *Guard) DoForAll(ctx context.Context, p *providers.Provider, stream string, call func(context.Context) error) error {
	c := library.Connection{Provider: p.Name}
	key := keyOf(c, stream)
	o, made := g.attempt(ctx, p, key, 0, ofOneThing, call)
	ctx = context.WithoutCancel(ctx)
	switch {
	case !made, o.verdict.Class == resilience.Canceled, o.verdict.Failed() && o.change == resilience.Change{}:
		return o.err
	case o.verdict.Class == resilience.OK:
		if o.change.Kind == resilience.Recovered {
			g.noteRecovery(ctx, c, key, o.change.State)
		}
		return errors.Join(o.err, g.disprove(ctx, p, c, key))
	}
	return errors.Join(o.err, g.consequence(ctx, key, func(ctx context.Context) error {
		return g.failedForAll(ctx, p, stream, o.verdict, o.change, o.err)
	}))
}

// pages are where administrators see how the installation's own calls of a stream stand, and have them tried again.
var pages = map[string]string{library.Enrichment: "/settings#enrichment", library.Digest: "/digest"}

// failedForAll keeps and tells what a failure that changed something has led to. It may be repeated. A stop is not kept:
// a restart may try again.
func (g *Guard) failedForAll(ctx context.Context, p *providers.Provider, stream string, v resilience.Verdict, ch resilience.Change, err error) error {
	g.telling.Lock()
	defer g.telling.Unlock()
	c := library.Connection{Provider: p.Name}
	g.unsettle(p, c, ch)
	advice := adminAdvice(err)
	g.adviseApp(c, advice)
	var errs []error
	if ch.NewHold && !ofKeys(err) { // of the installation, whatever stream met it
		s := ch.State
		errs = append(errs, g.Store.SaveHold(ctx, resilience.Hold{Key: appKey(c), Category: s.Category, Since: s.Since, Until: s.Until}))
	}
	a := alert{provider: p, connection: c, category: v.Category, detail: resilience.Excerpt(err.Error()), page: pages[stream]}
	switch {
	case ch.Kind == resilience.BecameFatal:
		a.category = ch.State.Category
		a.cause = notify.Cause(a.category.String(), ch.State.Scope, stream)
		a.words, a.severity = notify.ExplainForAll(p, ch.State, advice), notify.Error
		errs = append(errs, g.noteTold(ctx, c, keyOf(c, stream), ch.State, activity.Stopped, a.words.Message, g.tellAdmins(ctx, a)))
	case ch.Kind == resilience.StillFailing:
		a.cause, a.words, a.severity = notify.CauseStill, notify.StillFailing(p, ch.State), notify.Warning
		errs = append(errs, g.noteTold(ctx, c, keyOf(c, stream), ch.State, activity.StillFailing, "", g.tellAdmins(ctx, a)))
	case ch.NewHold && v.Category == resilience.Quota:
		a.cause, a.words, a.severity = notify.CauseQuota, notify.ExplainForAll(p, ch.State, advice), notify.Warning
		errs = append(errs, g.tellAdmins(ctx, a))
	}
	if ch.NewHold {
		g.noteHold(ctx, c, keyOf(c, stream), ch.State)
	}
	return errors.Join(errs...)
}

// StateForAll is what stands against calls on behalf of the installation now, in words; no words when nothing does.
func (g *Guard) StateForAll(p *providers.Provider) (resilience.State, notify.Words) {
	c := library.Connection{Provider: p.Name}
	for _, stream := range p.Guarded() {
		if s := g.Backoff.State(keyOf(c, stream)); s.Kind != resilience.Ready {
			return s, notify.ExplainForAll(p, s, g.appAdvice(c))
		}
	}
	return resilience.State{}, notify.Words{}
}

// RetryForAll is an administrator's "Try again": it lifts a stop or a backoff of the installation's own calls, and says
// what stands against them still, if anything dictated does.
func (g *Guard) RetryForAll(ctx context.Context, p *providers.Provider) (resilience.State, bool) {
	if err := g.readmit(ctx, p); err != nil {
		g.Log.Error("refused keys cannot be taken back for good", "provider", p.Name, "err", err)
	}
	g.noteAnew(0, p.Name)
	g.note(ctx, activity.Entry{Action: activity.Retried, Provider: p.Name})
	for _, stream := range p.Guarded() {
		g.eager.Store(keyOf(library.Connection{Provider: p.Name}, stream), true)
	}
	return g.Backoff.Retry(appKey(library.Connection{Provider: p.Name}))
}
