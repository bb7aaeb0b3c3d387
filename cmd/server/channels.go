package main

import (
	"context"
	"fmt"

	"reprise/internal/channels"
	"reprise/internal/notify"
	"reprise/internal/resilience"
)

// sender returns what sends messages outside the browser, and the public key by which push services know it.
func (b basics) sender(
	ctx context.Context, t *resilience.Transport, screen *resilience.Screen,
) (*channels.Channels, string, error) {
	vapid, err := b.store.Vapid(ctx, channels.NewVapid)
	if err != nil {
		return nil, "", err
	}
	keys := channels.ReadVapid(vapid)
	return channels.New(channels.Config{Client: resilience.NewClient(t), Dial: hosts(b.config).Dial(), Vapid: keys,
		Contact: b.config.Contact, BaseURL: b.config.BaseURL, Told: t.Tell,
		Screen: screen}), keys.Public, nil
}

// adopt gives the courier the channels of the settings, and returns them.
func adopt(ctx context.Context, c *notify.Courier, urls []resilience.Secret) (all []notify.Channel, err error) {
	for i, text := range urls {
		kind, url, err := channels.Parse(string(text), "")
		if err != nil {
			return nil, fmt.Errorf("the settings cannot be used:\nnotify.urls, number %d in the list: %s", i+1,
				channels.Problem(err))
		}
		label, _ := channels.KindOf(kind)
		all = append(all, notify.Channel{Kind: kind, Name: label.Label, URL: resilience.Secret(url),
			Wishes: notify.DefaultWishes()})
	}
	return all, c.Adopt(ctx, all)
}
