// Package household moves the people of the demo into a running program: it creates their accounts and connects their
// simulated services, by the calls that a person's clicks make, and gives them a past.
//
// Their past is made up: what was read and when in two weeks, what failed and recovered, and who did something about
// it. It is rows as the program itself writes them, about the listens that the household really has. The same seed,
// household and time give the same past.
package household

import (
	"context"
	"fmt"
	"maps"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/channels"
	"reprise/internal/delivery"
	"reprise/internal/demo"
	"reprise/internal/digest"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/oauth"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/store"
	syncer "reprise/internal/sync"
	"reprise/internal/weekly"
)

// DigestEvery is how often the demo writes a digest.
const DigestEvery = 15 * time.Second

// Program is what the household uses of the program, and the World with its services. All fields are required.
type Program struct {
	World       *demo.World
	Accounts    *accounts.Accounts
	Registry    *providers.Registry
	Connections *syncer.Connections
	Syncer      *syncer.Syncer
	Deliveries  *delivery.Deliveries
	Courier     *notify.Courier
	Digests     *digest.Runner
	Reports     *weekly.Reports
	Store       *store.Store
}

// Settings returns the settings for the simulated services, with intervals that show in a minute what takes hours
// elsewhere.
func Settings(world *demo.World) map[string]string {
	settings := world.Settings()
	maps.Copy(settings, map[string]string{"breaker.failures": "3", "breaker.cooldown": "10s",
		"sync.listens_every": "5s", "sync.playlists_every": "20s", "sync.enrich_every": "10s",
		"backoff.base": "2s", "backoff.max": "20s"})
	return settings
}

// AddAlice creates the demo's administrator and connects everything that can be connected. It returns her account,
// which is the first one: the database has to be empty.
func (p Program) AddAlice(ctx context.Context) (accounts.User, error) {
	alice, err := p.Accounts.Create(ctx, "Alice", p.World.Navidrome.Password(demo.Alice), accounts.Admin, true)
	if err != nil {
		return alice, fmt.Errorf("the demo needs an empty data directory: %w", err)
	}
	ctx = activity.WithActor(ctx, activity.Actor{ID: alice.ID, Name: alice.Name})
	if err := p.authorize(ctx, alice.ID); err != nil {
		return alice, err
	}
	if err := p.connect(ctx, alice.ID, map[string]library.Credentials{
		demo.LastFM:       {"session_key": p.World.LastFM.Authorize(demo.Alice)},
		demo.ListenBrainz: {"token": p.World.ListenBrainz.Token(demo.Alice)},
		demo.Navidrome:    p.atHome(demo.Alice),
	}); err != nil {
		return alice, err
	}
	if _, err := p.Deliveries.Forward(ctx, alice.ID, demo.LastFM, false); err != nil {
		return alice, fmt.Errorf("forward to simulated %s: %w", demo.LastFM, err)
	}
	if err := p.addChannels(ctx, alice.ID); err != nil {
		return alice, err
	}
	if err := p.Digests.Switch(ctx, alice.ID, true); err != nil {
		return alice, fmt.Errorf("switch simulated digests on: %w", err)
	}
	return alice, nil
}

// addBob creates the demo's second account, which lets Alice see its numbers, and connects its services.
func (p Program) addBob(ctx context.Context) error {
	bob, err := p.Accounts.Create(ctx, "Bob", p.World.Navidrome.Password(demo.Bob), accounts.Member, false)
	if err != nil {
		return fmt.Errorf("create the demo's Bob: %w", err)
	}
	if err := p.Accounts.ShareListening(ctx, bob.ID, true); err != nil {
		return fmt.Errorf("share the listening of the demo's Bob: %w", err)
	}
	ctx = activity.WithActor(ctx, activity.Actor{ID: bob.ID, Name: bob.Name})
	return p.connect(ctx, bob.ID, map[string]library.Credentials{
		demo.ListenBrainz: {"token": p.World.ListenBrainz.Token(demo.Bob)},
		demo.Navidrome:    p.atHome(demo.Bob),
	})
}

func (p Program) atHome(login string) library.Credentials {
	return library.Credentials{"url": p.World.Navidrome.URL, "username": login,
		"password": p.World.Navidrome.Password(login)}
}

// authorize connects Alice's services that have a consent page.
func (p Program) authorize(ctx context.Context, alice int64) error {
	now := time.Now()
	for name, grant := range map[string]func(scopes ...string) oauth.Grant{
		demo.Spotify: func(scopes ...string) oauth.Grant {
			return oauth.Grant{Credentials: oauth.Credentials(p.World.Spotify.Authorize(demo.Alice, scopes...)),
				AuthorizedAt: now.AddDate(0, -5, -10), ExpiresAt: now.AddDate(0, 0, 20)}
		},
		demo.YouTube: func(scopes ...string) oauth.Grant {
			return oauth.Grant{Credentials: oauth.Credentials(p.World.YouTube.Authorize(demo.Alice, scopes...)),
				AuthorizedAt: now}
		},
	} {
		provider := p.Registry.Get(name)
		if _, err := p.Connections.ConnectOAuth(ctx, provider, alice, grant(provider.OAuth.Scopes...)); err != nil {
			return fmt.Errorf("connect simulated %s: %w", name, err)
		}
	}
	return nil
}

// connect connects a person's services that take fields.
func (p Program) connect(ctx context.Context, user int64, fields map[string]library.Credentials) error {
	for name, credentials := range fields {
		if _, err := p.Connections.Connect(ctx, p.Registry.Get(name), library.Connection{User: user,
			ID: library.ConnectionID(name), Credentials: credentials}); err != nil {
			return fmt.Errorf("connect simulated %s: %w", name, err)
		}
	}
	return nil
}

// addChannels sets up the channels of Alice.
func (p Program) addChannels(ctx context.Context, alice int64) error {
	for _, place := range []struct{ name, url string }{
		{"Alice's phone", p.World.Mailbox.NtfyURL},
		{"Alice's mailbox", p.World.Mailbox.MailURL},
		{"Alice's program", p.World.Mailbox.WebhookURL},
	} {
		kind, url, err := channels.Parse(place.url, "")
		var ch notify.Channel
		if err == nil {
			ch, err = p.Courier.Add(ctx, notify.Channel{User: alice, Kind: kind, Name: place.name,
				URL: resilience.Secret(url), Wishes: notify.DefaultWishes()})
		}
		if err == nil && kind == channels.Email {
			err = p.Reports.Switch(ctx, alice, ch.ID, true)
		}
		if err != nil {
			return fmt.Errorf("set up %s: %w", place.name, err)
		}
	}
	return nil
}
