package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/words"
)

var update = flag.Bool("update", false, "rewrite testdata/sentences.golden")

var (
	spotify = &providers.Provider{Description: providers.Description{Name: "spotify", DisplayName: "Spotify"},
		OAuth: &providers.OAuth{Months: 6}}
	navidrome = &providers.Provider{Description: providers.Description{Name: "navidrome", DisplayName: "Navidrome",
		Fields: []providers.Field{{Name: "url", Kind: "url"}}}}
	everyone = []*providers.Provider{spotify, navidrome}
)

var advice = words.Plain("This is the advice from the provider's own table.")

// unplain finds what must not stand in a sentence for a person: a status code, what Go or a provider says, a hole.
var unplain = regexp.MustCompile(
	`\b[1-5][0-9]{2}\b|%!|dial tcp|EOF|refused|context|<nil>|error|status|HTTP|JSON|  |\.\.|\.,| \.|invalid_grant`)

func requirePlain(t *testing.T, w Words) {
	t.Helper()
	for _, text := range []string{w.Title.String(), w.Message.String()} {
		require.NotEmpty(t, text)
		require.Empty(t, unplain.FindString(text), text)
		require.Equal(t, strings.ToUpper(text[:1]), text[:1], text)
	}
	require.True(t, strings.HasSuffix(w.Message.String(), "."), w.Message.String())
	require.False(t, strings.HasSuffix(w.Title.String(), "."), w.Title.String())
	require.LessOrEqual(t, len(w.Title.String()), 60, w.Title.String())
}

// book collects sentences with the cases in which they are said, in the order in which they are first said.
type book struct {
	words []Words
	cases map[Words][]said
}

// said is a case in which a sentence is said, with the scopes of it if they matter.
type said struct {
	when   string
	scopes []string
}

func (b *book) add(w Words, when, scope string) {
	if b.cases == nil {
		b.cases = map[Words][]said{}
	}
	if b.cases[w] == nil {
		b.words = append(b.words, w)
	}
	if n := len(b.cases[w]); n == 0 || b.cases[w][n-1].when != when {
		b.cases[w] = append(b.cases[w], said{when: when})
	}
	if last := &b.cases[w][len(b.cases[w])-1]; scope != "" {
		last.scopes = append(last.scopes, scope)
	}
}

func (b *book) write(out *strings.Builder) {
	owners := map[Owner]string{Nobody: "nobody", Person: "the person", Administrator: "the administrator"}
	for _, w := range b.words {
		var cases []string
		for _, c := range b.cases[w] {
			if n := len(c.scopes); n > 0 && n < int(resilience.ScopeEndpoint) {
				c.when += " (" + strings.Join(c.scopes, " ") + ")"
			}
			cases = append(cases, c.when)
		}
		fmt.Fprintf(out, "## %s\n%s\nFor %s: %s.\n\n", w.Title.String(), w.Message.String(), owners[w.Owner],
			strings.Join(cases, ", "))
	}
}

// explained says every state of a connection: each category in each scope, with and without a provider's advice.
func explained(t *testing.T, b *book) {
	for _, s := range []backoff.State{{}, {Mendable: true}, {Mendable: true, ForAdmin: true}} {
		s.Kind, s.Category, s.Scope, s.Astray = backoff.Waiting, resilience.Upstream, resilience.ScopeStream, true
		moved := providers.Advice(&resilience.AnswerError{MovedTo: "https://music.example.org"})
		w := Explain(everyone[len(everyone)-1], library.Connection{}, Trouble{State: s, Advice: moved,
			Waiting: words.Plain("37 listens are waiting")})
		require.Equal(t, s.Mendable, w.Owner != Nobody)
		b.add(w, "an answer astray", "")
	}
	since := time.Date(2027, 1, 14, 9, 12, 0, 0, time.UTC)
	c := library.Connection{ExpiresAt: since.AddDate(0, 3, 0)}
	for _, p := range everyone {
		for _, kind := range []backoff.Kind{backoff.Waiting, backoff.Held, backoff.Stopped} {
			for category := resilience.Auth; category <= resilience.Unknown; category++ {
				for scope := resilience.ScopeItem; scope <= resilience.ScopeEndpoint; scope++ {
					for _, own := range []words.Text{{}, advice} {
						s := backoff.State{Kind: kind, Category: category, Scope: scope, Since: since, Failures: 3}
						w := Explain(p, c, Trouble{State: s, Stream: library.Listens, Advice: own})
						requirePlain(t, w)
						require.Contains(t, w.Message.String(), own.String())
						require.Equal(t, kind == backoff.Stopped, w.Owner != Nobody,
							"somebody must act when it stopped, else nobody")
						require.Equal(t, kind == backoff.Stopped && category == resilience.Auth &&
							scope != resilience.ScopeApp,
							strings.HasPrefix(w.Title.String(), "Reconnect "),
							"reconnecting helps when the permission ended, and only then: %v %v", category, scope)
						if own.IsZero() {
							b.add(w, fmt.Sprint(kind, " ", category), scope.String())
						}
					}
				}
			}
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	explained(t, &book{})
	require.Zero(t, Explain(spotify, library.Connection{}, Trouble{Stream: library.Listens, Advice: advice}))
}

func TestThePermissionEndedOnItsDay(t *testing.T) {
	t.Parallel()
	end := time.Date(2027, 1, 14, 9, 0, 0, 0, time.UTC)
	ended := "Spotify access expired on 14 January 2027 (it lasts 6 months)."
	gone := "Spotify access has expired or was revoked."
	for since, want := range map[time.Time]string{end.Add(time.Minute): ended, end.Add(-time.Hour): ended,
		end.AddDate(0, 0, 3): ended, end.AddDate(0, 0, -3): gone} {
		s := backoff.State{Kind: backoff.Stopped, Category: resilience.Auth, Scope: resilience.ScopeConnection,
			Since: since}
		w := Explain(spotify, library.Connection{ExpiresAt: end}, Trouble{State: s, Stream: library.Listens})
		require.Equal(t,
			want+" Reconnect to continue; everything stored is safe.", w.Message.String())
		w = Explain(spotify, library.Connection{}, Trouble{State: s, Stream: library.Listens})
		require.Contains(t, w.Message.String(), gone, "without a known end")
	}
}

// refusals are the errors with which proving a credential can end.
func refusals() map[string]error {
	all := map[string]error{
		"no answer": &resilience.NetworkError{Endpoint: "GET /v1/me",
			Err: errors.New("dial tcp 127.0.0.1:1: connect: connection refused")},
		"no TLS": &resilience.NetworkError{Endpoint: "GET /v1/me",
			Err: tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}},
		"a certificate": &resilience.NetworkError{Endpoint: "GET /v1/me",
			Err: &tls.CertificateVerificationError{Err: errors.New("x509: unknown authority")}},
		"a deadline":    fmt.Errorf("get: %w", context.DeadlineExceeded),
		"another shape": &resilience.ContractError{Endpoint: "GET /v1/me", What: "not valid JSON"},
		"a field":       &resilience.SettingError{Setting: "url", Problem: words.New("field.server.empty")},
		"a setting": &resilience.SettingError{Setting: "providers.spotify.client_id",
			Problem: words.Plain("It is missing.")},
		"a page": &resilience.AnswerError{Endpoint: "GET /v1/me", Status: 401, HTML: true,
			Message: "HTTP 401 error"},
		"something unknown": errors.New("unexpected EOF, status 401"),
		"a stop":            context.Canceled,
	}
	for _, status := range []int{301, 400, 401, 403, 404, 410, 418, 422, 429, 500, 503} {
		all[fmt.Sprintf("an answer %d", status)] = &resilience.AnswerError{Endpoint: "GET /v1/me", Status: status,
			Code: "invalid_grant", Message: "HTTP error, status 401"}
	}
	for class := resilience.Retriable; class <= resilience.Fatal; class++ {
		for category := resilience.Auth; category <= resilience.Unknown; category++ {
			for scope := resilience.ScopeItem; scope <= resilience.ScopeEndpoint; scope++ {
				all[fmt.Sprintf("%v %v in %v", class, category, scope)] = &resilience.AnswerError{
					Endpoint: "GET /v1/me", Status: 401, Message: "HTTP error, status 401",
					Meaning: &resilience.Meaning{Class: class, Category: category, Scope: scope}}
			}
		}
	}
	return all
}

func refusedWords(t *testing.T, b *book) {
	all := refusals()
	for _, p := range everyone {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			w := Refused(p, all[name])
			requirePlain(t, w)
			require.Contains(t, w.Message.String(), "Nothing was saved.")
			require.NotEqual(t, Nobody, w.Owner)
			require.Equal(t, w.Owner == Administrator, strings.Contains(w.Message.String(), "administrator"),
				w.Message.String())
			when, scope, _ := strings.Cut(name, " in ")
			b.add(w, when, scope)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	refusedWords(t, &book{})
	own := &resilience.AnswerError{Status: 403, Message: "HTTP error",
		Meaning: &resilience.Meaning{Class: resilience.Fatal, Category: resilience.Auth,
			Advice: words.Plain(advice.String())}}
	require.Equal(t, advice.String()+" Nothing was saved.", Refused(spotify, own).Message.String())
	require.Equal(t, Refused(spotify, own), Refused(spotify, fmt.Errorf("prove: %w", own)))
	wrong := &resilience.AnswerError{Status: 401, Message: "wrong username or password"}
	home := *navidrome
	home.Fields = []providers.Field{{Name: "password"}}
	require.Contains(t, Refused(&home, wrong).Message.String(), "doesn't accept this username and password.")

	for why, says := range map[resilience.Category]string{resilience.Network: "no internet connection",
		resilience.CircuitOpen: "Reprise pauses for a while",
		resilience.RateLimit:   "limiting requests"} {
		kept := &backoff.NotBeforeError{Endpoint: "POST token endpoint", Offline: why == resilience.Network,
			State: backoff.State{Kind: backoff.Waiting, Category: why}}
		w := Refused(spotify, kept)
		requirePlain(t, w)
		require.Contains(t, w.Message.String(), says)
		require.Contains(t, w.Message.String(), "Nothing was saved.")
	}
}

func notices(t *testing.T, b *book) {
	since := time.Date(2027, 1, 14, 9, 12, 0, 0, time.UTC)
	for _, months := range []int{1, 3, 5, 6, 12} {
		p := &providers.Provider{Description: providers.Description{DisplayName: "Spotify"},
			OAuth: &providers.OAuth{Months: months}}
		c := library.Connection{ExpiresAt: since}
		b.add(Ending(p, c), fmt.Sprint("an end after ", months, " months"), "")
		s := backoff.State{Kind: backoff.Stopped, Category: resilience.Auth, Scope: resilience.ScopeConnection,
			Since: since}
		b.add(Explain(p, c, Trouble{State: s, Stream: library.Listens}),
			fmt.Sprint("the end after ", months, " months"), "")
	}
	s := backoff.State{Kind: backoff.Stopped, Category: resilience.Config, Scope: resilience.ScopeConnection,
		Since: since, ForAdmin: true}
	b.add(
		Explain(spotify, library.Connection{},
			Trouble{State: s, Stream: library.Listens, Waiting: words.Plain("37 listens are waiting")}),
		"what only the administrator can mend, to the person",
		"",
	)
	b.add(ForAdministrator(spotify, library.Connection{Account: "bob"}, "Bob", advice), "the same, to them", "")
	b.add(ForAdministrator(spotify, library.Connection{}, "", words.Text{}), "the same, of their own", "")
	b.add(StillFailing(spotify, library.Connection{}, backoff.State{Kind: backoff.Waiting,
		Category: resilience.Upstream,
		Since:    since}), "trouble for a day", "")
	for _, w := range b.words {
		requirePlain(t, w)
	}
}

// TestEverySentence keeps all sentences in one file, to be read as a person reads them. Run with -update to
// rewrite it.
func TestEverySentence(t *testing.T) {
	t.Parallel()
	const golden = "testdata/sentences.golden"
	var out strings.Builder
	for _, part := range []struct {
		title string
		say   func(*testing.T, *book)
	}{{"A connection's state", explained}, {"New credentials that were not taken", refusedWords},
		{"Notices", notices}} {
		var b book
		part.say(t, &b)
		fmt.Fprintf(&out, "# %s\n\n", part.title)
		b.write(&out)
	}
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, []byte(out.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), out.String())
}

func TestSentencesSayWhatHappensNext(t *testing.T) {
	t.Parallel()
	until := time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC)
	c := library.Connection{}
	say := func(name string, kind backoff.Kind, category resilience.Category, waiting words.Text) Words {
		p := &providers.Provider{Description: registry.Describe(name)}
		if name == "spotify" {
			p = spotify
		}
		return Explain(p, c, Trouble{Stream: library.Listens, Waiting: waiting, State: backoff.State{Kind: kind,
			Category: category, Scope: resilience.ScopeConnection, Until: until}})
	}
	plain := func(l *words.Language, w Words) string { return l.Plain(w.Message.In(l), until.Add(-time.Hour)) }
	none := words.Text{}
	for want, w := range map[string]Words{
		"Last.fm is limiting requests. Reprise waits until 08:00.": say("lastfm", backoff.Held,
			resilience.RateLimit, none),
		"Today's YouTube quota is used up. Reprise continues at midnight Pacific time (08:00 for you).": say("youtube",
			backoff.Held, resilience.Quota, none),
		"ListenBrainz isn't responding. Reprise retries automatically; nothing to do.": say("listenbrainz",
			backoff.Waiting, resilience.Upstream, none),
		"Navidrome rejected the saved password. Did it change? Reconnect to continue; everything stored is safe.": say(
			"navidrome", backoff.Stopped, resilience.Auth, none),
		"Spotify access has expired or was revoked. Reconnect to continue; 37 listens are waiting.": say("spotify",
			backoff.Stopped, resilience.Auth, words.Plain("37 listens are waiting")),
	} {
		require.Equal(t, want, plain(words.English, w))
	}
	require.Equal(t, "Das heutige Kontingent von YouTube ist aufgebraucht. Reprise macht um Mitternacht pazifischer "+
		"Zeit weiter (bei dir: 08:00).", plain(words.German, say("youtube", backoff.Held, resilience.Quota, none)))
}

func TestCauseTellsStopsApart(t *testing.T) {
	t.Parallel()
	for scope, want := range map[resilience.Scope]string{resilience.ScopeConnection: "auth",
		resilience.ScopeStream: "auth:listens", resilience.ScopeApp: "auth:app"} {
		require.Equal(t, want, Cause("auth", scope, library.Listens))
	}
}
