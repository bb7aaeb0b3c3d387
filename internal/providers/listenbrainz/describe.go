package listenbrainz

import (
	"cmp"
	"net/http"
	"regexp"
	"strings"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/hosts"
	"reprise/internal/words"
)

// links are the pages of music. What it calls a track and an album is a recording and a release group.
var links = []*regexp.Regexp{
	regexp.MustCompile(`^listenbrainz\.org/(?P<kind>track|recording|album|release-group|artist)/` +
		`(?P<mbid>[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})(?:[/?#]|$)`),
	regexp.MustCompile(`^listenbrainz\.org/`),
}

// Describe returns the description of ListenBrainz.
func Describe() providers.Description {
	// ListenBrainz documents its limit only in response headers; one request a second always stays below it.
	pace := providers.Pace{PerSecond: 1, Per: "IP address"}
	return providers.Description{
		Name: "listenbrainz", DisplayName: "ListenBrainz", Links: links,
		Icon:    "M11 3v18l-7-4V7zM13 3l7 4v10l-7 4z",
		Purpose: words.New("listenbrainz.purpose"),
		Streams: []string{library.Listens, library.Playlists, library.Loves}, Keeps: true,
		Endpoints: []string{
			endpoint(validateRoute), endpoint(listensRoute), endpoint(countRoute), endpoint(playlistsRoute),
			endpoint(createdForRoute), endpoint(playlistRoute), http.MethodPost + " " + submitRoute,
			http.MethodPost + " " + deleteRoute, endpoint(feedbackRoute), http.MethodPost + " " + loveRoute,
			endpoint(lookupRoute), http.MethodPost + " " + lookupRoute, http.MethodPost + " " + createRoute,
			http.MethodPost + " " + editRoute, http.MethodPost + " " + addRoute, http.MethodPost + " " + removeRoute,
		},
		Takes: providers.Takes{Listens: "submit_listens", Batch: listensPerSubmission, Deletions: true, Playing: true,
			Loves: true, Hates: true, Playlists: true, Piecewise: true,
			Repeat: "It stores the same names at the same second once, and Reprise sends the same names again, " +
				"unless you have corrected them since. Koito and Maloja, which have the same API, store a track " +
				"once for each second, too."},
		Fields: []providers.Field{{
			Name: tokenField, Label: words.New("listenbrainz.field.token"), Kind: "password",
			Help: words.New("listenbrainz.field.token_help"),
		}, {
			Name: urlField, Label: words.New("listenbrainz.field.url"), Kind: "url", Optional: true,
			Help: words.New("listenbrainz.field.url_help"),
		}},
		Settings: []providers.Setting{
			{Name: "api_url", Own: true, Kind: providers.BaseURL, Called: true,
				Default: "https://api.listenbrainz.org"},
			pace.Setting(),
		},
		Owner:   "metabrainz",
		Pace:    pace,
		Contact: providers.Contact{Domains: []string{"listenbrainz.org"}},
		Tables:  tables(),
		Build:   build,
	}
}

func build(s providers.Settings, in providers.Installation) (providers.Provider, error) {
	base := apiBase(s.Text("api_url"))
	installation := server{base: base, host: cmp.Or(hosts.Of(base), base)}
	return providers.Provider{
		App: func(cred library.Credentials) string {
			at, _ := serverAt(cred[urlField], installation)
			return at.host
		},
		Lists: func(cred library.Credentials) bool { return cred[readsPlaylists] != lacks },
		Open: func(call resilience.Call, cred library.Credentials) providers.Adapter {
			at, err := serverAt(cred[urlField], installation)
			token := strings.Join(strings.Fields(cred[tokenField]), "")
			return &adapter{call: call, server: at, err: err, domains: in.Domains, token: token,
				user: cred[userField], from: forwardingAccount(in, call.User, cred),
				lacks: map[string]bool{readsListens: cred[readsListens] == lacks,
					readsPlaylists: cred[readsPlaylists] == lacks}}
		},
	}, nil
}
