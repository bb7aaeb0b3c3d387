package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/config"
	"reprise/internal/demo"
	"reprise/internal/demo/past"
	"reprise/internal/library"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
	"reprise/internal/store"
	syncer "reprise/internal/sync"
)

// remember gives the furnished household of the demo a second person, and everybody two weeks of history.
func remember(ctx context.Context, a *app, world *demo.World, c config.Config) error {
	if err := addBob(ctx, a, world); err != nil {
		return fmt.Errorf("connect the demo's Bob: %w", err)
	}
	people, err := a.store.Users(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	house := past.House{Seed: 1, Now: now, Provider: a.registry.Get, Usual: demo.UsualTime, Endpoints: endpoints(c)}
	for _, u := range people {
		p, err := readAll(ctx, a, u, now)
		if err != nil {
			return fmt.Errorf("read the history of the demo's %s: %w", u.Name, err)
		}
		house.People = append(house.People, p)
	}
	if err := a.store.Age(ctx, past.Length+30*time.Hour); err != nil {
		return err
	}
	told := past.Tell(house)
	v := store.Past{Runs: told.Runs, Quarters: told.Quarters, Notifications: told.Notifications,
		Activity: told.Activity}
	for _, d := range told.Deliveries {
		v.Deliveries = append(v.Deliveries, store.PastDelivery(d))
	}
	for _, g := range told.Gaps {
		v.Gaps = append(v.Gaps, store.PastGap(g))
	}
	return a.store.WritePast(ctx, v)
}

// addBob creates the demo's second account and connects its services.
func addBob(ctx context.Context, a *app, world *demo.World) error {
	bob, err := a.accounts.Create(ctx, "Bob", world.Navidrome.Password(demo.Bob), accounts.Member, false)
	if err != nil {
		return err
	}
	ctx = activity.WithActor(ctx, activity.Actor{ID: bob.ID, Name: bob.Name})
	for name, fields := range map[string]library.Credentials{
		"listenbrainz": {"token": world.ListenBrainz.Token(demo.Bob)},
		"navidrome": {"url": world.Navidrome.URL, "username": demo.Bob,
			"password": world.Navidrome.Password(demo.Bob)},
	} {
		_, err := a.connections.Connect(ctx, a.registry.Get(name), library.Connection{User: bob.ID,
			ID: library.ConnectionID(name), Credentials: fields})
		if err != nil {
			return err
		}
	}
	return nil
}

// readAll reads everything that a person's services have, and returns the person with the latest listens.
func readAll(ctx context.Context, a *app, u accounts.User, now time.Time) (past.Person, error) {
	p := past.Person{ID: u.ID, Name: u.Name}
	all, err := a.store.UserConnections(ctx, u.ID)
	if err != nil {
		return p, err
	}
	p.Connections = all
	var g errgroup.Group
	for _, c := range all {
		for _, stream := range a.registry.Get(c.Provider()).Streams {
			k := syncer.Key{User: c.User, Connection: c.ID, Stream: stream}
			g.Go(func() error { return a.server.Syncer.Read(ctx, k) })
		}
	}
	if err := g.Wait(); err != nil {
		return p, err
	}
	for cursor := ""; ; {
		page, next, err := a.store.FindListens(ctx, library.ListenFilter{User: u.ID, From: now.Add(-past.Length),
			To: now}, cursor, 1000)
		p.Listens = append(p.Listens, page...)
		if cursor = next; err != nil || next == "" {
			return p, errors.Join(err)
		}
	}
}

// endpoints returns what the adapters call, with its name in the roll-up.
func endpoints(c config.Config) (all []past.Endpoint) {
	for _, d := range registry.Descriptions() {
		for _, route := range d.Endpoints {
			label := resilience.EndpointName(d.APIHost(c.Providers[d.Name]), route)
			all = append(all, past.Endpoint{Provider: d.Name, Route: route, Label: label})
		}
	}
	return all
}
