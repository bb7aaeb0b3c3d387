// Package musicbrainz asks MusicBrainz for facts about music: ids, tags and dates of artists, albums (its release
// groups) and tracks (its recordings).
//
// MusicBrainz allows one request a second from the whole installation, so an entity costs exactly one: a lookup when
// its id is known, else a search, whose answer has the same fields. The ISRC of a recording is searched for together
// with its names, because the lookup by ISRC returns no release groups and would often need a search after it.
package musicbrainz

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// source is a providers.Enricher.
type source struct {
	client *http.Client
	base   string // without a trailing slash
}

// Enrich implements providers.Enricher. An unknown id is an item failure; for a merged id MusicBrainz returns the id
// that replaces it.
func (s *source) Enrich(
	ctx context.Context, call resilience.Call, e library.Entity,
) (library.Facts, error) {
	call.Client = s.client
	switch e.Kind {
	case library.KindArtist:
		return enrich[artist](ctx, s, call, artistResource, e)
	case library.KindAlbum:
		return enrich[releaseGroup](ctx, s, call, groupResource, e)
	case library.KindTrack:
		return enrich[recording](ctx, s, call, recordingResource, e)
	}
	return library.Facts{}, library.ErrNotThere
}

// resource is one kind of entity at MusicBrainz.
type resource struct {
	name  string // in the path
	query func(library.Entity) string
}

var (
	artistResource    = resource{"artist", artistQuery}
	groupResource     = resource{"release-group", groupQuery}
	recordingResource = resource{"recording", recordingQuery}
)

// The endpoints of a resource.
func (r resource) search() string { return "GET /ws/2/" + r.name }
func (r resource) lookup() string { return r.search() + "/{mbid}" }

// found is an entity in the answer to a lookup or search.
type found interface {
	key() string                         // its MBID
	likeness(e *library.Entity) likeness // to the requested entity
	facts() library.Facts
}

// perSearch is the number of hits that a search asks for. There may be many versions of a recording.
const perSearch = 25

func enrich[F found](
	ctx context.Context, s *source, call resilience.Call, r resource, e library.Entity,
) (library.Facts, error) {
	if e.MBID != "" {
		var one F
		endpoint := r.lookup()
		path, params := "/ws/2/"+r.name+"/"+url.PathEscape(e.MBID), url.Values{"inc": {"tags"}}
		if err := s.get(ctx, call, at{path, endpoint, params}, &one); err != nil {
			return library.Facts{}, err
		}
		if one.key() == "" {
			return library.Facts{}, &resilience.ContractError{Endpoint: endpoint, What: "an entity without an id"}
		}
		return one.facts(), nil
	}
	query := r.query(e)
	if query == "" {
		return library.Facts{}, library.ErrNotThere
	}
	var hits struct {
		Artists    []F `json:"artists"`
		Groups     []F `json:"release-groups"`
		Recordings []F `json:"recordings"`
	}
	endpoint := r.search()
	params := url.Values{"query": {query}, "limit": {strconv.Itoa(perSearch)}}
	if err := s.get(ctx, call, at{"/ws/2/" + r.name, endpoint, params}, &hits); err != nil {
		return library.Facts{}, err
	}
	all := map[string][]F{artistResource.name: hits.Artists, groupResource.name: hits.Groups,
		recordingResource.name: hits.Recordings}[r.name]
	if all == nil {
		return library.Facts{}, &resilience.ContractError{Endpoint: endpoint, What: "a search without hits"}
	}
	best, ok := choose(all, &e)
	if !ok {
		return library.Facts{}, library.ErrNotThere
	}
	return best.facts(), nil
}

// at is what one GET asks for.
type at struct {
	path, endpoint string
	query          url.Values
}

// get reads the answer to one GET into v.
func (s *source) get(ctx context.Context, call resilience.Call, to at, v any) error {
	to.query.Set("fmt", "json")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+to.path+"?"+to.query.Encode(), nil)
	if err != nil {
		return &resilience.SettingError{Setting: "providers.musicbrainz.api_url",
			Problem: words.New("field.web_address")}
	}
	req.Header.Set("Accept", "application/json")
	answer, err := providers.Send(call, req, to.endpoint, table, explain)
	if err != nil {
		return err
	}
	return providers.DecodeJSON(answer, v)
}
