package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"reprise/internal/activity"
	"reprise/internal/config"
	"reprise/internal/digest"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/openai"
	"reprise/internal/providers/youtube"
	"reprise/internal/resilience"
	"reprise/internal/store"
)

// newYouTube makes the provider, with a client of its own for what goes by the installation's keys, if there are any.
func newYouTube(ctx context.Context, c config.Config, db *store.Store, client *http.Client, n counts, log *slog.Logger) (*providers.Provider, error) {
	y := youtubeConfig(c)
	t := &resilience.KeyTransport{Put: youtube.PutKey, Advice: youtube.KeyAdvice, Spent: youtube.SpentAdvice}
	var err error
	y.Public, y.Keys, err = keyed(ctx, "youtube", c.YouTube.Keys, c, db, client, t, n, log)
	return youtube.New(y), err
}

func youtubeConfig(c config.Config) youtube.Config {
	return youtube.Config{APIURL: c.YouTube.APIURL, AuthURL: c.YouTube.AuthURL, TokenURL: c.YouTube.TokenURL,
		ClientID: c.YouTube.ClientID, ClientSecret: string(c.YouTube.ClientSecret)}
}

// newDigests returns the writer of the weekly digests.
func newDigests(ctx context.Context, c config.Config, db *store.Store, client *http.Client, guard digest.Guard, bus *events.Bus, n counts, log *slog.Logger) (*digest.Runner, error) {
	opt := digest.Options{Late: latePlays}
	if u, err := url.Parse(c.OpenAI.APIURL); err == nil {
		opt.Host = u.Host
	}
	if c.OpenAI.PriceIn != nil && c.OpenAI.PriceOut != nil {
		opt.Prices = digest.Prices{In: *c.OpenAI.PriceIn, Out: *c.OpenAI.PriceOut, Currency: c.OpenAI.Currency}
	}
	if c.OpenAI.Model == "" {
		return digest.New(digest.Config{Options: opt, Guard: guard, Store: db, Bus: bus, Log: log}), nil
	}
	t := &resilience.KeyTransport{Put: openai.PutKey, Advice: openai.KeyAdvice, Spent: openai.SpentAdvice}
	with, pool, err := keyed(ctx, "openai", c.OpenAI.Keys, c, db, client, t, n, log)
	if err != nil {
		return nil, err
	}
	model := openai.New(cmp.Or(with, client), openai.Config{APIURL: c.OpenAI.APIURL, Model: c.OpenAI.Model})
	return digest.New(digest.Config{
		Options:  opt,
		Provider: openai.Provider(pool),
		Model:    model,
		Guard:    guard,
		Store:    db,
		Bus:      bus,
		Log:      log,
	}), nil
}

// latePlays is how long to wait after a week ends for late plays.
const latePlays = 3 * time.Hour

// keyed completes t with a pool of these keys, whose waits are kept across restarts, and returns a client on it; nothing
// without keys.
func keyed(ctx context.Context, name string, keys []resilience.PoolKey, c config.Config, db *store.Store, client *http.Client, t *resilience.KeyTransport, n counts, log *slog.Logger) (*http.Client, *resilience.KeyPool, error) {
	if len(keys) == 0 {
		return nil, nil, nil
	}
	waits, err := db.Cooldowns(ctx)
	if err != nil {
		return nil, nil, err
	}
	pool := resilience.NewKeyPool(name, keys, resilience.Options{Base: c.BackoffBase, Max: c.BackoffMax, Jitter: jitter(c.BackoffJitter)})
	pool.Restore(waits)
	t.Base, t.Pool = client.Transport, pool
	t.Save = func(ctx context.Context, begun []resilience.Cooldown) error {
		err := db.SaveCooldowns(ctx, begun)
		for _, w := range begun {
			if w.Until.IsZero() {
				err = errors.Join(err, db.Note(ctx, activity.Entry{Action: activity.KeyRefused, Connection: library.ConnectionID(name), Subject: w.LastFour}))
			}
		}
		return err
	}
	t.Failed = func(err error) { log.Error("waits of keys cannot be stored", "provider", name, "err", err) }
	t.Rotated = func(why resilience.Category) { n.Rotation(name, why) }
	return resilience.NewClient(t), pool, nil
}
