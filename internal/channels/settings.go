package channels

import (
	"context"
	"fmt"

	"reprise/internal/notify"
	"reprise/internal/resilience"
)

// Adopt has the first administrator get the channels that the setting notify.urls lists. The error is a sentence.
func Adopt(ctx context.Context, courier *notify.Courier, urls []resilience.Secret) error {
	all, err := OfSettings(urls)
	if err != nil {
		return err
	}
	return courier.Adopt(ctx, all)
}

// OfSettings returns the channels that the setting notify.urls lists. The error is a sentence.
func OfSettings(urls []resilience.Secret) (all []notify.Channel, err error) {
	for i, text := range urls {
		kind, url, err := Parse(string(text), "")
		if err != nil {
			return nil, fmt.Errorf("the settings cannot be used:\nnotify.urls, number %d in the list: %s", i+1,
				Problem(err))
		}
		label, _ := KindOf(kind)
		all = append(all, notify.Channel{Kind: kind, Name: label.Label, URL: resilience.Secret(url),
			Wishes: notify.DefaultWishes()})
	}
	return all, nil
}
