package notify

import (
	"context"
	"errors"
	"time"

	"reprise/internal/words"
)

// ErrSilent reports that nothing was heard in a week, so that there is no report of it.
var ErrSilent = errors.New("nothing was heard in that week")

// Reporter writes weekly reports. It is implemented by weekly.Reports.
type Reporter interface {
	// Report returns a person's report of the week that begins at monday, in the language of ctx: its title, text and
	// HTML with pictures. baseURL is the address of this server. It returns ErrSilent for a week without listens.
	Report(ctx context.Context, user int64, monday time.Time, baseURL string) (Message, error)
}

// Picture is a picture in the HTML of a message, which refers to it as "cid:" followed by its ID.
type Picture struct {
	Name string // of the file
	Type string // media type
	Data []byte
}

// ID returns the picture's Content-ID within its message (RFC 2392).
func (p Picture) ID() string { return p.Name + "@reprise" }

// Subscription is a channel by which a person gets their weekly report.
type Subscription struct {
	User, Channel int64
	Zone          string    // of the channel, as in Wishes
	Week          time.Time // as Channel.Reported
}

// DateIn returns the time at which a date, given in UTC, begins in a zone.
func DateIn(date time.Time, zone *time.Location) time.Time {
	y, m, d := date.UTC().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, zone)
}

// report returns the report, as a channel sends it, of the week that begins on a Monday, given as a date.
func (c *post) report(ctx context.Context, ch Channel, monday time.Time) (Message, error) {
	if c.opt.Reader != nil {
		ctx = c.opt.Reader(ctx, ch.User)
	}
	zone := ch.ZoneFor(ctx)
	m, err := c.opt.Reporter.Report(words.WithZone(ctx, zone), ch.User, DateIn(monday, zone), c.baseURL())
	m.ID, m.Event, m.Severity, m.CreatedAt = idOf("report", ch.ID, monday.Unix()), Report, Info, time.Now()
	return m, err
}

// sendReport sends a waiting report. It drops the report if its week no longer has any listens.
func (c *Courier) sendReport(ctx context.Context, ch Channel, attempt int, w Waiting) error {
	m, err := c.report(ctx, ch, w.OpenedAt)
	if errors.Is(err, ErrSilent) {
		return c.opt.Store.MessagesDropped(ctx, ch.ID, []int64{w.ID})
	}
	if err != nil {
		return err
	}
	return c.sendOne(ctx, ch, attempt, m, []Waiting{w})
}

// SendReport sends the report of the week that begins on a Monday, given as a date, at once, even in quiet hours. It
// returns a *RefusedError if that fails, and ErrSilent for a week without listens.
func (c *Courier) SendReport(ctx context.Context, user, id int64, monday time.Time) error {
	ch, err := c.opt.Store.Channel(ctx, user, id)
	if err != nil {
		return err
	}
	m, err := c.report(ctx, ch, monday)
	if err != nil {
		return err
	}
	m.ID = idOf(m.ID, m.CreatedAt.UnixNano()) // so that it counts as another mail than Monday's
	return c.try(ctx, ch, m)
}
