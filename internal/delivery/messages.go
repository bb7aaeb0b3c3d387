package delivery

import (
	"context"
	"strconv"
	"strings"

	"reprise/internal/library"
)

// Messenger sends messages to channels outside the browser.
type Messenger interface {
	// Flush sends the messages that wait for a channel, as far as they may be sent now, and returns the id of the
	// newest one that it has seen. A *backoff.NotBeforeError says when the rest may be sent. attempt is the number
	// of the delivery's attempt.
	Flush(ctx context.Context, user, channel int64, attempt int) (seen int64, err error)
}

const channelPrefix = "channel-"

// ChannelName returns what deliveries to a channel have as their provider, so that each channel is parked and postponed
// by itself.
func ChannelName(id int64) library.ConnectionID {
	return library.ConnectionID(channelPrefix + strconv.FormatInt(id, 10))
}

// ChannelNumber is the inverse of ChannelName.
func ChannelNumber(name library.ConnectionID) (int64, bool) {
	digits, ok := strings.CutPrefix(string(name), channelPrefix)
	id, err := strconv.ParseInt(digits, 10, 64)
	return id, ok && err == nil
}

// Messages returns the delivery of the messages that wait for a channel.
func Messages(user, channel int64) Draft {
	return Draft{User: user, Connection: ChannelName(channel), Kind: Notify, Ref: strconv.FormatInt(channel, 10)}
}

// channel returns the id of the channel that the attempt's messages are for.
func (a *attempt) channel() int64 {
	id, _ := strconv.ParseInt(a.Ref, 10, 64) // ours
	return id
}

// messageDeliverer delivers the messages of channels.
type messageDeliverer struct {
	messenger Messenger
	store     endStore
}

// deliver sends the messages that wait for a channel. When another one has come meanwhile, it goes on at once.
func (d *messageDeliverer) deliver(ctx context.Context, a *attempt) (err error) {
	if a.seen, err = d.messenger.Flush(ctx, a.User, a.channel(), a.Number); err != nil {
		return err
	}
	ended, err := d.store.EndMessages(context.WithoutCancel(ctx), a.ID, a.channel(), 0, true)
	if err == nil && !ended {
		return errAgain
	}
	return err
}
