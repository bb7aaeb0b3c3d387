package notify

import (
	"context"
	"errors"
	"slices"
	"time"

	"reprise/internal/library"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// RefusedError reports that a channel did not take a message, with the reason in words. Nothing was stored.
type RefusedError struct {
	Reason words.Text
	Err    error
}

func (e *RefusedError) Error() string { return e.Err.Error() }
func (e *RefusedError) Unwrap() error { return e.Err }

// Add proves a channel by a first message and stores it. If the message fails, the error is a *RefusedError.
func (c *Courier) Add(ctx context.Context, ch Channel) (Channel, error) {
	hello := c.test(ctx, words.New("message.hello.title"), words.New("message.hello.text"), ch)
	if err := c.try(ctx, ch, hello); err != nil {
		return ch, err
	}
	ch.CreatedAt, ch.LastSentAt, ch.Version = time.Now(), time.Now(), 1
	ch, err := c.add(ctx, ch)
	c.publish(ch.User)
	return ch, err
}

// add stores a channel, unless it is there already: a channel that is added twice at once is stored once.
func (c *Courier) add(ctx context.Context, ch Channel) (Channel, error) {
	c.adding.Lock()
	defer c.adding.Unlock()
	have, err := c.opt.Store.Channels(ctx, ch.User)
	if err != nil {
		return ch, err
	}
	if i := slices.IndexFunc(have, func(o Channel) bool { return o.URL == ch.URL }); i >= 0 {
		return have[i], nil
	}
	return c.opt.Store.AddChannel(ctx, ch)
}

// Change stores another name, address or other wishes. A new address is proved first. The trouble of the channel is
// forgotten, and its waiting messages are sent.
func (c *Courier) Change(ctx context.Context, ch Channel) (Channel, error) {
	old, err := c.opt.Store.Channel(ctx, ch.User, ch.ID)
	switch {
	case err != nil:
		return ch, err
	case old.FromSettings:
		return ch, ErrNotYours
	}
	if ch.URL != old.URL {
		if err := c.try(ctx, ch, c.test(ctx, words.New("message.hello.title"),
			words.New("message.hello.text"), ch)); err != nil {
			return ch, err
		}
	}
	return c.renew(ctx, ch)
}

func (c *Courier) renew(ctx context.Context, ch Channel) (Channel, error) {
	ch, err := c.opt.Store.ChangeChannel(ctx, ch)
	if err != nil {
		return ch, err
	}
	c.opt.Guard.ChannelRenewed(ch.User, c.opt.Name(ch.ID), ch.Version)
	err = c.opt.Notifier.Resolve(ctx, ch.User, "", ChannelCause(ch.ID))
	c.publish(ch.User)
	return ch, err
}

// Remove forgets a channel and its waiting messages.
func (c *Courier) Remove(ctx context.Context, user, id int64) error {
	ch, err := c.opt.Store.Channel(ctx, user, id)
	switch {
	case err != nil:
		return err
	case ch.FromSettings:
		return ErrNotYours
	}
	return errors.Join(c.opt.Store.RemoveChannel(ctx, user, id), c.forget(ctx, ch))
}

// AddressLost says why a channel is stopped whose address was sealed with a lost key.
func AddressLost() words.Text { return words.New("message.address_lost") }

// AskAgain tells the people of channels whose address was lost that they have to enter it again. Only news are
// announced, so it may be called at every start.
func (c *Courier) AskAgain(ctx context.Context, lost []Channel) (err error) {
	for _, ch := range lost {
		cause := &resilience.LocalError{
			Problem: AddressLost(),
			Err:     errors.New("sealed with a lost secret key"),
		}
		err = errors.Join(err, c.tell(ctx, ch, Error, cause, stoppedWords(ch, AddressLost())))
	}
	return err
}

// Leave removes the channels of a person whose account is being removed. It may be called again.
func (c *Courier) Leave(ctx context.Context, user int64) error {
	all, err := c.opt.Store.Channels(ctx, user)
	for _, ch := range all {
		if e := c.opt.Store.RemoveChannel(ctx, user, ch.ID); !errors.Is(e, library.ErrNotFound) {
			err = errors.Join(err, e)
		}
		err = errors.Join(err, c.forget(ctx, ch))
	}
	return err
}

// SendTest sends a message at once, whatever the hour. If it succeeds, the trouble of the channel is forgotten.
func (c *Courier) SendTest(ctx context.Context, user, id int64) error {
	ch, err := c.opt.Store.Channel(ctx, user, id)
	if err != nil {
		return err
	}
	message := c.test(ctx, words.New("message.test.title"), words.New("message.test.text"), ch)
	if err := c.try(ctx, ch, message); err != nil {
		if errors.Is(err, ErrUnsubscribed) {
			err = errors.Join(err, c.gone(context.WithoutCancel(ctx), ch))
		}
		return err
	}
	ctx = context.WithoutCancel(ctx)
	now, err := c.opt.Store.Channel(ctx, user, id)
	// Another version was tested, or there is no trouble.
	if err != nil || now.Version != ch.Version || now.Failures == 0 && now.StoppedAt.IsZero() {
		return err
	}
	_, err = c.renew(ctx, now)
	return err
}

func (c *Courier) test(ctx context.Context, title, text words.Text, ch Channel) Message {
	now, write := time.Now(), c.writerTo(ctx, ch)
	return Message{ID: idOf("test", ch.User, ch.ID, now.UnixNano()), Event: Test, Severity: Info,
		Title: write.say(title), Text: write.say(text), URL: c.baseURL() + "/settings/notifications", CreatedAt: now}
}

// patience is how long a person waits for a test before the page says what has become of it.
const patience = 30 * time.Second

// try sends one message now.
func (c *Courier) try(ctx context.Context, ch Channel, m Message) error {
	trying, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	call := resilience.Call{User: ch.User, Provider: ch.Kind, Proof: true, Eager: true,
		Effect: resilience.Read} // a test that arrives twice does no harm
	err := c.opt.Sender.Send(trying, call, ch.Kind, ch.URL, m)
	v := resilience.VerdictOf(err)
	switch {
	case err == nil:
		c.told(m, ch, "sent")
		return nil
	case v.Class == resilience.Canceled:
		return err
	}
	c.told(m, ch, "failed")
	return &RefusedError{Reason: troubleWith(ch, v, err), Err: err}
}

// AdoptAgain gives the channels of the settings to the first administrator, who may be another person now.
func (c *Courier) AdoptAgain(ctx context.Context) error {
	return c.Adopt(ctx, *c.named.Load())
}

// Adopt makes these the channels of the settings. They are the first administrator's, once there is one.
func (c *Courier) Adopt(ctx context.Context, all []Channel) error {
	c.named.Store(&all)
	_, err := c.opt.Store.AdoptChannels(ctx, all)
	return err
}

// All returns a person's channels, the oldest first.
func (c *Courier) All(ctx context.Context, user int64) ([]Channel, error) {
	return c.opt.Store.Channels(ctx, user)
}

// One returns a person's channel; library.ErrNotFound if there is none.
func (c *Courier) One(ctx context.Context, user, id int64) (Channel, error) {
	if id == 0 {
		return Channel{}, library.ErrNotFound
	}
	return c.opt.Store.Channel(ctx, user, id)
}
