package weekly

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"reprise/internal/listening"
	"reprise/internal/notify"
	"reprise/internal/words"
)

const (
	// lookEvery is how often due reports are looked for.
	lookEvery = time.Hour
	// sendFrom is the hour on Monday at which a report becomes due: late enough for phones that were offline to have
	// reported their plays, and to wake nobody.
	sendFrom = 7
)

// Options are what Reports need.
type Options struct {
	Store    Store
	Pictures Pictures // nil for none
	Reader   func(ctx context.Context, user int64) context.Context
	Log      *slog.Logger
}

// Reports writes the weekly reports, and has them sent. Make it with New.
type Reports struct{ opt Options }

// New returns Reports.
func New(opt Options) *Reports {
	if opt.Pictures == nil {
		opt.Pictures = noPictures{}
	}
	if opt.Reader == nil {
		opt.Reader = func(ctx context.Context, _ int64) context.Context { return ctx }
	}
	return &Reports{opt}
}

// lastDue returns the Monday, as a date in UTC, of the latest week whose report is due at now, in the zone of now.
func lastDue(now time.Time) time.Time {
	monday := Monday(now)
	y, m, d := monday.Date()
	if now.Before(time.Date(y, m, d, sendFrom, 0, 0, 0, now.Location())) {
		monday = monday.AddDate(0, 0, -7)
	}
	return monday.AddDate(0, 0, -7)
}

// zone returns the time zone for what a person's channel sends.
func (r *Reports) zone(ctx context.Context, user int64, of notify.Wishes) *time.Location {
	return of.ZoneFor(r.opt.Reader(ctx, user))
}

// Switch turns a person's weekly report by a channel on or off. The first report is the next one to become due.
func (r *Reports) Switch(ctx context.Context, user, channel int64, on bool) error {
	var last time.Time
	if on {
		ch, err := r.opt.Store.Channel(ctx, user, channel)
		if err != nil {
			return err
		}
		if !ch.Reported.IsZero() {
			return nil
		}
		last = lastDue(time.Now().In(r.zone(ctx, user, ch.Wishes)))
	}
	return r.opt.Store.SwitchReport(ctx, user, channel, last)
}

// Run enqueues reports as they become due, until ctx ends.
func (r *Reports) Run(ctx context.Context) error {
	for ticker := time.NewTicker(lookEvery); ; {
		if err := r.look(ctx); err != nil && ctx.Err() == nil {
			r.opt.Log.Error("weekly reports cannot be enqueued", "err", err)
		}
		select {
		case <-ctx.Done():
			ticker.Stop()
			return nil
		case <-ticker.C:
		}
	}
}

// look enqueues the reports that are due. After a longer stop, that is the latest week's only.
func (r *Reports) look(ctx context.Context) error {
	all, err := r.opt.Store.ReportsWanted(ctx)
	for _, to := range all {
		zone := r.zone(ctx, to.User, notify.Wishes{Zone: to.Zone})
		due := lastDue(time.Now().In(zone))
		if !due.After(to.Week) {
			continue
		}
		span, e := listening.NewSpan(listening.Week, notify.DateIn(due, zone))
		if e == nil {
			to.Week = due
			e = r.opt.Store.EnqueueReport(ctx, to, span.From, span.To)
		}
		err = errors.Join(err, e)
	}
	return err
}

// Report implements notify.Reporter.
func (r *Reports) Report(
	ctx context.Context, user int64, monday time.Time, baseURL string,
) (m notify.Message, err error) {
	w, err := Of(ctx, r.opt.Store, user, monday, time.Now().In(monday.Location()))
	if err != nil {
		return m, err
	}
	if w.Found.Totals.Listens == 0 {
		return m, notify.ErrSilent
	}
	said := w.Say(ctx)
	l := letter{Said: said, Title: words.T(ctx, "week.subject", "Week", said.Week), URL: baseURL + Path(said.Monday),
		StopURL: baseURL + Path(said.Monday) + "#mail", Language: words.From(ctx).Code()}
	if m.Pictures, err = r.pictures(ctx, l.Lists); err != nil {
		return m, err
	}
	m.Title, m.Text, m.StopURL = l.Title, l.text(ctx), l.StopURL
	m.HTML, err = l.html(ctx)
	return m, err
}

// Path returns the path of the page of the week that begins on a Monday, given as a date.
func Path(monday string) string { return "/listening/weeks/" + monday }
