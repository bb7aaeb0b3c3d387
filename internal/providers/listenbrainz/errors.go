package listenbrainz

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// table is the error table of all calls. An answer that it leaves out has the meaning of the general table by status;
// see docs/providers.md.
var table = providers.Table{
	{Status: http.StatusOK, Code: invalidToken, Meaning: wrongToken},
	{Status: http.StatusUnauthorized, Meaning: wrongToken},
}

// userTable is table for calls about the connection's own user.
var userTable = append(table[:len(table):len(table)], providers.Row{
	Status: http.StatusNotFound, Code: notFound, Meaning: resilience.Meaning{
		Class: resilience.Fatal, Category: resilience.Auth, Scope: resilience.ScopeConnection,
		Advice: words.New("listenbrainz.renamed", service...),
	},
})

// playlistTable is table for calls about one playlist.
var playlistTable = append(table[:len(table):len(table)], providers.Row{
	Status: http.StatusNotFound, Meaning: resilience.Meaning{
		Class: resilience.Fatal, Category: resilience.Item, Scope: resilience.ScopeItem,
		Advice: words.New("listenbrainz.playlist_gone", service...),
	},
})

// Our codes for a 200 that says that the token is wrong, and for a 404 that says that the object is missing. Any other
// 404 concerns the URL and does not mean that an account is gone.
const (
	invalidToken = "invalid_token"
	notFound     = "not_found"
)

// noSuchRoute begins ListenBrainz' message about an unknown URL.
const noSuchRoute = "The requested URL"

var wrongToken = resilience.Meaning{
	Class: resilience.Fatal, Category: resilience.Auth, Scope: resilience.ScopeConnection,
	Advice: words.New("listenbrainz.token", service...),
}

// explain reads ListenBrainz' message from a refusal, and the wait from its own header.
func explain(e *resilience.AnswerError) {
	var body struct {
		Code  int    `json:"code"`
		Error string `json:"error"`
	}
	if json.Unmarshal(e.Body, &body) == nil {
		e.Message = resilience.Excerpt(body.Error)
	}
	if e.Status == http.StatusNotFound && body.Code == e.Status && e.Message != "" &&
		!strings.HasPrefix(e.Message, noSuchRoute) {
		e.Code = notFound
	}
	if e.Status != http.StatusTooManyRequests {
		return
	}
	if reset := e.Header.Get("X-RateLimit-Reset-In"); reset != "" {
		seconds, err := strconv.ParseFloat(reset, 64)
		if err != nil {
			seconds = -1
		}
		until, bad := resilience.After(seconds, time.Now())
		if until.After(e.NotBefore) {
			e.NotBefore = until
		}
		e.BadWait = bad && e.NotBefore.IsZero()
	}
}

// own explains our codes.
var own = map[string]string{
	invalidToken: "`valid` is `false` in the answer about the token",
	notFound:     "in ListenBrainz' own words, other than that it doesn't know the address",
	noRoute: "404, 405 or 501 from a compatible server: reading then finds nothing there, and sending " +
		"stops",
}

// tables returns the error tables for docs/providers.md.
func tables() providers.Tables {
	return providers.Tables{
		Provider: "ListenBrainz",
		Sources: []string{"https://listenbrainz.readthedocs.io/en/latest/users/api/index.html",
			"https://listenbrainz.readthedocs.io/en/latest/users/api/core.html"},
		Reading: "ListenBrainz has no codes besides the status. The wait of a 429 is " +
			"`X-RateLimit-Reset-In`, or `Retry-After` when that is later. Reprise doesn't send a " +
			"listen that exceeds ListenBrainz' limits, and treats it like a 400.",
		Own: own,
		Of: []providers.NamedTable{
			{Calls: "all calls", Table: table},
			{Calls: "calls about the own user", Table: userTable},
			{Calls: "calls about one playlist", Table: playlistTable},
			{Calls: "changing a playlist", Table: writeTable},
			{Calls: "submitting listens", Table: submitTable},
			{Calls: "deleting a listen", Table: deleteTable},
			{Calls: "compatible servers, before all others", Table: elsewhereTable},
		},
	}
}
