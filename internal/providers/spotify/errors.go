package spotify

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// Our codes for refusals that differ only in Spotify's message; quotaExceeded is Spotify's own code.
const (
	insufficientScope = "insufficient_scope"
	notRegistered     = "user_not_registered"
	premiumRequired   = "premium_required"
	quotaExceeded     = "QUOTA_EXCEEDED"
)

// table is the error table of all calls. An answer that it leaves out has the meaning of the general table by status;
// see docs/providers.md.
var table = providers.Table{
	{Status: http.StatusForbidden, Code: insufficientScope, Meaning: resilience.Meaning{
		Class: resilience.Fatal, Category: resilience.Auth, Scope: resilience.ScopeConnection,
		Advice: words.New("spotify.scope"),
	}},
	{Status: http.StatusForbidden, Code: notRegistered, Meaning: resilience.Meaning{
		Class: resilience.Fatal, Category: resilience.Config, Scope: resilience.ScopeConnection,
		Advice:   words.New("spotify.unlisted"),
		ForAdmin: words.New("spotify.unlisted_admin"),
	}},
	{Status: http.StatusForbidden, Code: premiumRequired, Meaning: resilience.Meaning{
		Class: resilience.Retriable, Category: resilience.Permission, Scope: resilience.ScopeApp, Hold: 6 * time.Hour,
		Advice: words.New("spotify.premium"),
	}},
	{Status: http.StatusTooManyRequests, Code: quotaExceeded, Meaning: resilience.Meaning{
		Class: resilience.Retriable, Category: resilience.Quota, Scope: resilience.ScopeApp, Hold: 24 * time.Hour,
		Advice: words.New("spotify.quota"),
	}},
}

// onePlaylist returns the meaning of a refusal that concerns one playlist.
func onePlaylist(advice string) resilience.Meaning {
	return resilience.Meaning{Class: resilience.Fatal, Category: resilience.Item, Scope: resilience.ScopeItem,
		Advice: words.New(advice)}
}

// playlistTable is table for calls about one playlist, where a refusal concerns that playlist.
var playlistTable = slices.Concat(table, providers.Table{
	{Status: http.StatusForbidden, Meaning: onePlaylist("spotify.not_yours")},
	{Status: http.StatusNotFound, Meaning: onePlaylist("spotify.playlist_gone")},
})

// notAllowed returns the row for a change that the person has not allowed. Reading goes on without that permission.
func notAllowed(advice string) providers.Table {
	return providers.Table{{Status: http.StatusForbidden, Code: insufficientScope, Meaning: resilience.Meaning{
		Class: resilience.Fatal, Category: resilience.Permission, Scope: resilience.ScopeStream,
		Advice: words.New(advice),
	}}}
}

// loveTable is table for calls that change the liked songs.
var loveTable = slices.Concat(notAllowed("spotify.love_scope"), table[1:])

// writeTable is playlistTable for calls that change a playlist.
var writeTable = slices.Concat(notAllowed("spotify.write_scope"), table[1:], providers.Table{
	{Status: http.StatusForbidden, Meaning: onePlaylist("spotify.not_changed")},
	{Status: http.StatusNotFound, Meaning: onePlaylist("spotify.playlist_gone")},
})

// phrases maps parts of Spotify's messages, in lower case, to codes. Spotify has reworded its messages, so each phrase
// is a part that stayed.
var phrases = []struct{ phrase, code string }{
	{"insufficient client scope", insufficientScope},
	{"premium subscription required", premiumRequired},
	{"user not registered", notRegistered},
	{"user is not registered", notRegistered},
	{"user may not be registered", notRegistered},
}

// explain reads Spotify's message and code from a refusal. The body is an object, or plain text when the app itself is
// refused.
func explain(e *resilience.AnswerError) {
	var body struct {
		Error struct {
			Message string `json:"message"`
			Reason  string `json:"reason"`
		} `json:"error"`
	}
	err := json.Unmarshal(e.Body, &body)
	message := body.Error.Message
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		message = string(e.Body)
	}
	e.Message, e.Code = resilience.Excerpt(message), resilience.Excerpt(body.Error.Reason)
	words := strings.ToLower(e.Message)
	for _, p := range phrases {
		if strings.Contains(words, p.phrase) {
			e.Code = p.code
			return
		}
	}
}

// tables returns the error tables for docs/providers.md.
func tables() providers.Tables {
	own := map[string]string{}
	for _, p := range phrases {
		if own[p.code] != "" {
			own[p.code] += " or"
		} else {
			own[p.code] = "its words hold"
		}
		own[p.code] += " \"" + p.phrase + "\""
	}
	return providers.Tables{
		Provider: "Spotify",
		Sources: []string{"https://developer.spotify.com/documentation/web-api/concepts/api-calls",
			"https://developer.spotify.com/documentation/web-api/concepts/rate-limits"},
		Reading: "The code is `error.reason` in the body. Reprise recognises some refusals by their words, " +
			"whatever the reason beside them. A `Retry-After` overrides the waits in this table.",
		Own: own,
		Of: []providers.NamedTable{{Calls: "all calls", Table: table},
			{Calls: "calls about one playlist", Table: playlistTable},
			{Calls: "changing a playlist", Table: writeTable},
			{Calls: "changing the liked songs", Table: loveTable}},
	}
}
