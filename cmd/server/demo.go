package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/channels"
	"reprise/internal/cli"
	"reprise/internal/config"
	"reprise/internal/demo"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/oauth"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
)

// The intervals of the demo, which shows in a minute what takes hours elsewhere.
const (
	demoPlay     = 12 * time.Second
	demoListens  = "5s"
	demoPlaylist = "20s"
	demoEnrich   = "10s"
	demoBackoff  = "2s"
	demoMax      = "20s"
	demoCooldown = "10s"
	demoDigest   = 15 * time.Second
)

// runDemo serves with simulated services and a household that has connected them. It removes its folder at the end.
func runDemo(
	ctx context.Context, o cli.Options, environ []string, overrides map[string]string, at console,
) (err error) {
	if o.DataDir == "" {
		dir, err := os.MkdirTemp("", "reprise-demo-")
		if err != nil {
			return fmt.Errorf("make a folder for the demo: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		overrides["data_dir"] = dir
	}
	world, err := demo.Start(demo.Options{Seed: 1, Live: demoPlay})
	if err != nil {
		return fmt.Errorf("start simulated services: %w", err)
	}
	defer world.Close()
	maps.Copy(overrides, demoSettings(world))
	levelSet := func(line string) bool { return strings.HasPrefix(line, "REPRISE_LOG_LEVEL=") }
	if o.Config == "" && !slices.ContainsFunc(environ, levelSet) {
		overrides["log.level"] = "warn" // or attempts at simulated services would hide the link
	}
	return serve(ctx, start{layers: config.Read(o.Config, environ, overrides, registry.Descriptions()),
		furnish: func(ctx context.Context, a *app) (demoPages, error) { return furnish(ctx, a, world) }}, at)
}

// demoSettings returns the settings for the simulated services, with the intervals of the demo.
func demoSettings(world *demo.World) map[string]string {
	settings := world.Settings()
	maps.Copy(settings, map[string]string{"breaker.failures": "3", "breaker.cooldown": demoCooldown,
		"sync.listens_every": demoListens, "sync.playlists_every": demoPlaylist, "sync.enrich_every": demoEnrich,
		"backoff.base": demoBackoff, "backoff.max": demoMax})
	return settings
}

// furnish creates the demo's account and connects its services, by the calls that a person's clicks make.
func furnish(ctx context.Context, a *app, world *demo.World) (demoPages, error) {
	alice, err := a.accounts.Create(ctx, "Alice", world.Navidrome.Password(demo.Alice), accounts.Admin, true)
	if err != nil {
		return demoPages{}, fmt.Errorf("the demo needs an empty data directory: %w", err)
	}
	ctx = activity.WithActor(ctx, activity.Actor{ID: alice.ID, Name: alice.Name})
	token := world.Spotify.Authorize(demo.Alice, a.registry.Get("spotify").OAuth.Scopes...)
	now := time.Now()
	grant := oauth.Grant{Credentials: oauth.Credentials(token), AuthorizedAt: now.AddDate(0, -5, -10),
		ExpiresAt: now.AddDate(0, 0, 20)}
	if _, err := a.connections.ConnectOAuth(ctx, a.registry.Get("spotify"), alice.ID, grant); err != nil {
		return demoPages{}, fmt.Errorf("connect simulated Spotify: %w", err)
	}
	tube := a.registry.Get("youtube")
	grant = oauth.Grant{Credentials: oauth.Credentials(world.YouTube.Authorize(demo.Alice, tube.OAuth.Scopes...)),
		AuthorizedAt: now}
	if _, err := a.connections.ConnectOAuth(ctx, tube, alice.ID, grant); err != nil {
		return demoPages{}, fmt.Errorf("connect simulated YouTube: %w", err)
	}
	for name, fields := range map[string]library.Credentials{
		"lastfm":       {"session_key": world.LastFM.Authorize(demo.Alice)},
		"listenbrainz": {"token": world.ListenBrainz.Token(demo.Alice)},
		"navidrome": {"url": world.Navidrome.URL, "username": demo.Alice,
			"password": world.Navidrome.Password(demo.Alice)},
	} {
		if _, err := a.connections.Connect(ctx, a.registry.Get(name), library.Connection{User: alice.ID,
			ID: library.ConnectionID(name), Credentials: fields}); err != nil {
			return demoPages{}, fmt.Errorf("connect simulated %s: %w", name, err)
		}
	}
	if _, err := a.deliveries.Forward(ctx, alice.ID, "lastfm", false); err != nil {
		return demoPages{}, fmt.Errorf("forward to simulated Last.fm: %w", err)
	}
	if err := addChannels(ctx, a, world, alice.ID); err != nil {
		return demoPages{}, err
	}
	if err := a.digests.Switch(ctx, alice.ID, true); err != nil {
		return demoPages{}, fmt.Errorf("switch simulated digests on: %w", err)
	}
	return demoPages{world.Handler("/demo"), alice.ID}, nil
}

// addChannels sets up the channels of the demo's Alice.
func addChannels(ctx context.Context, a *app, world *demo.World, alice int64) error {
	for _, place := range []struct{ name, url string }{
		{"Alice's phone", world.Mailbox.NtfyURL},
		{"Alice's mailbox", world.Mailbox.MailURL},
		{"Alice's program", world.Mailbox.WebhookURL},
	} {
		kind, url, err := channels.Parse(place.url, "")
		if err == nil {
			_, err = a.server.Courier.Add(ctx, notify.Channel{User: alice, Kind: kind, Name: place.name,
				URL: resilience.Secret(url), Wishes: notify.DefaultWishes()})
		}
		if err != nil {
			return fmt.Errorf("set up %s: %w", place.name, err)
		}
	}
	return nil
}
