// Package fanarttv asks Fanart.tv for pictures of artists and albums, by their MusicBrainz ids. An entity costs one
// request.
//
// The project's key comes from the installation's pool; a personal key can be added. Both are sent in headers, because
// logs and errors show URLs.
package fanarttv

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// putKey adds the project's key to a request.
func putKey(req *http.Request, key resilience.Secret) { req.Header.Set("Api-Key", string(key)) }

// source is a providers.Enricher.
type source struct {
	client    *http.Client
	base      string // without a trailing slash
	clientKey resilience.Secret
}

const (
	artistRoute = "/v3/music/"
	albumRoute  = "/v3/music/albums/"
)

func endpoint(route string) string { return http.MethodGet + " " + route + "{mbid}" }

// Enrich implements providers.Enricher. It supports artists and albums that have an MBID.
func (s *source) Enrich(
	ctx context.Context, call resilience.Call, e library.Entity,
) (library.Facts, error) {
	call.Client = s.client
	route := map[string]string{library.KindArtist: artistRoute, library.KindAlbum: albumRoute}[e.Kind]
	if route == "" || e.MBID == "" {
		return library.Facts{}, library.ErrNotThere
	}
	var a art
	if err := s.get(ctx, call, route, e.MBID, &a); err != nil {
		return library.Facts{}, err
	}
	facts := library.Facts{MBID: e.MBID}
	if e.Kind == library.KindArtist {
		facts.Name = a.Name
		facts.Pictures = append(best("portrait", a.Thumbs), best("background", a.Backgrounds)...)
	} else {
		facts.Pictures = best("cover", a.Albums.covers(e.MBID))
	}
	if len(facts.Pictures) == 0 {
		return library.Facts{}, library.ErrNotThere
	}
	return facts, nil
}

// get reads all pictures of an id. It returns [library.ErrNotThere] when there are none.
func (s *source) get(ctx context.Context, call resilience.Call, route, mbid string, a *art) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+route+url.PathEscape(mbid), nil)
	if err != nil {
		return &resilience.SettingError{Setting: "providers.fanarttv.api_url", Problem: words.New("field.web_address")}
	}
	req.Header.Set("Accept", "application/json")
	if s.clientKey != "" {
		req.Header.Set("Client-Key", string(s.clientKey))
	}
	endpoint := endpoint(route)
	answer, err := refusals.Send(call, req, endpoint)
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && e.Code == noArt && !e.HTML {
		return library.ErrNotThere
	}
	if err != nil {
		return err
	}
	if err := providers.DecodeJSON(answer, a); err != nil {
		return err
	}
	if a.Name == "" {
		return &resilience.ContractError{Endpoint: endpoint, What: "an answer without a name"}
	}
	return nil
}
