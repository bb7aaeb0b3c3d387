package household

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"reprise/internal/accounts"
	"reprise/internal/demo"
	"reprise/internal/library"
	"reprise/internal/players"
	"reprise/internal/providers"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience/transport"
	"reprise/internal/store"
	syncer "reprise/internal/sync"
)

// Furnish adds everybody to an empty program, with all that Complete adds, and returns the id of Alice.
func (p Program) Furnish(ctx context.Context, settings map[string]providers.Settings) (int64, error) {
	alice, err := p.AddAlice(ctx)
	if err == nil {
		err = p.Complete(ctx, settings)
	}
	if err == nil {
		err = p.addPlayers(ctx, alice.ID)
	}
	return alice.ID, err
}

// addPlayers adds those of a person that the simulated world has, and gives them their secrets.
func (p Program) addPlayers(ctx context.Context, user int64) error {
	secrets := map[string]string{}
	all := map[string]players.Player{
		demo.Jellyfin: {Name: "Jellyfin", Kind: players.Jellyfin},
		demo.Phone:    {Name: "Phone", Kind: players.ListenBrainz},
		demo.Browser:  {Name: "Browser", Kind: players.WebScrobbler},
	}
	for _, name := range slices.Sorted(maps.Keys(all)) { // so that pages list them in the same order each time
		one := all[name]
		one.User, one.CreatedAt, secrets[name] = user, time.Now(), players.NewSecret()
		if _, err := p.Store.AddPlayer(ctx, one, secrets[name], players.Most); err != nil {
			return fmt.Errorf("add the demo's %s: %w", one.Name, err)
		}
	}
	p.World.Equip(secrets)
	return nil
}

// Complete adds the household's second person and months of history for everybody, and from then on lets the services
// take their usual time. settings are those of the program's providers.
func (p Program) Complete(ctx context.Context, settings map[string]providers.Settings) error {
	defer p.World.Lively()
	if err := p.addBob(ctx); err != nil {
		return err
	}
	people, err := p.Store.Users(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	house := House{Seed: 1, Now: now, Provider: p.Registry.Get, Usual: demo.UsualTime,
		Endpoints: endpoints(settings)}
	for _, u := range people {
		person, err := p.readAll(ctx, u, now)
		if err != nil {
			return fmt.Errorf("read the history of the demo's %s: %w", u.Name, err)
		}
		house.People = append(house.People, person)
	}
	if err := p.Store.Age(ctx, Length+30*time.Hour); err != nil {
		return err
	}
	told := Tell(house)
	v := store.Past{Runs: told.Runs, Quarters: told.Quarters, Notifications: told.Notifications,
		Activity: told.Activity}
	for _, d := range told.Deliveries {
		v.Deliveries = append(v.Deliveries, store.PastDelivery(d))
	}
	for _, g := range told.Gaps {
		v.Gaps = append(v.Gaps, store.PastGap(g))
	}
	return p.Store.WritePast(ctx, v)
}

// readAll reads everything that a person's services have, and returns the person with the latest listens.
func (p Program) readAll(ctx context.Context, u accounts.User, now time.Time) (Person, error) {
	person := Person{ID: u.ID, Name: u.Name}
	all, err := p.Store.UserConnections(ctx, u.ID)
	if err != nil {
		return person, err
	}
	person.Connections = all
	var g errgroup.Group
	for _, c := range all {
		for _, stream := range p.Registry.Get(c.Provider()).Streams {
			k := syncer.Key{User: c.User, Connection: c.ID, Stream: stream}
			g.Go(func() error { return p.Syncer.Read(ctx, k) })
		}
	}
	if err := g.Wait(); err != nil {
		return person, err
	}
	for cursor := ""; ; {
		page, next, err := p.Store.FindListens(ctx, library.ListenFilter{User: u.ID, From: now.Add(-Length),
			To: now}, cursor, 1000)
		person.Listens = append(person.Listens, page...)
		if cursor = next; err != nil || next == "" {
			return person, err
		}
	}
}

// endpoints returns what the adapters call, with its name in the roll-up.
func endpoints(settings map[string]providers.Settings) (all []Endpoint) {
	for _, d := range registry.Descriptions() {
		for _, route := range d.Endpoints {
			label := transport.EndpointName(d.APIHost(settings[d.Name]), route)
			all = append(all, Endpoint{Provider: d.Name, Route: route, Label: label})
		}
	}
	return all
}
