package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/cli"
	"reprise/internal/config"
	"reprise/internal/demo"
	"reprise/internal/library"
	"reprise/internal/oauth"
	"reprise/internal/providers/registry"
)

// The paces of the demo: a minute has to show what takes hours in life.
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

// runDemo serves with simulated services and a household that has connected them, in a folder that is removed at the
// end.
func runDemo(ctx context.Context, o cli.Options, environ []string, overrides map[string]string, stdout, stderr io.Writer) (err error) {
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
	if o.Config == "" && !slices.ContainsFunc(environ, func(line string) bool { return strings.HasPrefix(line, "REPRISE_LOG_LEVEL=") }) {
		overrides["log.level"] = "warn" // the link is not to drown in attempts at simulated services
	}
	c, err := config.Load(o.Config, environ, overrides, registry.Descriptions())
	if err != nil {
		return fmt.Errorf("the settings cannot be used:\n%w", err)
	}
	c.Simulated, c.DatabaseURL = true, "" // nothing of it gets where real data is kept
	return serve(ctx, c, func(ctx context.Context, a *app) error { return furnish(ctx, a, world) }, stdout, stderr)
}

// demoSettings lead to the simulated services, at the pace of the demo.
func demoSettings(world *demo.World) map[string]string {
	return map[string]string{
		"breaker.failures": "3", "breaker.cooldown": demoCooldown, "providers.lastfm.rate": "0", "providers.listenbrainz.rate": "0", "providers.musicbrainz.rate": "0",
		"sync.listens_every": demoListens, "sync.playlists_every": demoPlaylist, "sync.enrich_every": demoEnrich, "backoff.base": demoBackoff, "backoff.max": demoMax,
		"providers.spotify.api_url": world.Spotify.URL, "providers.spotify.auth_url": world.Spotify.AuthURL,
		"providers.spotify.token_url": world.Spotify.TokenURL, "providers.spotify.client_id": world.Spotify.ClientID,
		"providers.spotify.client_secret": "", "providers.lastfm.api_url": world.LastFM.URL, "providers.lastfm.auth_url": world.LastFM.AuthURL,
		"providers.lastfm.client_id": world.LastFM.ClientID, "providers.lastfm.client_secret": world.LastFM.ClientSecret,
		"providers.listenbrainz.api_url": world.ListenBrainz.URL, "contact": "demo@example.org",
		"providers.youtube.api_url": world.YouTube.URL, "providers.youtube.auth_url": world.YouTube.AuthURL,
		"providers.youtube.token_url": world.YouTube.TokenURL, "providers.youtube.client_id": world.YouTube.ClientID,
		"providers.youtube.client_secret": world.YouTube.ClientSecret, "providers.youtube.keys": strings.Join(world.YouTube.Keys, ","),
		"providers.musicbrainz.api_url": world.MusicBrainz.URL, "providers.fanarttv.api_url": world.FanartTV.URL,
		"providers.fanarttv.keys": strings.Join(world.FanartTV.Keys, ","), "providers.fanarttv.client_key": "",
		"providers.openai.api_url": world.OpenAI.URL, "providers.openai.keys": strings.Join(world.OpenAI.Keys, ","), "providers.openai.model": world.OpenAI.Model,
		"providers.openai.price_in": "0.15", "providers.openai.price_out": "0.60", "providers.openai.currency": "USD",
		"allow_private_upstreams": "true",
	}
}

// furnish makes the household's accounts and connects their services, each by the same calls that a person's clicks
// lead to.
func furnish(ctx context.Context, a *app, world *demo.World) error {
	alice, err := a.accounts.Create(ctx, "Alice", world.Navidrome.Password(demo.Alice), accounts.Admin, true)
	if err != nil {
		return fmt.Errorf("the demo needs an empty data directory: %w", err)
	}
	ctx = activity.WithActor(ctx, activity.Actor{ID: alice.ID, Name: alice.Name})
	token := world.Spotify.Authorize(demo.Alice, a.registry.Get("spotify").OAuth.Scopes...)
	now := time.Now()
	grant := oauth.Grant{Credentials: oauth.Credentials(token), AuthorizedAt: now.AddDate(0, -5, -10), ExpiresAt: now.AddDate(0, 0, 20)}
	if _, err := a.connections.ConnectOAuth(ctx, a.registry.Get("spotify"), alice.ID, grant); err != nil {
		return fmt.Errorf("connect simulated Spotify: %w", err)
	}
	tube := a.registry.Get("youtube")
	grant = oauth.Grant{Credentials: oauth.Credentials(world.YouTube.Authorize(demo.Alice, tube.OAuth.Scopes...)), AuthorizedAt: now}
	if _, err := a.connections.ConnectOAuth(ctx, tube, alice.ID, grant); err != nil {
		return fmt.Errorf("connect simulated YouTube: %w", err)
	}
	for name, fields := range map[string]library.Credentials{
		"lastfm":       {"session_key": world.LastFM.Authorize(demo.Alice)},
		"listenbrainz": {"token": world.ListenBrainz.Token(demo.Alice)},
		"navidrome":    {"url": world.Navidrome.URL, "username": demo.Alice, "password": world.Navidrome.Password(demo.Alice)},
	} {
		if _, err := a.connections.Connect(ctx, a.registry.Get(name), alice.ID, fields); err != nil {
			return fmt.Errorf("connect simulated %s: %w", name, err)
		}
	}
	if _, err := a.deliveries.Forward(ctx, alice.ID, "lastfm", false); err != nil {
		return fmt.Errorf("forward to simulated Last.fm: %w", err)
	}
	if err := tellAlice(ctx, a, world, alice.ID); err != nil {
		return err
	}
	soon := a.digests.Options()
	soon.Every, soon.Late = demoDigest, 0
	a.digests.Set(soon)
	if err := a.digests.Switch(ctx, alice.ID, true); err != nil {
		return fmt.Errorf("switch simulated digests on: %w", err)
	}
	a.server.Demo, a.server.DemoUser, a.server.SetupCode = world.Handler("/demo"), alice.ID, ""
	return nil
}
