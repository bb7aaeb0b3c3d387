package main

import (
	"context"
	"fmt"

	"reprise/internal/channels"
	"reprise/internal/config"
	"reprise/internal/notify"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// newSender returns what sends messages outside the browser, and the public key by which push services know it.
func (b basics) newSender(
	ctx context.Context, t *resilience.Transport, screen *resilience.Screen,
) (*channels.Channels, string, error) {
	vapid, err := b.store.Vapid(ctx, channels.NewVapid)
	if err != nil {
		return nil, "", err
	}
	keys := channels.ReadVapid(vapid)
	own := *t
	own.Agent = func() string { return userAgent(config.Config{}) } // the contact address is for services only
	return channels.New(channels.Config{Client: resilience.NewClient(&own), Dial: b.hosts.Dial(), Vapid: keys,
		Contact: b.config.Contact, BaseURL: b.config.BaseURL, Told: t.Tell,
		Screen: screen}), keys.Public, nil
}

// read reads the settings of all layers but the database's, with what only other packages can check.
func read(file string, environ []string, overrides map[string]string) *config.Layers {
	l := config.Read(file, environ, overrides, registry.Descriptions())
	l.Further = func(c config.Config) (faults []config.Fault) {
		for i, text := range c.NotifyURLs {
			if _, _, err := channels.Parse(string(text), ""); err != nil {
				faults = append(faults, config.Fault{Paths: []string{"notify.urls"},
					Text: words.New("settings.wrong.channel", "Number", i+1, "Problem", channels.Problem(err))})
			}
		}
		return faults
	}
	return l
}

// adopt gives the courier the channels of the settings.
func adopt(ctx context.Context, c *notify.Courier, urls []resilience.Secret) error {
	var all []notify.Channel
	for i, text := range urls {
		kind, url, err := channels.Parse(string(text), "")
		if err != nil {
			return fmt.Errorf("the settings cannot be used:\nnotify.urls, number %d in the list: %s", i+1,
				channels.Problem(err))
		}
		label, _ := channels.KindOf(kind)
		all = append(all, notify.Channel{Kind: kind, Name: label.Label, URL: resilience.Secret(url),
			Wishes: notify.DefaultWishes()})
	}
	return c.Adopt(ctx, all)
}
