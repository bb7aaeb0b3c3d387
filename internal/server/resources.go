package server

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/config"
	formats "reprise/internal/imports"
	"reprise/internal/library"
	"reprise/internal/openid"
	sent "reprise/internal/players"
	"reprise/internal/server/activity"
	"reprise/internal/server/admin"
	"reprise/internal/server/asks"
	"reprise/internal/server/cards"
	"reprise/internal/server/channels"
	"reprise/internal/server/complete"
	"reprise/internal/server/connections"
	"reprise/internal/server/core"
	"reprise/internal/server/corrections"
	"reprise/internal/server/deliveries"
	"reprise/internal/server/digests"
	"reprise/internal/server/export"
	"reprise/internal/server/factors"
	"reprise/internal/server/feed"
	"reprise/internal/server/health"
	"reprise/internal/server/imports"
	"reprise/internal/server/installation"
	"reprise/internal/server/listening"
	"reprise/internal/server/loves"
	"reprise/internal/server/music"
	"reprise/internal/server/notifications"
	"reprise/internal/server/ownlibrary"
	"reprise/internal/server/people"
	"reprise/internal/server/players"
	"reprise/internal/server/playlists"
	"reprise/internal/server/playrules"
	"reprise/internal/server/profile"
	"reprise/internal/server/recipes"
	"reprise/internal/server/search"
	"reprise/internal/server/sessions"
	"reprise/internal/server/settings"
	"reprise/internal/server/signin"
	"reprise/internal/server/site"
	"reprise/internal/server/songs"
	"reprise/internal/server/tokens"
	"reprise/internal/server/weeks"
	"reprise/internal/server/welcome"
	"reprise/internal/server/years"
	"reprise/internal/words"
)

// Store is what pages and API read and keep: what each resource says that it needs.
type Store interface {
	core.Store
	activity.Store
	complete.Store
	connections.Store
	corrections.Store
	deliveries.Store
	digests.Store
	export.Store
	feed.Store
	health.ServerStore
	imports.Store
	listening.Store
	music.Store
	music.SourceStore
	notifications.Store
	loves.Store
	ownlibrary.Store
	people.Store
	accounts.IdentityStore
	accounts.GrantStore
	welcome.Store
	players.Store
	playlists.Store
	playrules.Store
	profile.Store
	recipes.Store
	search.Store
	songs.Store
	tokens.Store
	weeks.Store
	years.Store
	Ping(context.Context) error
}

// resource answers for one kind of thing, in pages and in the API.
type resource interface {
	Pages(*echo.Group)
	API(*core.API)
}

// resources are all parts of the server.
type resources struct {
	*Config
	reach     *reached
	core      *core.Core
	people    *people.Handler
	redeemer  *people.Redeemer
	signin    *signin.Handler
	factors   *factors.Handler
	settings  *settings.Handler
	feed      *feed.Handler
	years     *years.Handler
	profile   *profile.Handler
	listening *listening.Handler
	exports   *export.Handler
	door      *players.Door
	resources []resource
	described func() ([]byte, error) // the API, in YAML
	handlers  map[string]string      // of its calls, see core.API
}

// changeable returns the settings; nil if they cannot be changed.
func changeable(c *Config) connections.Settings {
	if c.Settings == nil {
		return nil
	}
	return c.Settings
}

// settingNames returns what names a setting as its page does: by its group or its service, and its label.
func settingNames(k *core.Core, c *Config) func(ctx context.Context, path string) string {
	return func(ctx context.Context, path string) string {
		if c.Settings == nil {
			return path
		}
		i, ok := c.Settings.One(path)
		if !ok { // of another version
			return path
		}
		of := words.Each("setting.group.", string(i.Group)).T(ctx)
		if i.Provider != "" {
			of = k.NameOf(ctx, library.ConnectionID(i.Provider))
		}
		return of + " → " + i.Label().T(ctx)
	}
}

// newResources makes the parts. A person has at most so many streams; closing ends the open ones.
func newResources(c *Config, at *reached, streams int, closing context.Context) (*resources, error) {
	k, err := core.New(core.Options{
		BaseURL: c.BaseURL, Version: c.Version, SetupCode: c.SetupCode, AdminToken: c.AdminToken,
		Demo: c.Demo != nil, DemoUser: c.DemoUser,
		Store: c.Store, Sessions: c.Sessions, Registry: c.Registry, Services: c.Services,
		Bus: c.Bus, Log: c.Log, Limits: c.Limits, Notifier: c.Notifier,
	})
	if err != nil {
		return nil, err
	}
	k.RequireSecondStep(c.SecondStep)
	k.Sessions.NamedByProxy(c.Proxy.On())
	statuses := connections.NewStatuses(k, c.Store, c.Connections, c.Syncer)
	names := deliveries.NewNamer(k, c.Store, c.Connections, c.Courier)
	rows := music.NewRows(k, c.Store, c.Art)
	sources := music.NewSources(k, c.Store, c.Enrichment, c.Guard)
	files := imports.New(k, c.Store, c.Imports)
	entries := activity.New(k, c.Store, settingNames(k, c))
	access := tokens.New(k, c.Store, c.Bus)
	keys := admin.NewKeys(k, c.Connections, c.Enrichment, c.Digests)
	breakers := admin.NewBreakers(k, c.Breakers)
	var elsewhere *signin.Handler
	signedIn := sessions.New(k, func(issuer string) string { return elsewhere.NameOf(issuer) })
	asking := asks.New(k, c.Asks)
	first := welcome.New(k, c.Store, statuses, changeable(c), c.Asks)
	drawn := cards.New(k, rows)
	lookBack := years.New(k, c.Store, rows, drawn)
	shown := profile.New(k, c.Store, c.Playing, rows, drawn)
	desk := sent.NewDesk(c.Store, c.Playing, c.Counters, c.Bus, c.Log)
	senders := players.New(k, c.Store, c.Bus, c.Notifier, desk)
	heard := listening.New(k, c.Store, rows, c.Comparing)
	whole := complete.New(k, c.Store, c.Connections, formats.Reads)
	exports := export.New(k, c.Store, rows, heard)
	links := accounts.NewLinks(c.Store, c.Accounts)
	users := people.NewUsers(people.UsersOptions{Core: k, Store: c.Store, Accounts: c.Accounts, Links: links,
		Removals: c.Removals, Courier: c.Courier, Export: exports})
	if c.Issuers == nil {
		c.Issuers = openid.New(c.Client, config.OpenID{})
	}
	k.Sessions.EndOfIssuers(func() time.Duration { return c.Issuers.Settings().Session })
	beside := factors.New(factors.Options{Core: k, Store: c.Store, Accounts: c.Accounts, Issuers: c.Issuers.Addresses,
		Again: func(by accounts.Arrival) string { return elsewhere.Again(by) }})
	elsewhere = signin.New(signin.Options{Core: k, Issuers: c.Issuers, Store: c.Store, Links: links, Steps: first,
		SetRole: users.SetRole, Works: beside.Works, ByName: func() bool { return at.Load().Proxy.On() },
		Named: func(ctx context.Context, name string) (accounts.User, error) {
			return c.Store.UserByName(ctx, name)
		}})
	k.Sessions.Welcome(elsewhere.ByProxy(func() bool { return at.Load().Proxy.CreateAccounts }))
	entry := people.New(people.Options{
		Core: k, Accounts: c.Accounts, Courier: c.Courier, Steps: first, Outside: elsewhere.Outside,
		Passkeys: beside.Button,
		Away: func(ctx context.Context, by accounts.Arrival) string {
			if by.Way == accounts.ByProxy {
				return at.Load().Proxy.SignOut
			}
			return elsewhere.Away(ctx, by)
		},
	})
	return &resources{
		Config: c,
		reach:  at,
		core:   k,
		people: entry, factors: beside,
		years: lookBack, profile: shown, listening: heard, exports: exports,
		door: players.NewDoor(desk, c.Store, k.Path, func(r *http.Request) string {
			return at.Load().extract(r)
		}),
		redeemer: people.NewRedeemer(k, links, first, elsewhere.Outside),
		signin:   elsewhere,
		settings: settings.New(settings.Options{
			Core: k, Statuses: statuses, People: users, Accounts: c.Accounts, Tokens: access,
			Sessions: signedIn, Identities: elsewhere, Factors: beside,
		}),
		feed: feed.New(feed.Options{
			Core: k, Store: c.Store, Bus: c.Bus, Notifier: c.Notifier, Statuses: statuses,
			Hosts:   func() []string { return at.Load().patterns },
			Streams: streams, Closing: closing,
		}),
		resources: []resource{
			connections.New(connections.Options{
				Core: k, Store: c.Store, Connections: c.Connections, Deliveries: c.Deliveries, Flow: c.Flow,
				Uplink:   c.Uplink,
				Statuses: statuses, Names: names, Rows: rows, Imports: files, Activity: entries,
				Asks: c.Asks, Steps: first, Settings: changeable(c), Client: c.Client,
				Players: senders, History: whole,
			}),
			whole,
			first,
			elsewhere,
			site.New(k, changeable(c)),
			music.New(k, c.Store, c.Enrichment, rows),
			heard,
			lookBack,
			weeks.New(weeks.Options{Core: k, Store: c.Store, Rows: rows, Cards: drawn, Reports: c.Reports,
				Courier: c.Courier, Digests: c.Digests}),
			shown,
			sources,
			search.New(k, c.Store, rows),
			corrections.New(k, c.Store, rows, c.Art, c.Deliveries),
			loves.New(k, c.Store, c.Deliveries, c.Connections, rows),
			ownlibrary.New(k, c.Store, rows),
			playrules.New(k, c.Store),
			recipes.New(k, c.Store, c.Log),
			playlists.New(k, c.Store, rows, c.Deliveries, c.Connections, statuses, names),
			deliveries.New(k, c.Store, c.Deliveries, c.Connections, names),
			songs.New(k, c.Store, c.Deliveries),
			senders,
			files,
			exports,
			digests.New(k, c.Store, c.Digests, c.Guard),
			notifications.New(k, c.Store, c.Notifier),
			channels.New(k, c.Store, c.Courier, c.PushKey),
			health.New(k, health.Sources{Statuses: statuses, Rollup: c.Rollup, Breakers: c.Breakers, Uplink: c.Uplink,
				Guard: c.Guard, Servers: c.Store}),
			entries,
			asking,
			entry,
			users,
			access,
			signedIn,
			beside,
			keys,
			breakers,
			installation.New(k, c.Settings, c.answers, c.Backups, elsewhere.Above, keys.Part, sources.Part,
				breakers.Part),
		},
	}, nil
}
