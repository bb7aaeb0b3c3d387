package main

import (
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"time"

	"reprise/internal/art"
	"reprise/internal/config"
	"reprise/internal/enrich"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/providers/fanarttv"
	"reprise/internal/providers/musicbrainz"
	"reprise/internal/resilience"
	"reprise/internal/store"
)

// For how long a "not there" is believed: people add to MusicBrainz slowly, and pictures to Fanart.tv all the time
// (providers page in the design).
const (
	noFacts    = 30 * 24 * time.Hour
	noPictures = 7 * 24 * time.Hour
)

const mib = 1 << 20

// newEnrichment makes what finds out about the music that was heard, and the cache of pictures; nil when none are kept.
func newEnrichment(ctx context.Context, c config.Config, db *store.Store, client *http.Client, guard enrich.Guard, bus *events.Bus, n counts, log *slog.Logger) (*enrich.Runner, *art.Cache, error) {
	var pictures enrich.Pictures
	var cache *art.Cache
	if c.ArtMaxMiB > 0 {
		var err error
		cache, err = art.Open(art.Options{Dir: filepath.Join(c.DataDir, "art"), Most: int64(c.ArtMaxMiB) * mib, Client: client,
			Hosts: []string{"fanart.tv", resilience.HostOf(c.FanartTV.APIURL)}})
		if err != nil {
			return nil, nil, err
		}
		pictures = cache
	}
	fanart, err := newFanartTV(ctx, c, db, client, n, log)
	if err != nil {
		return nil, nil, err
	}
	return enrich.New(enrich.Config{
		Every:    c.EnrichEvery,
		Sources:  []enrich.Source{newMusicBrainz(c, client), fanart},
		Store:    db,
		Guard:    guard,
		Pictures: pictures,
		Bus:      bus,
		Log:      log,
	}), cache, nil
}

// newMusicBrainz is not set up without a contact: MusicBrainz blocks addresses whose owner it cannot reach.
func newMusicBrainz(c config.Config, client *http.Client) enrich.Source {
	s := enrich.Source{Provider: musicbrainz.Provider(), Kinds: []string{library.KindArtist, library.KindAlbum, library.KindTrack}, NotThere: noFacts}
	if c.Contact == "" {
		s.Missing = []string{"contact"}
		s.SettingUp = "MusicBrainz tells of ids, tags and dates, and wants to know whom to write to when something goes wrong. Set your e-mail or web address as contact, and start Reprise again; until then MusicBrainz is not asked."
		return s
	}
	s.Enricher = musicbrainz.New(client, musicbrainz.Config{APIURL: c.MusicBrainz.APIURL})
	return s
}

// newFanartTV is not set up without a key, nor without MusicBrainz, whose ids it goes by.
func newFanartTV(ctx context.Context, c config.Config, db *store.Store, client *http.Client, n counts, log *slog.Logger) (enrich.Source, error) {
	t := &resilience.KeyTransport{Put: fanarttv.PutKey, Advice: fanarttv.KeyAdvice}
	public, keys, err := keyed(ctx, "fanarttv", c.FanartTV.Keys, c, db, client, t, n, log)
	s := enrich.Source{Provider: fanarttv.Provider(keys), Kinds: []string{library.KindArtist, library.KindAlbum}, Needs: "musicbrainz", NotThere: noPictures}
	switch {
	case err != nil:
		return s, err
	case len(c.FanartTV.Keys) == 0:
		s.Missing = []string{"providers.fanarttv.keys"}
		s.SettingUp = "Fanart.tv has covers of albums and portraits of artists. Get an API key at https://fanart.tv/get-an-api-key/, set it, and start Reprise again; until then Fanart.tv is not asked."
	case c.Contact == "":
		s.Missing = []string{"contact"}
		s.SettingUp = "Fanart.tv goes by the ids that MusicBrainz gives, and that is not set up yet."
	case c.ArtMaxMiB == 0:
		s.Missing = []string{"art.max_mib"}
		s.SettingUp = "The settings say that no pictures are kept, and Fanart.tv has nothing else."
	default:
		s.Enricher = fanarttv.New(public, fanarttv.Config{APIURL: c.FanartTV.APIURL, ClientKey: c.FanartTV.ClientKey})
	}
	return s, nil
}
