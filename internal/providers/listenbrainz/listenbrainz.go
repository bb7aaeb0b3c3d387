// Package listenbrainz reads listens and playlists from ListenBrainz, or from another server with its API, and submits
// listens there.
//
// ListenBrainz keeps time in whole seconds, and two listens can share one. Pages therefore overlap by one second: a
// listen may be read twice, with the same SourceID, but none is missed.
package listenbrainz

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// The names of the credentials: the pasted token, and the user's name, which Prove learns.
const (
	tokenField = "token"
	userField  = "user"
)

type adapter struct {
	call    resilience.Call
	server  server
	err     error             // of the address
	domains map[string]string // of streaming services
	token   string
	user    string          // empty before Prove
	from    string          // names our person to another Reprise; empty for any other server
	lacks   map[string]bool // what the server does not offer to be read, by readsListens and readsPlaylists
}

// get sends one GET. route is the template of path: it names the endpoint and never holds a name or an id.
func (a *adapter) get(
	ctx context.Context, route, path string, query url.Values, t providers.Table,
) (*resilience.Answer, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return a.send(ctx, http.MethodGet, route, path, nil, t)
}

// send sends one request with an optional JSON body.
func (a *adapter) send(
	ctx context.Context, method, route, path string, body []byte, t providers.Table,
) (*resilience.Answer, error) {
	if a.err != nil {
		return nil, a.err
	}
	req, err := http.NewRequestWithContext(ctx, method, a.server.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, &resilience.SettingError{Setting: "providers.listenbrainz.api_url",
			Problem: words.New("field.web_address")}
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Authorization", "Token "+a.token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return providers.Send(a.call, req, method+" "+route, a.server.tableOf(t), a.server.explain)
}

// getUser sends one GET about the connection's own user; route contains "{name}" in the place of the name.
func (a *adapter) getUser(ctx context.Context, route string, query url.Values) (*resilience.Answer, error) {
	return a.get(ctx, route, strings.Replace(route, "{name}", url.PathEscape(a.user), 1), query, userTable)
}

const validateRoute = "/1/validate-token"

func endpoint(route string) string { return http.MethodGet + " " + route }

// Prove implements providers.Adapter. It learns the user's name, which all other calls need.
func (a *adapter) Prove(ctx context.Context) (providers.Account, error) {
	user, reprise, err := a.validate(ctx)
	if err != nil {
		return providers.Account{}, err
	}
	a.user = user
	account := providers.Account{ID: user, Name: user, AnyCase: !a.server.own,
		Learned: library.Credentials{userField: user}}
	if a.server.own {
		account.ID, account.Learned[urlField] = a.server.host+"#"+user, a.server.base
		account.Label = a.server.host
		if reprise != "" {
			account.Learned[library.ForwardingField] = reprise
		}
		if err := a.learnReading(ctx, &account); err != nil {
			return providers.Account{}, err
		}
	}
	return account, nil
}

// validate returns the name of the token's user, and what another Reprise calls its account.
func (a *adapter) validate(ctx context.Context) (user, reprise string, err error) {
	answer, err := a.get(ctx, validateRoute, validateRoute, nil, table)
	if err != nil {
		return "", "", err
	}
	var body struct {
		Valid   *bool  `json:"valid"`
		User    string `json:"user_name"`
		Message string `json:"message"`
		Account string `json:"reprise_account"`
	}
	if err := providers.DecodeJSON(answer, &body); err != nil {
		return "", "", err
	}
	switch {
	case body.Valid == nil || *body.Valid && body.User == "":
		return "", "", providers.Broken(endpoint(validateRoute), "neither a user nor a refusal")
	case !*body.Valid:
		return "", "", a.server.tableOf(table).Apply(&resilience.AnswerError{
			Endpoint: endpoint(validateRoute), Status: answer.Status, Code: invalidToken,
			Message: resilience.Excerpt(body.Message), Body: answer.Body,
		})
	}
	return body.User, body.Account, nil
}
