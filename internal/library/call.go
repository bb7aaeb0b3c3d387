package library

import "strings"

// parts says what calls are about, by a part of their method and route in lower case. The first that fits counts.
var parts = []struct{ part, stream string }{
	{"submit-listens", Deliveries}, {"track.scrobble", Deliveries}, {"/rest/scrobble", Deliveries},
	{"/rest/createplaylist", Deliveries}, {"/rest/updateplaylist", Deliveries},
	{"playlist", Playlists},
	{"recently-played", Listens}, {"recenttracks", Listens}, {"/listens", Listens}, {"listen-count", Listens},
	{"/api/scrobble", Listens}, {"/api/song", Listens}, {"/rest/getalbum", Listens},
}

// StreamOf returns the stream that calls to an endpoint belong to, by its method and route; empty when it is not one's.
func StreamOf(endpoint string) string {
	endpoint = strings.ToLower(endpoint)
	for _, p := range parts {
		if strings.Contains(endpoint, p.part) {
			return p.stream
		}
	}
	return ""
}
