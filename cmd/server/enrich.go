package main

import (
	"net/http"
	"path/filepath"

	"reprise/internal/art"
	"reprise/internal/enrich"
	"reprise/internal/providers"
)

const mib = 1 << 20

// enrichment returns what finds facts about the music that was heard, and the cache of pictures.
func (b basics) enrichment(
	services *providers.Registry, client *http.Client, guard enrich.Guard,
) (*enrich.Runner, *art.Cache, error) {
	cache, err := art.Open(art.Options{Dir: filepath.Join(b.config.DataDir, "art"), Client: client,
		Hosts: services.PictureHosts, Most: int64(b.config.ArtMaxMiB) * mib})
	if err != nil {
		return nil, nil, err
	}
	return enrich.New(enrich.Config{Every: b.config.EnrichEvery, Services: services, Store: b.store, Guard: guard,
		Pictures: cache, Bus: b.bus, Log: b.log}), cache, nil
}
