package main

import (
	"net/http"
	"path/filepath"

	"reprise/internal/art"
	"reprise/internal/enrich"
	"reprise/internal/providers"
)

const mib = 1 << 20

// enrichment returns what finds facts about the music that was heard, and the cache of pictures, nil if none are kept.
func (b basics) enrichment(
	services *providers.Registry, client *http.Client, guard enrich.Guard,
) (*enrich.Runner, *art.Cache, error) {
	var pictures enrich.Pictures
	var cache *art.Cache
	var sources []enrich.Source
	var from []string
	for _, p := range services.All() {
		if p.Enriches == nil {
			continue
		}
		sources = append(sources, source(p, services, b.config.ArtMaxMiB > 0))
		if len(p.Enriches.Pictures) > 0 {
			from = append(append(from, p.Enriches.Pictures...), p.APIHost(b.config.Providers[p.Name]))
		}
	}
	if b.config.ArtMaxMiB > 0 {
		var err error
		cache, err = art.Open(art.Options{Dir: filepath.Join(b.config.DataDir, "art"),
			Most:   int64(b.config.ArtMaxMiB) * mib,
			Client: client, Hosts: from})
		if err != nil {
			return nil, nil, err
		}
		pictures = cache
	}
	return enrich.New(enrich.Config{
		Every:    b.config.EnrichEvery,
		Sources:  sources,
		Store:    b.store,
		Guard:    guard,
		Pictures: pictures,
		Bus:      b.bus,
		Log:      b.log,
	}), cache, nil
}

// source is where a provider's facts come from. It is not asked while something is missing that it needs: settings of
// its own, the source that finds the ids, or a place for pictures.
func source(p *providers.Provider, services *providers.Registry, keepsPictures bool) enrich.Source {
	e := p.Enriches
	s := enrich.Source{Provider: p, Kinds: e.Kinds, Needs: e.Needs, NotThere: e.NotThere}
	needed := services.Get(e.Needs)
	switch {
	case len(p.Missing) > 0:
		s.Missing, s.SettingUp = p.Missing, e.SettingUp
	case needed != nil && len(needed.Missing) > 0:
		s.Missing = needed.Missing
		s.SettingUp = p.DisplayName + " goes by the ids that " + needed.DisplayName + " gives, and that is not " +
			"set up yet."
	case len(e.Pictures) > 0 && !keepsPictures:
		s.Missing = []string{"art.max_mib"}
		s.SettingUp = "The settings say that no pictures are kept, and " + p.DisplayName + " has nothing else."
	default:
		s.Enricher = p.Enricher
	}
	return s
}
