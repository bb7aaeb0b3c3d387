package listenbrainz

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// urlField is the credential that names another server with ListenBrainz' API, such as a person's own Koito or
// Maloja. It is empty for ListenBrainz itself.
const urlField = "url"

// server is where a connection's calls go.
type server struct {
	base string // without a trailing slash
	host string
	own  bool // the person named it; otherwise it is that of the installation's settings
}

// serverAt returns the server at an address that a person typed, or the installation's. The error is a
// [resilience.SettingError].
func serverAt(typed string, installation server) (server, error) {
	if strings.TrimSpace(typed) == "" {
		return installation, nil
	}
	u, err := providers.ServerAddress(urlField, typed)
	if err != nil {
		return server{}, err
	}
	if u.Host == installation.host || "api."+u.Host == installation.host { // its API, or its pages
		return installation, nil
	}
	u.Path = strings.TrimSuffix(u.Path, "/1")
	return server{base: (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), host: u.Host, own: true}, nil
}

// noRoute is our own code of an answer by a server that doesn't have this part of the API.
const noRoute = "no_such_route"

// elsewhereTable takes precedence over the other tables for another server.
var elsewhereTable = providers.Table{
	{Status: http.StatusOK, Code: invalidToken, Meaning: wrongTokenElsewhere},
	{Status: http.StatusUnauthorized, Meaning: wrongTokenElsewhere},
	{Code: noRoute, Meaning: resilience.Meaning{
		Class: resilience.Fatal, Category: resilience.Contract, Scope: resilience.ScopeStream,
		Advice: "There is no server that speaks ListenBrainz' API at this address. For Koito and Maloja, it ends " +
			"with /apis/listenbrainz.",
	}},
}

var wrongTokenElsewhere = resilience.Meaning{
	Class: resilience.Fatal, Category: resilience.Auth, Scope: resilience.ScopeConnection,
	Advice: "The server does not accept the token. Copy it again from the server's settings.",
}

// tableOf returns the table of a call to the server.
func (s server) tableOf(t providers.Table) providers.Table {
	if !s.own {
		return t
	}
	return append(elsewhereTable[:len(elsewhereTable):len(elsewhereTable)], t...)
}

// explain reads a refusal by the server.
func (s server) explain(e *resilience.AnswerError) {
	explain(e)
	missing := e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed ||
		e.Status == http.StatusNotImplemented
	if s.own && missing && e.Code == "" {
		e.Code = noRoute
	}
}

// offered turns the answer of a server that lacks a part of the API into [providers.ErrNotOffered].
func offered(err error) error {
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && e.Code == noRoute {
		return providers.ErrNotOffered
	}
	return err
}
