package listenbrainz

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// urlField is the credential that names another server with ListenBrainz' API, such as a person's own Koito or
// Maloja. It is empty for ListenBrainz itself.
const urlField = "url"

// forwardingAccount returns what tells another Reprise whose plays it gets, so that it doesn't send them back here.
func forwardingAccount(in providers.Installation, user int64, cred library.Credentials) string {
	if cred[library.ForwardingField] == "" || in.ForwardingAccount == nil {
		return ""
	}
	return in.ForwardingAccount(user)
}

// server is where a connection's calls go.
type server struct {
	base string // without a trailing slash
	host string
	own  bool // the person named it; otherwise it is that of the installation's settings
	// program is what runs there, for a provider of its own; empty where any server may be.
	program string
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
	u.Path = apiBase(u.Path)
	return server{base: (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), host: u.Host, own: true}, nil
}

// apiBase returns an address, or its path, without the version of the API and the calls that were copied with it.
func apiBase(address string) string {
	address = strings.TrimRight(address, "/")
	for _, call := range []string{submitRoute, validateRoute, "/1"} {
		if base, ok := strings.CutSuffix(address, call); ok {
			return strings.TrimRight(base, "/")
		}
	}
	return address
}

// lacks is the value of the credentials readsListens and readsPlaylists for a server that doesn't offer them to be
// read. They are missing for one that does, and for ListenBrainz itself.
const (
	readsListens   = "listens"
	readsPlaylists = "playlists"
	lacks          = "none"
)

// learnReading finds out what another server offers to be read: many only take listens. Such a server answers in all
// sorts of ways to a call that it doesn't know, with its own page, or with 200 and an error; Maloja does.
func (a *adapter) learnReading(ctx context.Context, account *providers.Account) error {
	query := url.Values{"count": {"1"}}
	_, err := a.listens(ctx, walk{count: 1})
	if lacking(err) {
		account.Learned[readsListens], err = lacks, nil
		account.Lacks = append(account.Lacks, library.Listens)
	}
	if err != nil {
		return err
	}
	if _, _, err = a.listingPage(ctx, playlistsRoute, query); lacking(err) {
		account.Learned[readsPlaylists], err = lacks, nil
		account.Lacks = append(account.Lacks, library.Playlists)
	}
	return err
}

// lacking reports whether the answer to a call that reads something means that the server does not offer it. An outage
// and a refusal of the token do not.
func lacking(err error) bool {
	if errors.Is(err, providers.ErrNotOffered) {
		return true
	}
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok {
		unknown := e.Status == http.StatusBadRequest || e.Status == http.StatusNotFound ||
			e.Status == http.StatusGone || e.Status == http.StatusMethodNotAllowed
		return unknown || e.HTML && !resilience.ServerFault(e.Status)
	}
	_, broken := errors.AsType[*resilience.ContractError](err)
	return broken
}

// noRoute is our own code of an answer by a server that doesn't have this part of the API.
const noRoute = "no_such_route"

// elsewhereTable takes precedence over the other tables for another server.
var elsewhereTable = providers.Table{
	{Status: http.StatusOK, Code: invalidToken, Meaning: wrongTokenElsewhere},
	{Status: http.StatusUnauthorized, Meaning: wrongTokenElsewhere},
	{Code: noRoute, Meaning: resilience.Meaning{
		Class: resilience.Fatal, Category: resilience.Contract, Scope: resilience.ScopeStream,
		Advice: words.New("listenbrainz.no_server"),
	}},
}

var wrongTokenElsewhere = resilience.Meaning{
	Class: resilience.Fatal, Category: resilience.Auth, Scope: resilience.ScopeConnection,
	Advice: words.New("listenbrainz.other_token"),
}

// tableOf returns the table of a call to the server. Its words name the server that was given.
func (s server) tableOf(t providers.Table) providers.Table {
	if !s.own {
		return t
	}
	all := slices.Concat(elsewhereTable, t)
	for i := range all {
		switch {
		case i >= len(elsewhereTable):
			all[i].Meaning.Advice = s.named(words.Of(all[i].Meaning.Advice))
		case s.program != "" && all[i].Code == noRoute:
			all[i].Meaning.Advice = words.New("listenbrainz.no_program", "Program", s.program)
		}
	}
	return all
}

// named returns a sentence about ListenBrainz as one about the server that was given.
func (s server) named(sentence words.Text) words.Text {
	if !s.own || sentence.IsZero() {
		return sentence
	}
	return words.New(sentence.ID(), "Service", cmp.Or(s.program, s.host))
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
