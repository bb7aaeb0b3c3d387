package channels

import (
	"fmt"

	"reprise/internal/notify"
	"reprise/internal/resilience"
)

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
