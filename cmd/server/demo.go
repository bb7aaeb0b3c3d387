package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/channels"
	"reprise/internal/cli"
	"reprise/internal/datadir"
	"reprise/internal/demo"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/oauth"
	"reprise/internal/resilience"
	"reprise/internal/server"
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

// The household of the demo hears music every day.
const (
	demoPlays = 4000
	demoDays  = 250
)

// runDemo serves with simulated services and a household that has connected them. When somebody presses "Reset
// everything" it begins again, at the same address. It removes its folders at the end.
func runDemo(
	ctx context.Context, o cli.Options, environ []string, overrides map[string]string, at console,
) (err error) {
	d := demoServer{o: o, environ: environ, overrides: overrides, at: at}
	defer func() {
		if d.door != nil {
			err = errors.Join(err, d.door.TCPListener.Close())
		}
	}()
	for again := true; again && err == nil; d.rounds++ {
		again, err = d.round(ctx)
		d.at.out = io.Discard // the link is the same
	}
	return err
}

// demoServer serves the demo, from one reset to the next.
type demoServer struct {
	o         cli.Options
	environ   []string
	overrides map[string]string
	at        console
	door      *openDoor // nil before the first round
	rounds    int       // that have ended
}

// round serves a new household until ctx ends or, with again, until somebody wants everything reset.
func (d *demoServer) round(ctx context.Context) (again bool, err error) {
	overrides, remove, err := d.folder()
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	round, end := context.WithCancelCause(ctx)
	defer end(nil)
	world, err := demo.Start(demo.Options{Seed: 1, Live: demoPlay, Plays: demoPlays, Days: demoDays,
		Reset: func() { end(errReset) }})
	if err != nil {
		return false, fmt.Errorf("start simulated services: %w", err)
	}
	defer world.Close()
	maps.Copy(overrides, demoSettings(world))
	levelSet := func(line string) bool { return strings.HasPrefix(line, "REPRISE_LOG_LEVEL=") }
	if d.o.Config == "" && !slices.ContainsFunc(d.environ, levelSet) {
		overrides["log.level"] = "warn" // or attempts at simulated services would hide the link
	}
	from := start{layers: read(d.o.Config, d.environ, overrides), world: world}
	from.furnish = func(ctx context.Context, a *app) (demoPages, error) {
		pages, err := furnish(ctx, a, world)
		if err == nil {
			err = remember(ctx, a, world, a.config)
		}
		world.Lively()
		return pages, err
	}
	c, err := from.config()
	if err != nil {
		return false, err
	}
	if !d.o.OpenDemo && !onLoopback(c.Listen) {
		return false, fmt.Errorf("the demo signs in everybody who reaches it, and others can reach %s. Add "+
			"-listen 127.0.0.1:8420 to let in this machine only, or -open-demo to let in everybody", c.Listen)
	}
	if err := d.open(c.Listen); err != nil {
		return false, err
	}
	err = serveOn(round, d.door, from, d.at)
	return context.Cause(round) == errReset, err
}

// onLoopback reports whether only this machine reaches a listen address.
func onLoopback(listen string) bool {
	host, _, _ := net.SplitHostPort(listen)
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// errReset is why a round ends that another one follows.
var errReset = errors.New("the demo is reset")

// demoDir begins the names of the demo's own data directories.
const demoDir = "reprise-demo-"

// folder returns the settings of a round with its own, empty data directory, and what removes that again. A directory
// that somebody chose stays, and what a reset leaves behind in it.
func (d *demoServer) folder() (overrides map[string]string, remove func() error, err error) {
	overrides, remove = maps.Clone(d.overrides), func() error { return nil }
	switch {
	case d.o.DataDir == "":
		left, _ := filepath.Glob(filepath.Join(os.TempDir(), demoDir+"*")) // of demos that were killed
		for _, old := range left {
			if (datadir.Dir{Path: old}).Abandoned() {
				_ = os.RemoveAll(old)
			}
		}
		dir, err := os.MkdirTemp("", demoDir)
		if err != nil {
			return nil, nil, fmt.Errorf("make a folder for the demo: %w", err)
		}
		overrides["data_dir"], remove = dir, func() error { return os.RemoveAll(dir) }
	case d.rounds > 0:
		overrides["data_dir"] = filepath.Join(d.o.DataDir, fmt.Sprintf("reset-%d", d.rounds))
	}
	return overrides, remove, nil
}

// open opens the address for the first round, and opens it again for the others.
func (d *demoServer) open(address string) error {
	if d.door != nil {
		return d.door.SetDeadline(time.Time{})
	}
	l, err := server.Listen(address)
	if err == nil {
		d.door = &openDoor{l.(*net.TCPListener)}
	}
	return err
}

// openDoor is a listener that a server leaves open when it closes it: who comes in between waits for the next server.
type openDoor struct{ *net.TCPListener }

// Accept implements net.Listener.
func (d *openDoor) Accept() (net.Conn, error) {
	c, err := d.TCPListener.Accept()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = net.ErrClosed
	}
	return c, err
}

// Close implements net.Listener. It ends Accept until the deadline is cleared.
func (d *openDoor) Close() error { return d.SetDeadline(time.Unix(1, 0)) }

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
	pages := func(show demo.Show) http.Handler { return world.Handler("/demo", show) }
	return demoPages{pages, alice.ID}, nil
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
