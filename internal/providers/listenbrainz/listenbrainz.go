// Package listenbrainz reads listens and playlists from ListenBrainz, or from a server that speaks its API, and submits
// listens there.
//
// ListenBrainz keeps time in whole seconds, and two listens can share one. Pages therefore overlap by the second at
// their border: a listen may be read twice, with the same SourceID, and none is passed over.
package listenbrainz

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// The names in the credentials: what a person pastes, and what Prove learns from it.
const (
	tokenField = "token"
	userField  = "user"
)

type adapter struct {
	client *http.Client
	base   string // without a trailing slash
	token  string
	user   string // empty before Prove
}

// The table of the providers page; what it does not name is as the general table says.
var table = providers.Table{
	{Status: http.StatusOK, Code: invalidToken, Meaning: wrongToken},
	{Status: http.StatusUnauthorized, Meaning: wrongToken},
}

// userTable is table for calls about the connection's own user.
var userTable = append(table[:len(table):len(table)], providers.Row{
	Status: http.StatusNotFound, Code: notFound, Meaning: resilience.Meaning{
		Class: resilience.Fatal, Category: resilience.Auth, Scope: resilience.ScopeConnection,
		Advice: "ListenBrainz no longer knows this user name: the account was renamed or deleted. Reconnect with " +
			"the user token of the " +
			"account as it is now.",
	},
})

// playlistTable is table for calls about one playlist.
var playlistTable = append(table[:len(table):len(table)], providers.Row{
	Status: http.StatusNotFound, Meaning: resilience.Meaning{
		Class: resilience.Fatal, Category: resilience.Item, Scope: resilience.ScopeItem,
		Advice: "This playlist is gone from ListenBrainz.",
	},
})

// Our own codes: of a 200 that says that the token is wrong, and of a 404 that says that what was asked about is not
// there. Any other 404 speaks about the address, and must not read as if an account was gone.
const (
	invalidToken = "invalid_token"
	notFound     = "not_found"
)

// noSuchRoute is how ListenBrainz begins to say that it does not know an address.
const noSuchRoute = "The requested URL"

var wrongToken = resilience.Meaning{
	Class: resilience.Fatal, Category: resilience.Auth, Scope: resilience.ScopeConnection,
	Advice: "ListenBrainz does not accept the user token. Copy it again from https://listenbrainz.org/settings/.",
}

// explain reads ListenBrainz's words from a refusal, and the wait that it dictates with a header of its own.
func explain(e *resilience.AnswerError) {
	var body struct {
		Code  int    `json:"code"`
		Error string `json:"error"`
	}
	if json.Unmarshal(e.Body, &body) == nil {
		e.Message = resilience.Excerpt(body.Error)
	}
	if e.Status == http.StatusNotFound && body.Code == e.Status && e.Message != "" && !strings.HasPrefix(e.Message, noSuchRoute) {
		e.Code = notFound
	}
	if e.Status != http.StatusTooManyRequests {
		return
	}
	if reset := e.Header("X-RateLimit-Reset-In"); reset != "" {
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

// get sends one GET. route is the template of path: it names the endpoint and never holds a name or an id.
func (a *adapter) get(ctx context.Context, route, path string, query url.Values, t providers.Table) (*resilience.Answer, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return a.send(ctx, http.MethodGet, route, path, nil, t)
}

// send sends one request, with a body of JSON when there is one.
func (a *adapter) send(ctx context.Context, method, route, path string, body []byte, t providers.Table) (*resilience.Answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, &resilience.SettingError{Setting: "providers.listenbrainz.api_url", Problem: "This is not a web address."}
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Authorization", "Token "+a.token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return providers.Call(a.client, req, method+" "+route, t, explain)
}

// getUser sends one GET about the connection's own user; route holds "{name}" where the name belongs.
func (a *adapter) getUser(ctx context.Context, route string, query url.Values) (*resilience.Answer, error) {
	return a.get(ctx, route, strings.Replace(route, "{name}", url.PathEscape(a.user), 1), query, userTable)
}

const validateRoute = "/1/validate-token"

func endpoint(route string) string { return http.MethodGet + " " + route }

func broken(route, what string) error {
	return &resilience.ContractError{Endpoint: endpoint(route), What: what}
}

// Prove implements providers.Adapter. It learns the user's name, which all other calls need.
func (a *adapter) Prove(ctx context.Context) (providers.Account, error) {
	answer, err := a.get(ctx, validateRoute, validateRoute, nil, table)
	if err != nil {
		return providers.Account{}, err
	}
	var body struct {
		Valid   *bool  `json:"valid"`
		User    string `json:"user_name"`
		Message string `json:"message"`
	}
	if err := providers.DecodeJSON(answer, &body); err != nil {
		return providers.Account{}, err
	}
	switch {
	case body.Valid == nil || *body.Valid && body.User == "":
		return providers.Account{}, broken(validateRoute, "neither a user nor a refusal")
	case !*body.Valid:
		return providers.Account{}, table.Apply(&resilience.AnswerError{
			Endpoint: endpoint(validateRoute), Status: answer.Status, Code: invalidToken, Message: resilience.Excerpt(body.Message), Body: answer.Body,
		})
	}
	a.user = body.User
	return providers.Account{ID: body.User, Name: body.User, Learned: library.Credentials{userField: body.User}}, nil
}

// tables returns the error tables for docs/providers.md.
func tables() providers.Tables {
	return providers.Tables{
		Provider: "ListenBrainz",
		Sources: []string{"https://listenbrainz.readthedocs.io/en/latest/users/api/index.html",
			"https://listenbrainz.readthedocs.io/en/latest/users/api/core.html"},
		Reading: "ListenBrainz has no codes besides the status. The wait of a 429 is `X-RateLimit-Reset-In`, or " +
			"`Retry-After` when that is later. " +
			"A listen that is beyond ListenBrainz' limits is refused by us, as its 400 would, and not sent.",
		Own: map[string]string{
			invalidToken: "`valid` is `false` in the answer about the token",
			notFound:     "ListenBrainz' own words, and not that it does not know the address",
		},
		Of: []providers.NamedTable{
			{Calls: "all calls", Table: table},
			{Calls: "calls about the own user", Table: userTable},
			{Calls: "calls about one playlist", Table: playlistTable},
			{Calls: "submitting listens", Table: submitTable},
		},
	}
}
