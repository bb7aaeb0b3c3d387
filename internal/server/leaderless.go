package server

import (
	"net/http"
	"strings"
)

// leaderless are the routes that are answered from the database alone, also while another server leads: what they read
// of other servers' memory is in the database as well. All are of GET.
var leaderless = routeSet(`
	/metrics / /activity /connections/:id /connections/:id/runs /corrections /corrections/suspicious
	/deliveries /export /help /help/:page /listening /listening/years /listening/years/:year /listens
	/listens/:id /loved /manifest.webmanifest /music/:kind/:id /notifications /now /offline /players /playlists
	/playlists/:id /search /settings /settings/account /settings/account/export /settings/programs
	/settings/services /share /sw.js /year/:code /api/v1/account /api/v1/activity /api/v1/albums/:id
	/api/v1/artists/:id /api/v1/connections /api/v1/connections/:id /api/v1/connections/:id/forwarding
	/api/v1/connections/:id/runs /api/v1/connections/:id/skipped /api/v1/corrections /api/v1/deliveries
	/api/v1/events /api/v1/events/sse /api/v1/export/all.zip /api/v1/export/corrections.jsonl
	/api/v1/export/lastfm.csv /api/v1/export/listenbrainz.zip /api/v1/export/listens.csv
	/api/v1/export/listens.jsonl /api/v1/export/maloja.json /api/v1/export/playlists/:file
	/api/v1/export/stats/:file /api/v1/feed.atom /api/v1/feed.json /api/v1/listens /api/v1/listens/invented
	/api/v1/listens/suspicious /api/v1/loves /api/v1/music/:kind/:id /api/v1/notifications /api/v1/now-playing
	/api/v1/openapi.yaml /api/v1/players /api/v1/players/:id /api/v1/playlists /api/v1/playlists/:id
	/api/v1/search /api/v1/sessions /api/v1/stats/days /api/v1/stats/hours /api/v1/stats/people
	/api/v1/stats/summary /api/v1/stats/top/:kind /api/v1/stats/years /api/v1/stats/years/:year /api/v1/tokens
	/api/v1/tracks/:id
`)

func routeSet(paths string) map[string]bool {
	all := map[string]bool{}
	for path := range strings.FieldsSeq(paths) {
		all[path] = true
	}
	return all
}

// NeedsNoLeader reports whether a request is answered from the database alone, while another server leads.
func (s *Server) NeedsNoLeader(r *http.Request) bool {
	if s.resources.door.Takes(r) {
		return true
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	c := s.echo.AcquireContext()
	defer s.echo.ReleaseContext(c)
	c.Reset(r, nil)
	s.echo.Router().Find(http.MethodGet, s.resources.core.Local(r.URL).Path, c)
	return leaderless[c.Path()]
}
