package notify

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/words"
)

// Bounds of what is sent by a channel.
const (
	mostSingly  = 3  // waiting messages that are sent one by one; more become a digest
	floodMost   = 5  // sendings on a channel within floodSpan; what comes then is gathered
	floodErrors = 15 // the same while something that needs a person waits, and what else waits goes with it
	floodSpan   = 10 * time.Minute
	tooOld      = 3 * 24 * time.Hour
	sendWithin  = time.Minute     // how long the news of a recovery waits for what goes out because of it
	lookEvery   = 2 * time.Second // how often it looks whether that is done
	tellAfter   = 3               // failures in a row after which the browser says that a channel fails
)

// ErrUnsubscribed reports that a browser no longer accepts messages: its channel is removed.
var ErrUnsubscribed = errors.New("the browser does not want to be told any more")

// ErrNotYours reports that a channel is from the settings, and has to be changed there.
var ErrNotYours = errors.New("the channel stems from the settings")

// Sender sends messages. Its errors are those of the resilience package, or ErrUnsubscribed joined with one.
type Sender interface {
	Send(ctx context.Context, call resilience.Call, kind string, url resilience.Secret, m Message) error
}

// ChannelGuard decides whether a message may be sent now. It is implemented by sync.Guard.
type ChannelGuard interface {
	Do(context.Context, providers.Subject, func(context.Context, resilience.Call, providers.Adapter) error) error
	ChannelRenewed(user int64, channel library.ConnectionID, generation int64)
	ChannelRemoved(user int64, channel library.ConnectionID)
}

// ChannelStore keeps channels and their messages.
type ChannelStore interface {
	Channels(ctx context.Context, user int64) ([]Channel, error)
	// Channel returns library.ErrNotFound if there is none.
	Channel(ctx context.Context, user, id int64) (Channel, error)
	// AddChannel returns ErrCrowded if its person has MostChannels, unless it is from the settings.
	AddChannel(context.Context, Channel) (Channel, error)
	// ChangeChannel stores name, URL and wishes. The trouble of the channel is forgotten, and its messages are due.
	ChangeChannel(context.Context, Channel) (Channel, error)
	RemoveChannel(ctx context.Context, user, id int64) error
	// AdoptChannels makes these the only channels from the settings. They are the first administrator's; without one
	// it returns false. Notifications about channels that are removed are resolved.
	AdoptChannels(context.Context, []Channel) (bool, error)
	// WaitingMessages returns the messages to send, the oldest first, without those whose cause went before they were
	// sent.
	WaitingMessages(ctx context.Context, channel int64) ([]Waiting, error)
	// Sendings returns the times since then at which something was sent, the oldest first.
	Sendings(ctx context.Context, channel int64, since time.Time) ([]time.Time, error)
	// MessagesSent notes that these were sent together. It reports whether the channel had failed before, or still
	// has a notification.
	MessagesSent(ctx context.Context, channel int64, messages []int64) (recovered bool, err error)
	// MessagesDropped notes that these will not be sent.
	MessagesDropped(ctx context.Context, channel int64, messages []int64) error
	// ChannelFailed counts a failure and returns how many there were in a row.
	ChannelFailed(ctx context.Context, channel int64, category string, reason words.Text) (int, error)
	// ChannelStopped stops the channel, unless it has been changed since that version.
	ChannelStopped(ctx context.Context, channel, version int64, category string, reason words.Text) (bool, error)
}

// CourierOptions are what [NewCourier] needs.
type CourierOptions struct {
	Store    ChannelStore
	Sender   Sender
	Guard    ChannelGuard
	Notifier *Notifier
	Bus      *events.Bus
	Log      *slog.Logger
	BaseURL  string                           // as browsers reach the server, without a trailing slash
	Name     func(int64) library.ConnectionID // the name of a channel in its deliveries
	Service  func(string) string              // a provider's name as people know it
	// Reader returns a context for what a person reads outside the browser: their language and zone. Nil for English.
	Reader func(ctx context.Context, user int64) context.Context
	// Told counts what was sent; result is sent, failed or dropped. Nil for none.
	Told  func(severity, channel, result string)
	Named []Channel // of the settings, see Adopt
	// Reporter writes the weekly reports; nil if there are none.
	Reporter Reporter
}

// Courier tells people outside the browser. Safe for concurrent use; one Flush at a time per channel.
type Courier struct {
	post
	adding sync.Mutex
	named  atomic.Pointer[[]Channel] // the channels of the settings
}

// post draws the consequences of messages.
type post struct {
	opt  CourierOptions
	base *atomic.Pointer[string]
}

// baseURL returns the address of this server as browsers reach it now.
func (c *post) baseURL() string { return *c.base.Load() }

// BaseURL returns the address of this server that messages lead to now.
func (c *Courier) BaseURL() string { return c.baseURL() }

// Move changes CourierOptions.BaseURL.
func (c *Courier) Move(baseURL string) { c.base.Store(&baseURL) }

// NewCourier returns a Courier.
func NewCourier(opt CourierOptions) *Courier {
	c := &Courier{post: post{opt, &atomic.Pointer[string]{}}}
	c.Move(opt.BaseURL)
	c.named.Store(&opt.Named)
	return c
}

// ChannelCause is the cause of a notification about a channel, which is never sent by that channel.
func ChannelCause(id int64) string { return "channel " + number(id) }

// Flush sends the waiting messages of a channel, as far as they may be sent now, and returns the number of the newest
// message that it has seen. A *backoff.NotBeforeError names the time for the rest. attempt is the number of the
// delivery's attempt.
func (c *Courier) Flush(ctx context.Context, user, id int64, attempt int) (seen int64, err error) {
	ch, err := c.opt.Store.Channel(ctx, user, id)
	if errors.Is(err, library.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if !ch.StoppedAt.IsZero() {
		return 0, &backoff.NotBeforeError{State: backoff.State{Kind: backoff.Stopped,
			Category: resilience.ParseCategory(ch.Category), Since: ch.StoppedAt}}
	}
	all, err := c.opt.Store.WaitingMessages(ctx, id)
	if err != nil || len(all) == 0 {
		return 0, err
	}
	seen = all[len(all)-1].ID
	later := ch.quietUntil(time.Now())
	var now, reports []Waiting
	for _, w := range all {
		switch {
		case later.IsZero() && w.underWay():
		case !later.IsZero() && !(ch.ErrorsAtNight && w.Event == Opened && w.Severity == Error):
		case w.Event == Report:
			reports = append(reports, w)
		default:
			now = append(now, w)
		}
	}
	if later.IsZero() {
		later = time.Now().Add(lookEvery)
	}
	if err := c.send(ctx, ch, attempt, now); err != nil {
		return seen, err
	}
	for _, w := range reports {
		if err := c.sendReport(ctx, ch, attempt, w); err != nil {
			return seen, err
		}
	}
	if len(now)+len(reports) < len(all) {
		return seen, waitUntil(later)
	}
	return seen, nil
}

// underWay reports whether the message can say more in a moment, because what it is about to count is being sent.
func (w Waiting) underWay() bool { return !w.ToSend.IsZero() && time.Since(w.CreatedAt) < sendWithin }

func waitUntil(at time.Time) error {
	return &backoff.NotBeforeError{State: backoff.State{Kind: backoff.Waiting, Until: at}}
}

// send sends messages one by one, or as a digest if there are many.
func (c *Courier) send(ctx context.Context, ch Channel, attempt int, all []Waiting) error {
	var fresh, old []Waiting
	for _, w := range all {
		if time.Since(w.CreatedAt) > tooOld {
			old = append(old, w)
		} else {
			fresh = append(fresh, w)
		}
	}
	if len(all) == 0 {
		return nil
	}
	now := time.Now()
	lately, err := c.opt.Store.Sendings(ctx, ch.ID, now.Add(-floodSpan))
	if err != nil {
		return err
	}
	most := floodMost
	if slices.ContainsFunc(fresh, func(w Waiting) bool { return w.Event == Opened && w.Severity == Error }) {
		most = floodErrors
	}
	if len(lately) >= most {
		return waitUntil(lately[len(lately)-most].Add(floodSpan))
	}
	write := c.writerTo(ctx, ch)
	if len(old) > 0 || len(fresh) > mostSingly || len(fresh) > max(floodMost-len(lately), 1) {
		return c.sendOne(ctx, ch, attempt, write.digest(ch, fresh, len(old)), all)
	}
	for _, w := range fresh {
		if err := c.sendOne(ctx, ch, attempt, write.message(ch, w), []Waiting{w}); err != nil {
			return err
		}
	}
	return nil
}

// sendOne sends a message, and draws the consequences. A message that is refused for good is dropped, and the rest
// goes on.
func (c *Courier) sendOne(ctx context.Context, ch Channel, attempt int, m Message, of []Waiting) error {
	subject := providers.OfChannel(ch.User, c.opt.Name(ch.ID), ch.Kind, ch.Version)
	subject.Attempt = attempt
	err := c.opt.Guard.Do(ctx, subject, func(ctx context.Context, call resilience.Call, _ providers.Adapter) error {
		return c.opt.Sender.Send(ctx, call, ch.Kind, ch.URL, m)
	})
	ctx = context.WithoutCancel(ctx) // what was sent must be known as sent
	ids := make([]int64, len(of))
	for i := range of {
		ids[i] = of[i].ID
	}
	failure, _ := errors.AsType[*backoff.Failure](err)
	switch {
	case err == nil:
		return c.sent(ctx, ch, m, ids)
	case errors.Is(err, ErrUnsubscribed):
		return c.gone(ctx, ch)
	case failure == nil || failure.Verdict().Class == resilience.Canceled:
		return err
	}
	if _, waits := errors.AsType[*backoff.NotBeforeError](err); waits {
		return err
	}
	v := failure.Verdict()
	switch {
	case v.Scope == resilience.ScopeItem:
		c.told(m, ch, "dropped")
		return errors.Join(c.opt.Store.MessagesDropped(ctx, ch.ID, ids), c.failed(ctx, ch, v, err))
	case v.Class == resilience.Fatal || failure.Change.Kind == backoff.BecameFatal:
		c.told(m, ch, "failed")
		return c.stopped(ctx, ch, v, err)
	}
	c.told(m, ch, "failed")
	return errors.Join(err, c.failed(ctx, ch, v, err))
}

func (c *post) told(m Message, ch Channel, result string) {
	if c.opt.Told != nil {
		c.opt.Told(string(m.Severity), ch.Kind, result)
	}
}

func (c *post) sent(ctx context.Context, ch Channel, m Message, ids []int64) error {
	c.told(m, ch, "sent")
	recovered, err := c.opt.Store.MessagesSent(ctx, ch.ID, ids)
	if recovered {
		err = errors.Join(err, c.opt.Notifier.Resolve(ctx, ch.User, "", ChannelCause(ch.ID)))
	}
	c.publish(ch.User)
	return err
}

// gone removes the channel of a browser that no longer accepts messages.
func (c *post) gone(ctx context.Context, ch Channel) error {
	c.opt.Log.Info("browser has unsubscribed", "user_id", ch.User, "provider", ch.Kind)
	err := c.opt.Store.RemoveChannel(ctx, ch.User, ch.ID)
	if errors.Is(err, library.ErrNotFound) {
		err = nil
	}
	return errors.Join(err, c.forget(ctx, ch))
}

// failed stores a failure that passes by itself, and opens a notification if it does not.
func (c *post) failed(ctx context.Context, ch Channel, v resilience.Verdict, cause error) error {
	reason := troubleWith(ch, v, cause)
	n, err := c.opt.Store.ChannelFailed(ctx, ch.ID, v.Category.String(), reason)
	defer c.publish(ch.User)
	if err != nil || n < tellAfter {
		return err
	}
	return c.tell(ctx, ch, Warning, cause, failingWords(ch, reason, v.Scope == resilience.ScopeItem))
}

// stopped stores a failure that needs the person, and opens a notification. A channel that has been changed meanwhile
// is tried again.
func (c *post) stopped(ctx context.Context, ch Channel, v resilience.Verdict, cause error) error {
	reason := troubleWith(ch, v, cause)
	// Told first: after the stop nothing is sent that could find out again.
	if err := c.tell(ctx, ch, Error, cause, stoppedWords(ch, reason)); err != nil {
		return err
	}
	stopped, err := c.opt.Store.ChannelStopped(ctx, ch.ID, ch.Version, v.Category.String(), reason)
	if err != nil {
		return err
	}
	c.publish(ch.User)
	if !stopped {
		return errors.Join(waitUntil(time.Now().Add(time.Second)),
			c.opt.Notifier.Resolve(ctx, ch.User, "", ChannelCause(ch.ID)))
	}
	if v.Class == resilience.Fatal {
		return cause
	}
	return &backoff.NotBeforeError{State: backoff.State{Kind: backoff.Stopped, Category: v.Category}}
}

// tell opens a notification about a channel.
func (c *post) tell(ctx context.Context, ch Channel, s Severity, cause error, w Words) error {
	return c.opt.Notifier.Open(ctx, Notification{User: ch.User, Cause: ChannelCause(ch.ID), Severity: s,
		Category: resilience.VerdictOf(cause).Category.String(), Title: w.Title, Message: w.Message,
		Detail: resilience.Excerpt(cause.Error()), Instead: true,
		Action: Action{Label: words.New("alert.action.details"), URL: "/settings/notifications#channel-" +
			number(ch.ID)}})
}

// forget closes the notifications about a channel that works again, or has been removed.
func (c *post) forget(ctx context.Context, ch Channel) error {
	c.opt.Guard.ChannelRemoved(ch.User, c.opt.Name(ch.ID))
	err := c.opt.Notifier.Resolve(ctx, ch.User, "", ChannelCause(ch.ID))
	c.publish(ch.User)
	return err
}

// publish refreshes the person's pages.
func (c *post) publish(user int64) {
	c.opt.Bus.Publish(user, events.Event{Type: events.Deliveries})
}
