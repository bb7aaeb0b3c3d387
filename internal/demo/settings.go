package demo

import "strings"

// Settings returns the settings, by path, with which a server uses the simulated services. They set no limit to the
// rate of requests.
func (w *World) Settings() map[string]string {
	return map[string]string{
		"allow_private_upstreams": "true",
		"contact":                 "demo@example.org",

		"providers.spotify.api_url":       w.Spotify.URL,
		"providers.spotify.auth_url":      w.Spotify.AuthURL,
		"providers.spotify.token_url":     w.Spotify.TokenURL,
		"providers.spotify.client_id":     w.Spotify.ClientID,
		"providers.spotify.client_secret": "",

		"providers.lastfm.api_url":       w.LastFM.URL,
		"providers.lastfm.auth_url":      w.LastFM.AuthURL,
		"providers.lastfm.client_id":     w.LastFM.ClientID,
		"providers.lastfm.client_secret": w.LastFM.ClientSecret,
		"providers.lastfm.rate":          "0",

		"providers.listenbrainz.api_url": w.ListenBrainz.URL,
		"providers.listenbrainz.rate":    "0",

		"providers.youtube.api_url":       w.YouTube.URL,
		"providers.youtube.auth_url":      w.YouTube.AuthURL,
		"providers.youtube.token_url":     w.YouTube.TokenURL,
		"providers.youtube.client_id":     w.YouTube.ClientID,
		"providers.youtube.client_secret": w.YouTube.ClientSecret,
		"providers.youtube.keys":          strings.Join(w.YouTube.Keys, ","),

		"providers.musicbrainz.api_url": w.MusicBrainz.URL,
		"providers.musicbrainz.rate":    "0",

		"providers.fanarttv.api_url":    w.FanartTV.URL,
		"providers.fanarttv.keys":       strings.Join(w.FanartTV.Keys, ","),
		"providers.fanarttv.client_key": "",

		"providers.openai.api_url":   w.OpenAI.URL,
		"providers.openai.keys":      strings.Join(w.OpenAI.Keys, ","),
		"providers.openai.model":     w.OpenAI.Model,
		"providers.openai.price_in":  "0.15",
		"providers.openai.price_out": "0.60",
		"providers.openai.currency":  "USD",
	}
}
