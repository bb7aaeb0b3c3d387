package fanarttv

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/words"
)

const getKey = "https://fanart.tv/get-an-api-key/"

// Describe returns the description of Fanart.tv.
func Describe() providers.Description {
	return providers.Description{
		Name: "fanarttv", DisplayName: "Fanart.tv",
		Icon:      "M3 4h18v16H3zM6 17h12l-4-6-3 4-2-2zM8 7a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3z",
		Purpose:   words.New("fanarttv.purpose"),
		Streams:   []string{library.Enrichment},
		Endpoints: []string{endpoint(artistRoute), endpoint(albumRoute)},
		Settings: []providers.Setting{
			{Name: "api_url", Kind: providers.BaseURL, Called: true, Default: "https://webservice.fanart.tv"},
			{Name: "keys", Own: true, Kind: providers.Keys, Required: true, From: getKey},
			{Name: "client_key", Kind: providers.Secret, From: getKey},
		},
		Owner: "fanarttv",
		Pool:  &providers.Pool{KeyName: "Fanart.tv's key", Put: putKey, Advice: keyAdvice, Try: tryKey},
		Enriches: &providers.Enriches{
			Kinds: []string{library.KindArtist, library.KindAlbum},
			Needs: "musicbrainz", NotThere: 7 * 24 * time.Hour, // people add pictures often
			Pictures:  []string{"fanart.tv"},
			SettingUp: words.New("fanarttv.setting_up"),
		},
		Tables: tables(),
		Build:  build,
	}
}

func build(s providers.Settings, in providers.Installation) (providers.Provider, error) {
	return providers.Provider{Enricher: &source{client: cmp.Or(in.Keyed, in.Client),
		base: strings.TrimRight(s.Text("api_url"), "/"), clientKey: s.Secret("client_key")}}, nil
}

// tryKey asks for an artist that has pictures.
func tryKey(ctx context.Context, t providers.Trying) error {
	p, err := build(t.Settings, providers.Installation{Client: t.Call.Client})
	if err != nil {
		return err
	}
	artist := library.Entity{Kind: library.KindArtist, MBID: "a74b1b7f-71a5-4011-9441-d0b5e4122711"}
	if _, err = p.Enricher.Enrich(ctx, t.Call, artist); errors.Is(err, library.ErrNotThere) {
		return nil
	}
	return err
}
