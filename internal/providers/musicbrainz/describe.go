package musicbrainz

import (
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
)

// Describe returns the description of MusicBrainz.
func Describe() providers.Description {
	// https://musicbrainz.org/doc/MusicBrainz_API/Rate_Limiting
	pace := providers.Pace{PerSecond: 1, Per: "IP address"}
	return providers.Description{
		Name: "musicbrainz", DisplayName: "MusicBrainz",
		Icon:    "M4 7l8-4 8 4v10l-8 4-8-4zM12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8z",
		Purpose: "Tells ids, tags and dates of artists, albums and tracks.",
		Streams: []string{library.Enrichment},
		Endpoints: []string{
			artistResource.lookup(), artistResource.search(), groupResource.lookup(), groupResource.search(),
			recordingResource.lookup(), recordingResource.search(),
		},
		Settings: []providers.Setting{
			{Name: "api_url", Kind: providers.BaseURL, Called: true, Default: "https://musicbrainz.org",
				Help: "The address of MusicBrainz, or of a mirror; it is asked for facts about artists, albums " +
					"and tracks."},
			pace.Setting("How many requests a second may go out to it; MusicBrainz itself blocks who asks more " +
				"than once. 0 for no limit."),
		},
		Owner:   "metabrainz",
		Pace:    pace,
		Contact: providers.Contact{Always: true, Domains: []string{"musicbrainz.org"}},
		Enriches: &providers.Enriches{
			Kinds:    []string{library.KindArtist, library.KindAlbum, library.KindTrack},
			NotThere: 30 * 24 * time.Hour, // its data grow slowly
			SettingUp: "MusicBrainz tells of ids, tags and dates, and wants to know whom to write to when " +
				"something goes wrong. Set your e-mail or web address as contact, and start Reprise again; until " +
				"then MusicBrainz is not asked.",
		},
		Tables: tables(),
		Build:  build,
	}
}

func build(s providers.Settings, in providers.Installation) (providers.Provider, error) {
	base := strings.TrimRight(s.Text("api_url"), "/")
	return providers.Provider{Enricher: &source{client: in.Client, base: base}}, nil
}
