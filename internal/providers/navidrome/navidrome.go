// Package navidrome reads listens and playlists from a person's own Navidrome, or from any other server with the
// Subsonic or OpenSubsonic API (1.16.1), and sends plays and playlists to it.
//
// Prove finds out how to call this server and returns it in Account.Learned: the normalised address, the way to
// authenticate, whether parameters may travel in a form, and whether Navidrome's own API can be used. An adapter that
// is opened without these finds them out with its first call.
//
// A readable password is only sent over TLS, to a loopback address, or when its owner has ticked "insecure". It is
// never part of an error.
package navidrome

import (
	"strings"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// The names of the credentials: the first five are the form's fields, the others are learned.
const (
	credURL      = "url"
	credUser     = "username"
	credPassword = "password"
	credAPIKey   = "apikey"
	credInsecure = "insecure"
	credAuth     = "auth"   // "token", "password" or "apikey"
	credForm     = "form"   // "yes" when parameters travel in a POST form
	credNative   = "native" // "yes" when Navidrome's own API takes the same password
)

// Describe returns the description of Navidrome and all other Subsonic servers.
func Describe() providers.Description {
	return providers.Description{
		Name: "navidrome", DisplayName: "Navidrome", Kin: []string{"gonic", "supysonic", "Airsonic"},
		Icon: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 6.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM12 10a2 2 " +
			"0 1 0 0 4 2 2 0 0 0 0-4z",
		Purpose: words.New("navidrome.purpose"),
		Streams: library.Read, Keeps: true,
		Plays:     true,
		Endpoints: endpoints(),
		Takes: providers.Takes{Listens: "scrobble", Batch: playsPerCall, Doubles: true, Library: true,
			Playlists: true, Playing: true, Loves: true, LovesFound: true,
			Repeat: "It counts each call as a play, like other Subsonic servers (gonic, supysonic). Where it only " +
				"tells the last play of a song, what was sent before that one has arrived, too; if the song was " +
				"played there since, a repeat counts twice."},
		Owner:  providers.OwnServer,
		Fields: fields,
		Tables: tables(),
		Build:  build,
	}
}

var fields = []providers.Field{
	{Name: credURL, Label: words.New("navidrome.field.url"), Kind: "url",
		Help: words.New("navidrome.field.url_help")},
	{Name: credUser, Label: words.New("navidrome.field.user"), Kind: "text"},
	{Name: credPassword, Label: words.New("navidrome.field.password"), Kind: "password", Optional: true, Or: credAPIKey,
		Help: words.New("navidrome.field.password_help")},
	{Name: credAPIKey, Label: words.New("navidrome.field.api_key"), Kind: "password", Optional: true, Seldom: true,
		Help: words.New("navidrome.field.api_key_help")},
	{Name: credInsecure, Label: words.New("navidrome.field.insecure"), Kind: "checkbox",
		Optional: true, Seldom: true,
		Help: words.New("navidrome.field.insecure_help")},
}

func build(providers.Settings, providers.Installation) (providers.Provider, error) {
	held := &sessions{tokens: map[sessionKey]string{}}
	return providers.Provider{
		App: func(c library.Credentials) string {
			u, err := normalise(c[credURL])
			if err != nil {
				return ""
			}
			return u.Host
		},
		Open: func(call resilience.Call, c library.Credentials) providers.Adapter { return open(call, c, held) },
	}, nil
}

// clientName is the name that servers show to their users.
const clientName = "reprise"

func open(call resilience.Call, c library.Credentials, held *sessions) *adapter {
	a := &adapter{
		user:     strings.TrimSpace(c[credUser]),
		password: c[credPassword],
		apiKey:   strings.TrimSpace(c[credAPIKey]),
		insecure: ticked(c[credInsecure]),
		way:      way{auth: c[credAuth], form: c[credForm] == "yes"},
		native:   c[credNative] == "yes",
		held:     held,
	}
	a.base, a.err = normalise(c[credURL])
	switch {
	case a.err != nil:
	case a.user == "":
		a.err = &resilience.SettingError{Setting: credUser, Problem: words.New("field.navidrome.user")}
	case a.password == "" && a.apiKey == "":
		a.err = &resilience.SettingError{Setting: credPassword, Problem: words.New("field.navidrome.password")}
	}
	a.call = call
	a.call.Client = a.watchRedirects(call.Client)
	return a
}

func ticked(v string) bool {
	switch strings.ToLower(v) {
	case "on", "true", "yes", "1":
		return true
	}
	return false
}

// endpoints returns all endpoints of an adapter: the Subsonic methods, which some servers accept as a form and others
// as a query, and Navidrome's own.
func endpoints() []string {
	all := []string{"POST /auth/login", "GET /api/scrobble", "GET /api/song", "GET /api/song/{id}"}
	for _, method := range []string{
		"ping", "getOpenSubsonicExtensions", "tokenInfo", "getUser", "getAlbumList2", "getAlbum", "getPlaylists",
		"getPlaylist", "getNowPlaying", "search3", "scrobble", "createPlaylist", "updatePlaylist",
		"getStarred2", "star", "unstar",
	} {
		for _, form := range []bool{true, false} {
			all = append(all, way{form: form}.verb()+" /rest/"+method)
		}
	}
	return all
}
