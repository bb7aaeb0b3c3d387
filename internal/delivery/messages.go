package delivery

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/riverqueue/river"
)

// Messenger tells people outside the browser.
type Messenger interface {
	// Flush sends what waits for a channel, as far as it may be sent now, and returns the number of the newest message
	// that it has seen. A *resilience.NotBeforeError says from when on the rest may be sent.
	Flush(ctx context.Context, user, channel int64) (seen int64, err error)
}

// MessageStore keeps what channels are to tell.
type MessageStore interface {
	// EndMessages ends the delivery of a channel's messages, as done or as dead, unless there are messages that were not
	// sent with a number above seen: then it returns false, and the delivery has to go on.
	EndMessages(ctx context.Context, id, channel, seen int64, done bool) (ended bool, err error)
	// DeferMessages lets the delivery, which is running, wait until then, under the same condition.
	DeferMessages(ctx context.Context, id, channel, seen int64, until time.Time) (deferred bool, err error)
	// ReleaseChannels makes due what is parked for channels that nothing stands against.
	ReleaseChannels(context.Context) error
}

// TellBy has deliveries of messages sent by m. It is called before Run, once.
func (d *Deliveries) TellBy(m Messenger) { d.tell = m }

const channelPrefix = "channel-"

// ChannelName is what stands in the place of a provider's name for a channel of a person: each is parked and
// postponed by itself.
func ChannelName(id int64) string { return channelPrefix + strconv.FormatInt(id, 10) }

// ChannelNumber is the inverse of ChannelName.
func ChannelNumber(name string) (int64, bool) {
	digits, ok := strings.CutPrefix(name, channelPrefix)
	id, err := strconv.ParseInt(digits, 10, 64)
	return id, ok && err == nil
}

// Messages is a delivery of the messages that wait for a channel.
func Messages(user, channel int64) Draft {
	return Draft{User: user, Provider: ChannelName(channel), Kind: Notify, Ref: strconv.FormatInt(channel, 10)}
}

func channelOf(p Payload) int64 {
	id, _ := strconv.ParseInt(p.Ref, 10, 64) // ours
	return id
}

// carryMessages sends what waits for a channel. When something has come meanwhile, it goes on at once.
func (d *Deliveries) carryMessages(ctx context.Context, j *job) (err error) {
	if d.tell == nil {
		return fmt.Errorf("no such kind of delivery: %q", j.Kind)
	}
	if j.wanted, err = d.tell.Flush(ctx, j.User, channelOf(j.Payload)); err != nil {
		return err
	}
	ended, err := d.store.EndMessages(context.WithoutCancel(ctx), j.ID, channelOf(j.Payload), 0, true)
	if err == nil && !ended {
		return errAgain
	}
	return err
}

// ChannelAdded has the queue of a new channel looked at.
func (d *Deliveries) ChannelAdded(ctx context.Context) error { return d.openQueues(ctx) }

// deferMessages lets messages wait, unless something has come that may be sent earlier.
func (d *Deliveries) deferMessages(ctx context.Context, j job, until time.Time) error {
	deferred, err := d.store.DeferMessages(context.WithoutCancel(ctx), j.ID, channelOf(j.Payload), j.wanted, until)
	switch {
	case err != nil:
		return err
	case !deferred:
		return river.JobSnooze(0)
	}
	return river.JobSnooze(max(time.Until(until), 0)) // it is noted already
}
