package providertest

import (
	"cmp"
	"context"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
)

// Suite is one provider under test.
type Suite struct {
	Provider *providers.Provider
	// Credentials belong to a healthy connection of the user "geoff", whose name contains "eof".
	Credentials library.Credentials
	Span        library.Span     // for Listens; zero for everything
	Playlist    library.Playlist // for Tracks
	// Plays holds the plays for Submit, at most Takes.Batch; nil for three default ones.
	Plays []library.StoredListen
	// Secrets holds further texts that no error may contain, besides the password fields.
	Secrets []string

	// Deleted is the SourceID of the listen that Delete deletes.
	Deleted string

	Loved library.Love // passed to Love; zero for a default one

	Prove, Listens, Playlists, Tracks, Submit, Delete, Loves, Love, Songs Capability

	// Simulated starts the simulated service in the bubble of a test, and returns it with the credentials of an account
	// there. It answers for each capability without a Healthy. Nil if all have one.
	Simulated func(*testing.T) (http.RoundTripper, library.Credentials)
}

// Capability describes the provider's answers for one capability of an adapter. All but Prove are optional.
//
// For Submit, an answer is healthy when all plays were accepted. The failure is the call's error, or else that of the
// first play that was not accepted.
type Capability struct {
	// Healthy answers without failures and with data.
	Healthy Respond
	// Faults selects the requests that fail in the tests of faults; nil selects all. It leaves out requests whose
	// failure the adapter handles itself.
	Faults func(*http.Request) bool
	// Statuses holds the statuses whose meaning differs from the general table.
	Statuses map[int]resilience.Meaning
	// Fine lists the statuses that are not failures: the capability returns no error or [providers.ErrNotOffered].
	Fine []int
	// Ignored says that the body of an answer with a successful status does not matter, unless it is a page for people.
	Ignored bool
}

// Run runs the conformance suite, one subtest per capability and promise.
func Run(t *testing.T, s Suite) {
	t.Helper()
	t.Run("provider", func(t *testing.T) { s.checkProvider(t) })
	for _, c := range s.capabilities(t) {
		t.Run(c.name, func(t *testing.T) {
			for _, p := range promises {
				t.Run(p.name, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { p.check(t, c.begin(t)) })
				})
			}
		})
	}
}

func (s *Suite) checkProvider(t *testing.T) {
	p := s.Provider
	require.NotEmpty(t, p.Name)
	require.Equal(t, strings.ToLower(p.Name), p.Name)
	require.NotEmpty(t, p.DisplayName)
	require.False(t, len(p.Streams) == 0 && p.Takes.Nothing(), "nothing is read there and nothing carried there")
	require.NotEmpty(t, p.App(s.Credentials), "whose limits are shared")
	ways := 0
	for _, way := range []bool{p.OAuth != nil, p.SignIn != nil, len(p.Fields) > 0} {
		if way {
			ways++
		}
	}
	require.Equal(t, 1, ways, "a person consents or fills in a form")
	for _, f := range p.Fields {
		require.NotEmpty(t, f.Label, f.Name)
		require.Contains(t, []string{"text", "url", "password", "checkbox"}, f.Kind, f.Name)
	}
	s.checkTakes(t)
	if p.Keeps {
		require.Implements(t, (*providers.Historian)(nil), p.Open(Call(Always(http.StatusOK, "{}")), s.Credentials))
	}
}

// begin returns the capability at a service of its own, if that is simulated.
func (c *capability) begin(t *testing.T) *capability {
	if c.Healthy != nil {
		return c
	}
	far, credentials := c.suite.Simulated(t)
	suite, own := *c.suite, *c
	suite.Credentials, own.suite = credentials, &suite
	own.secrets = suite.secrets()
	own.Healthy = listed(t, suite.Provider, func(req *http.Request) (int, http.Header, string) {
		resp, err := far.RoundTrip(req)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, resp.Header, string(body)
	})
	return &own
}

// capability is a capability with the functions that its checks need.
type capability struct {
	Capability
	name    string
	suite   *Suite
	secrets []string
	nothing []string // see Enrichment
	read    func(context.Context, *testing.T, providers.Adapter) (pages []any, err error)
	// first reads the first page and breaks; nil without pages.
	first func(context.Context, providers.Adapter)
}

func (s *Suite) capabilities(t *testing.T) []*capability {
	t.Helper()
	all := []*capability{{name: "Prove", Capability: s.Prove, read: prove}}
	if s.Provider.Pulls(library.Listens) {
		all = append(all,
			paged("Listens", s.Listens,
				func(ctx context.Context, a providers.Adapter) iter.Seq2[providers.ListenPage, error] {
					return a.(providers.ListenSource).Listens(ctx, s.Span)
				}))
	}
	if s.Provider.Pulls(library.Playlists) {
		all = append(all,
			paged("Playlists", s.Playlists,
				func(ctx context.Context, a providers.Adapter) iter.Seq2[[]library.Playlist, error] {
					return a.(providers.PlaylistSource).Playlists(ctx)
				}))
		all = append(all,
			paged("Tracks", s.Tracks, func(ctx context.Context, a providers.Adapter) iter.Seq2[[]library.Track, error] {
				return a.(providers.PlaylistSource).Tracks(ctx, s.Playlist, nil)
			}))
	}
	if s.Provider.Pulls(library.Loves) {
		all = append(all,
			paged("Loves", s.Loves,
				func(ctx context.Context, a providers.Adapter) iter.Seq2[providers.LovePage, error] {
					return a.(providers.LoveSource).Loves(ctx)
				}))
	}
	if s.Provider.Pulls(library.Songs) {
		all = append(all,
			paged("Songs", s.Songs, func(ctx context.Context, a providers.Adapter) iter.Seq2[[]library.Track, error] {
				return a.(providers.SongSource).Songs(ctx)
			}))
	}
	if s.Provider.Takes.Loves {
		one := cmp.Or(s.Loved, library.Love{Title: "Jóga", Artist: "Björk", Score: library.Loved})
		all = append(all, &capability{name: "Love", Capability: s.Love,
			read: func(ctx context.Context, _ *testing.T, a providers.Adapter) ([]any, error) {
				if _, err := a.(providers.LoveTaker).Love(ctx, one); err != nil {
					return nil, err
				}
				return []any{taken}, nil
			}})
	}
	if s.Provider.Takes.Listens != "" {
		all = append(all, submitting(t, s))
	}
	if s.Provider.Takes.Deletions {
		all = append(all, &capability{name: "Delete", Capability: s.Delete,
			read: func(ctx context.Context, _ *testing.T, a providers.Adapter) ([]any, error) {
				err := a.(providers.ListenDeleter).DeleteListen(ctx, s.Deleted)
				if err != nil {
					return nil, err
				}
				return []any{taken}, nil
			}})
	}
	for _, c := range all {
		c.suite, c.secrets = s, s.secrets()
		if c.Healthy != nil {
			c.Healthy = listed(t, s.Provider, c.Healthy)
			continue
		}
		require.NotNil(t, s.Simulated, "%s has no healthy upstream in the suite", c.name)
	}
	return all
}

// secrets returns what no error may contain.
func (s *Suite) secrets() []string {
	all := slices.Clone(s.Secrets)
	for _, f := range s.Provider.Fields {
		if v := s.Credentials[f.Name]; f.Kind == "password" && v != "" {
			all = append(all, v)
		}
	}
	return all
}

func prove(ctx context.Context, _ *testing.T, a providers.Adapter) ([]any, error) {
	account, err := a.Prove(ctx)
	if err != nil {
		return nil, err
	}
	return []any{account}, nil
}

func paged[P any](
	name string, c Capability, open func(context.Context, providers.Adapter) iter.Seq2[P, error],
) *capability {
	return &capability{
		name: name, Capability: c,
		read: func(ctx context.Context, t *testing.T, a providers.Adapter) (pages []any, err error) {
			for page, e := range open(ctx, a) {
				require.NoError(t, err, "the sequence went on after an error")
				if err = e; err == nil {
					pages = append(pages, page)
				}
			}
			return pages, err
		},
		first: func(ctx context.Context, a providers.Adapter) {
			for range open(ctx, a) { // break at once
				break
			}
		},
	}
}

// maxRequests is more than any adapter needs for the few pages of a test.
const maxRequests = 200

// try reads everything with rt as the network and checks the rules for all errors.
func (c *capability) try(ctx context.Context, t *testing.T, rt http.RoundTripper) ([]any, error) {
	var sent []*http.Request
	spy := roundTripper(func(req *http.Request) (*http.Response, error) {
		require.Less(t, len(sent), maxRequests, "the adapter goes round in circles")
		sent = append(sent, req)
		return rt.RoundTrip(req)
	})
	pages, err := c.read(ctx, t, c.open(spy))
	if err != nil {
		c.checkText(t, err.Error(), sent)
		v := resilience.VerdictOf(err)
		err = &backoff.Failure{Change: backoff.Change{Verdict: v}, Err: err} // as the guard does
	}
	return pages, err
}

func (c *capability) open(rt http.RoundTripper) providers.Adapter {
	return c.suite.Provider.Open(Call(rt), maps.Clone(c.suite.Credentials))
}

// checkText checks that an error's text contains no secret and no part of a URL that could be one.
func (c *capability) checkText(t *testing.T, text string, sent []*http.Request) {
	for _, s := range c.secrets {
		require.NotContains(t, text, s, "a secret in an error")
	}
	require.NotContains(t, text, "://", "a URL in an error")
	for _, req := range sent {
		for name, values := range queryAndHeader(req) {
			for _, v := range values {
				if len(v) >= 8 {
					require.NotContains(t, text, v, "the value of %s in an error", name)
				}
			}
		}
	}
}

func queryAndHeader(req *http.Request) url.Values {
	all := req.URL.Query()
	for _, name := range []string{"Authorization", "Cookie", "X-Nd-Authorization"} {
		if v := req.Header.Get(name); v != "" {
			_, secret, _ := strings.Cut(v, " ")
			all[name] = []string{v, secret}
		}
	}
	return all
}

func (c *capability) faulty(req *http.Request) bool { return c.Faults == nil || c.Faults(req) }

// with returns the healthy upstream with fault answering the selected requests.
func (c *capability) with(fault func(*http.Request) (*http.Response, error)) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if c.faulty(req) {
			return fault(req)
		}
		return c.Healthy.RoundTrip(req)
	})
}

// answering returns the healthy upstream with this answer to the selected requests.
func (c *capability) answering(status int, header http.Header, body string) http.RoundTripper {
	return c.with(Respond(func(*http.Request) (int, http.Header, string) { return status, header, body }).RoundTrip)
}

// wanted returns the verdict of a status by Statuses, or else by the general table.
func (c *capability) wanted(status int) resilience.Verdict {
	e := &resilience.AnswerError{Status: status}
	if m, ok := c.Statuses[status]; ok {
		e.Meaning = &m
	}
	return resilience.VerdictOf(e)
}

func (c *capability) fine(status int) bool { return slices.Contains(c.Fine, status) }

// listed returns an upstream that fails the test for endpoints that the provider does not list.
func listed(t *testing.T, p *providers.Provider, next Respond) Respond {
	return func(req *http.Request) (int, http.Header, string) {
		assert.Contains(t, p.Endpoints, resilience.RequestOf(req).To.Name,
			"%s calls an endpoint that it does not list", p.Name)
		return next(req)
	}
}
