// Package registry lists all providers. A new one needs a package beside this one and a line here.
package registry

import (
	"reprise/internal/providers"
	"reprise/internal/providers/fanarttv"
	"reprise/internal/providers/hook"
	"reprise/internal/providers/koito"
	"reprise/internal/providers/lastfm"
	"reprise/internal/providers/librefm"
	"reprise/internal/providers/listenbrainz"
	"reprise/internal/providers/maloja"
	"reprise/internal/providers/musicbrainz"
	"reprise/internal/providers/navidrome"
	"reprise/internal/providers/openai"
	"reprise/internal/providers/s3"
	"reprise/internal/providers/spotify"
	"reprise/internal/providers/youtube"
)

// Descriptions returns the descriptions of all providers, in the order in which people see them.
func Descriptions() []providers.Description {
	return []providers.Description{
		spotify.Describe(),
		lastfm.Describe(),
		listenbrainz.Describe(),
		librefm.Describe(),
		koito.Describe(),
		maloja.Describe(),
		navidrome.Describe(),
		youtube.Describe(),
		musicbrainz.Describe(),
		fanarttv.Describe(),
		openai.Describe(),
		hook.Describe(),
		s3.Describe(),
	}
}

// Describe returns the description of one provider; the zero Description when there is none of that name.
func Describe(name string) providers.Description {
	for _, d := range Descriptions() {
		if d.Name == name {
			return d
		}
	}
	return providers.Description{}
}
