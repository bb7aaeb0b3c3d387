package sync

import (
	"context"
	"errors"
	"log/slog"

	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// channelKey is where the backoff keeps a channel of a person, by the name that stands for it in its deliveries.
func channelKey(user int64, channel string) resilience.Key {
	return resilience.Key{User: user, Provider: channel, Stream: providers.Deliveries}
}

// DoForChannel lets call send something by a channel of that name and kind, if it may be sent now; otherwise the error is
// a *resilience.NotBeforeError. generation is the channel's version: what comes of a call that began before a person
// changed it means nothing. A failure is returned with the change that it brought about; its consequences are the
// caller's to draw. One about a single message changes nothing.
func (g *Guard) DoForChannel(ctx context.Context, channel string, generation, user int64, kind string, call func(context.Context) error) (resilience.Change, error) {
	key := channelKey(user, channel)
	permit, state, ok := g.Backoff.Acquire(key, generation)
	if !ok {
		return resilience.Change{}, &resilience.NotBeforeError{State: state}
	}
	err := g.recovered(providers.Connection{User: user, Provider: kind}, &providers.Provider{DisplayName: kind}, func() error {
		return call(resilience.WithUser(ctx, user, kind))
	})
	v := resilience.Classify(err)
	if v.Scope == resilience.ScopeItem {
		v = resilience.Verdict{}
	}
	if v.FirstDelay == 0 {
		v.FirstDelay = g.FirstDelay
	}
	ch := permit.Done(v)
	g.count(kind, v)
	if v.Failed() {
		g.Log.Info("channel could not be told", slog.String("provider", kind), slog.Int64("user_id", user), slog.String("stream", channel),
			slog.String("class", v.Class.String()), slog.String("category", v.Category.String()), slog.String("err", resilience.Excerpt(err.Error())))
	}
	err = g.comeBack(err, key)
	if ch.NewHold { // what is due earlier must know of it after a restart
		err = errors.Join(err, g.saveHold(context.WithoutCancel(ctx), key, ch.State))
	}
	return ch, err
}

// ChannelRenewed forgets what stood against a channel, because a person has changed it or a test went well.
func (g *Guard) ChannelRenewed(user int64, channel string, generation int64) {
	g.Backoff.Reconnected(channelKey(user, channel), generation)
}

// ChannelRemoved forgets a channel.
func (g *Guard) ChannelRemoved(user int64, channel string) { g.Backoff.Forget(user, channel) }
