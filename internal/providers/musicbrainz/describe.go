package musicbrainz

import (
	"regexp"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/words"
)

// links are the pages of music. A track, and a release, have other ids than their recording, and their release group.
var links = []*regexp.Regexp{
	regexp.MustCompile(`^(?:beta\.)?musicbrainz\.org/(?P<kind>recording|release-group|artist)/` +
		`(?P<mbid>[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})(?:[/?#]|$)`),
	regexp.MustCompile(`^(?:beta\.)?musicbrainz\.org/`),
}

// Describe returns the description of MusicBrainz.
func Describe() providers.Description {
	// https://musicbrainz.org/doc/MusicBrainz_API/Rate_Limiting
	pace := providers.Pace{PerSecond: 1, Per: "IP address"}
	return providers.Description{
		Name: "musicbrainz", DisplayName: "MusicBrainz", Links: links,
		Icon:    "M4 7l8-4 8 4v10l-8 4-8-4zM12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8z",
		Purpose: words.New("musicbrainz.purpose"),
		Streams: []string{library.Enrichment},
		Endpoints: []string{
			artistResource.lookup(), artistResource.search(), groupResource.lookup(), groupResource.search(),
			recordingResource.lookup(), recordingResource.search(),
		},
		Settings: []providers.Setting{
			{Name: "api_url", Own: true, Kind: providers.BaseURL, Called: true, Default: "https://musicbrainz.org"},
			pace.Setting(),
		},
		Owner:   "metabrainz",
		Pace:    pace,
		Contact: providers.Contact{Always: true, Domains: []string{"musicbrainz.org"}},
		Enriches: &providers.Enriches{
			Kinds:     []string{library.KindArtist, library.KindAlbum, library.KindTrack},
			NotThere:  30 * 24 * time.Hour, // its data grow slowly
			SettingUp: words.New("musicbrainz.setting_up"),
		},
		Tables: tables(),
		Build:  build,
	}
}

func build(s providers.Settings, in providers.Installation) (providers.Provider, error) {
	base := strings.TrimRight(s.Text("api_url"), "/")
	return providers.Provider{Enricher: &source{client: in.Client, base: base}}, nil
}
