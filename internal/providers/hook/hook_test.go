package hook_test

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/hook"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience"
)

const (
	secret  = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	address = "http://home.example.org:8123/api/webhook/geoff-Xq3/?of=geoff"
)

var geoff = library.Credentials{"url": address, "secret": secret}

// program is a program of a person's own, and keeps what it accepts.
type program struct {
	calls []call
}

type call struct {
	to      string
	header  http.Header
	body    []byte
	Type    string
	Data    map[string]any
	checked error // by the library of Standard Webhooks
}

func (p *program) answer(r *http.Request) (int, http.Header, string) {
	c := call{to: r.Method + " " + r.URL.String(), header: r.Header}
	c.body, _ = io.ReadAll(r.Body)
	check, err := standardwebhooks.NewWebhook(secret)
	if err == nil {
		err = check.Verify(c.body, r.Header)
	}
	c.checked = errors.Join(err, json.Unmarshal(c.body, &c))
	p.calls = append(p.calls, c)
	return http.StatusOK, http.Header{"Content-Type": {"text/html"}}, "Thank you."
}

func open(p *program, cred library.Credentials) providers.Adapter {
	return providertest.New(hook.Describe()).Open(providertest.Call(providertest.Respond(p.answer)), cred)
}

// meaning returns what the error table says of a status.
func meaning(table, status int) resilience.Meaning {
	for _, row := range hook.Describe().Tables.Of[table].Table {
		if row.Status == status {
			return row.Meaning
		}
	}
	panic("no such row")
}

func TestConformance(t *testing.T) {
	t.Parallel()
	providertest.Describes(t, hook.Describe())
	all := map[int]resilience.Meaning{}
	for _, status := range []int{401, 403, 404, 405, 410} {
		all[status] = meaning(0, status)
	}
	plays := map[int]resilience.Meaning{}
	maps.Copy(plays, all)
	for _, status := range []int{400, 409, 413, 422} {
		plays[status] = meaning(1, status)
	}
	one := []library.StoredListen{listen()}
	providertest.Run(t, providertest.Suite{
		Provider: providertest.New(hook.Describe()), Credentials: geoff, Plays: one,
		Secrets: []string{"geoff-Xq3"},
		Prove:   providertest.Capability{Healthy: (&program{}).answer, Statuses: all, Ignored: true},
		Submit:  providertest.Capability{Healthy: (&program{}).answer, Statuses: plays, Ignored: true},
		Love:    providertest.Capability{Healthy: (&program{}).answer, Statuses: plays, Ignored: true},
	})
}

func listen() library.StoredListen {
	at := time.Date(2026, 11, 20, 21, 4, 11, 123e6, time.UTC)
	return library.StoredListen{ID: 48213,
		Listen: library.Listen{Track: library.Track{Title: "Jóga", Artist: "Björk", Duration: 305 * time.Second},
			PlayedAt: at},
		Sources: []library.Source{{Connection: "spotify", SourceID: "7", Player: "Kitchen"}}}
}

// Promise: A webhook gets each play once it is stored, signed as the libraries of Standard Webhooks check it, and a
// repeat with the same id.
func TestAProgramGetsWhatIsHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &program{}
		a := open(p, geoff)
		account, err := a.Prove(t.Context())
		require.NoError(t, err)
		require.Equal(t, "home.example.org:8123", account.Name)
		require.Empty(t, account.ID, "another address is no other account")

		taker := a.(providers.ListenTaker)
		for range 2 {
			outcomes, err := taker.Submit(t.Context(), []library.StoredListen{listen()})
			require.NoError(t, err)
			require.Empty(t, outcomes)
			time.Sleep(time.Minute)
		}
		require.NoError(t, a.(providers.PlayingTaker).Playing(t.Context(), listen().Track))

		types := []string{}
		for _, c := range p.calls {
			require.NoError(t, c.checked)
			require.Equal(t, "POST "+address, c.to, "to the letter")
			types = append(types, c.Type)
		}
		require.Equal(t, []string{"test", "play", "play", "now_playing"}, types)
		require.Equal(t, p.calls[1].header.Get("webhook-id"), p.calls[2].header.Get("webhook-id"), "a repeat")
		require.Equal(t, p.calls[1].body, p.calls[2].body)
		require.NotEqual(t, p.calls[0].header.Get("webhook-id"), p.calls[3].header.Get("webhook-id"))
		require.Equal(t, "Jóga", p.calls[1].Data["track"])
		require.Equal(t, "2026-11-20T21:04:11.123Z", p.calls[1].Data["played_at"])
		require.Equal(t, map[string]any{"track": "Jóga", "artist": "Björk", "album": "", "duration_ms": 305000.0},
			p.calls[3].Data)
	})
}

// A secret may be any text, or none.
func TestSecretsOfWebhooks(t *testing.T) {
	t.Parallel()
	for given, key := range map[string]string{" plain text ": "plain text", "whsec_not base64": "whsec_not base64",
		"": ""} {
		p := &program{}
		_, err := open(p, library.Credentials{"url": address, "secret": given}).Prove(t.Context())
		require.NoError(t, err)
		if key == "" {
			require.Empty(t, p.calls[0].header.Get("webhook-signature"))
			continue
		}
		check, err := standardwebhooks.NewWebhookRaw([]byte(key))
		require.NoError(t, err)
		require.NoError(t, check.Verify(p.calls[0].body, p.calls[0].header), given)
	}
}

// An address is called as it was entered, and one that can't be is refused in the form.
func TestAddressesOfWebhooks(t *testing.T) {
	t.Parallel()
	for typed, called := range map[string]string{
		" https://hooks.example.org/a%2Fb/?x=1&y=%20#top ": "https://hooks.example.org/a%2Fb/?x=1&y=%20",
		"10.0.0.7:8123/api/webhook/id":                     "http://10.0.0.7:8123/api/webhook/id",
		"hooks.example.org":                                "https://hooks.example.org",
	} {
		p := &program{}
		_, err := open(p, library.Credentials{"url": typed}).Prove(t.Context())
		require.NoError(t, err, typed)
		require.Equal(t, "POST "+called, p.calls[0].to)
	}
	for _, typed := range []string{"", "ftp://example.org", "https://geoff:secret@example.org/", "https://",
		"http://[::1"} {
		p := &program{}
		a := open(p, library.Credentials{"url": typed})
		_, err := a.Prove(t.Context())
		refused, ok := errors.AsType[*resilience.SettingError](err)
		require.True(t, ok, "%q: %v", typed, err)
		require.Equal(t, "url", refused.Setting)
		_, err = a.(providers.ListenTaker).Submit(t.Context(), []library.StoredListen{listen()})
		require.Error(t, err)
		require.Empty(t, p.calls)
		require.False(t, strings.Contains(err.Error(), "secret"))
	}
}
