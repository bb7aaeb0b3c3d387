package main

import (
	"context"
	"log/slog"
	"net/http"

	"reprise/internal/config"
	"reprise/internal/providers"
	"reprise/internal/providers/youtube"
	"reprise/internal/resilience"
	"reprise/internal/store"
)

// newYouTube makes the provider, with a client of its own for what goes by the installation's keys, if there are any.
func newYouTube(ctx context.Context, c config.Config, db *store.Store, client *http.Client, log *slog.Logger) (*providers.Provider, error) {
	y := youtube.Config{APIURL: c.YouTube.APIURL, AuthURL: c.YouTube.AuthURL, TokenURL: c.YouTube.TokenURL,
		ClientID: c.YouTube.ClientID, ClientSecret: string(c.YouTube.ClientSecret)}
	t := &resilience.KeyTransport{Put: youtube.PutKey, Advice: youtube.KeyAdvice}
	var err error
	y.Public, y.Keys, err = keyed(ctx, "youtube", c.YouTube.Keys, c, db, client, t, log)
	return youtube.New(y), err
}

// keyed completes t with a pool of these keys, whose waits are kept across restarts, and returns a client on it; nothing
// without keys.
func keyed(ctx context.Context, name string, keys []resilience.PoolKey, c config.Config, db *store.Store, client *http.Client, t *resilience.KeyTransport, log *slog.Logger) (*http.Client, *resilience.KeyPool, error) {
	if len(keys) == 0 {
		return nil, nil, nil
	}
	waits, err := db.Cooldowns(ctx)
	if err != nil {
		return nil, nil, err
	}
	pool := resilience.NewKeyPool(name, keys, resilience.Options{Base: c.BackoffBase, Max: c.BackoffMax, Jitter: jitter(c.BackoffJitter)})
	pool.Restore(waits)
	t.Base, t.Pool, t.Save = client.Transport, pool, db.SaveCooldowns
	t.Failed = func(err error) { log.Error("waits of keys cannot be stored", "provider", name, "err", err) }
	return resilience.NewClient(t), pool, nil
}
