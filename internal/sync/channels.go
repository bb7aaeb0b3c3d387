package sync

import (
	"context"
	"errors"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// channelKey is where the backoff keeps a channel of a person, by the name that stands for it in its deliveries.
func channelKey(user int64, channel string) resilience.Key {
	return resilience.Key{User: user, Provider: channel, Stream: library.Deliveries}
}

// DoForChannel lets call send something by a channel of that name and kind, if it may be sent now; otherwise the error is
// a *resilience.NotBeforeError. generation is the channel's version: what comes of a call that began before a person
// changed it means nothing. A failure is returned with the change that it brought about; its consequences are the
// caller's to draw. One about a single message changes nothing.
func (g *Guard) DoForChannel(ctx context.Context, channel string, generation, user int64, kind string, call func(context.Context) error) (resilience.Change, error) {
	key := channelKey(user, channel)
	judge := func(err error) resilience.Verdict {
		v := ofOneThing(err)
		if v.FirstDelay == 0 {
			v.FirstDelay = g.FirstDelay
		}
		return v
	}
	p := &providers.Provider{Description: providers.Description{Name: kind, DisplayName: kind}}
	o, _ := g.attempt(ctx, p, key, generation, judge, call)
	if o.change.NewHold { // what is due earlier must know of it after a restart
		o.err = errors.Join(o.err, g.saveHold(context.WithoutCancel(ctx), key, o.change.State))
	}
	return o.change, o.err
}

// ChannelRenewed forgets what stood against a channel, because a person has changed it or a test went well.
func (g *Guard) ChannelRenewed(user int64, channel string, generation int64) {
	g.Backoff.Reconnected(channelKey(user, channel), generation)
}

// ChannelRemoved forgets a channel.
func (g *Guard) ChannelRemoved(user int64, channel string) { g.Backoff.Forget(user, channel) }
