package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"reprise/internal/channels"
	"reprise/internal/config"
	"reprise/internal/delivery"
	"reprise/internal/demo"
	"reprise/internal/events"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/store"
	syncer "reprise/internal/sync"
)

// newCourier makes what tells people outside the browser, and sees to the channels that the settings name.
func newCourier(ctx context.Context, c config.Config, db *store.Store, client *http.Client, transport *resilience.Transport, guard *syncer.Guard, notifier *notify.Notifier,
	registry *providers.Registry, bus *events.Bus, log *slog.Logger) (*notify.Courier, []notify.Channel, string, error) {
	named, err := namedChannels(c)
	if err != nil {
		return nil, nil, "", err
	}
	vapid, err := db.Vapid(ctx, channels.NewVapid)
	if err != nil {
		return nil, nil, "", err
	}
	keys := channels.ReadVapid(vapid)
	sender := channels.New(channels.Config{Client: client, Dial: hosts(c).Dial(), Vapid: keys, Contact: c.Contact, BaseURL: c.BaseURL, Told: transport.Tell})
	courier := &notify.Courier{Store: db, Sender: sender, Guard: guard, Notifier: notifier, Bus: bus, Log: log, BaseURL: c.BaseURL, Name: delivery.ChannelName,
		Service: func(provider string) string {
			if p := registry.Get(provider); p != nil {
				return p.DisplayName
			}
			return provider
		}}
	return courier, named, keys.Public, courier.Adopt(ctx, named)
}

// namedChannels are those that the settings name.
func namedChannels(c config.Config) (all []notify.Channel, err error) {
	for i, text := range c.NotifyURLs {
		kind, url, err := channels.Parse(string(text), "")
		if err != nil {
			return nil, fmt.Errorf("the settings cannot be used:\nnotify.urls, number %d in the list: %s", i+1, channels.Problem(err))
		}
		label, _ := channels.KindOf(kind)
		all = append(all, notify.Channel{Kind: kind, Name: label.Label, URL: resilience.Secret(url), Wishes: notify.DefaultWishes()})
	}
	return all, nil
}

// tellAlice sets up where the demo's Alice is told.
func tellAlice(ctx context.Context, a *app, world *demo.World, alice int64) error {
	for _, place := range []struct{ name, url string }{{"Alice's phone", world.Mailbox.NtfyURL}, {"Alice's mailbox", world.Mailbox.MailURL}, {"Alice's program", world.Mailbox.WebhookURL}} {
		kind, url, err := channels.Parse(place.url, "")
		if err == nil {
			_, err = a.server.Courier.Add(ctx, notify.Channel{User: alice, Kind: kind, Name: place.name, URL: resilience.Secret(url), Wishes: notify.DefaultWishes()})
		}
		if err != nil {
			return fmt.Errorf("set up %s: %w", place.name, err)
		}
	}
	return nil
}
