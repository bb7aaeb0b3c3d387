package navidrome_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/navidrome"
	"reprise/internal/providers/providertest"
)

// TestReadsAreRepeatedAndWritesAreNot: in this API the verb does not tell them apart.
//
// Promise: Reads and writes differ where the HTTP method doesn't: a play sent twice counts twice.
func TestReadsAreRepeatedAndWritesAreNot(t *testing.T) {
	t.Parallel()
	for form, verb := range map[string]string{"yes": "POST", "no": "GET"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFar(t, map[string][]string{"search3": {"status 503", "search.json"},
					"scrobble": {"status 503", "done.json"}, "createPlaylist": {"status 503", "done.json"}})
				f.eager = true
				ctx := t.Context()
				taker := f.open("form", form).(providers.LibraryTaker)
				_, err := providertest.Submit(ctx, taker, []library.StoredListen{roygbiv})
				require.Error(t, err)
				require.Equal(t, []string{verb + " search3", verb + " search3", verb + " scrobble"}, f.asked)
				_, err = f.open("form", form).(providers.PlaylistWriter).CreatePlaylist(ctx, "Rain", []string{jogaID})
				require.Error(t, err)
				require.Len(t, f.of("createPlaylist"), 1)
			})
		})
	}
}

// TestTokenAndSaltAreNotShown: some servers answer with the address or the form that they refuse.
//
// Promise: The secrets in a request never come back: people share logs and screenshots.
func TestTokenAndSaltAreNotShown(t *testing.T) {
	t.Parallel()
	for name, learned := range map[string]library.Credentials{
		"address":  {"auth": "token", "form": "no"},
		"form":     {"auth": "token", "form": "yes"},
		"password": {"auth": "password", "form": "yes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var secrets []string
			call := providertest.Call(providertest.Respond(func(r *http.Request) (int, http.Header, string) {
				require.NoError(t, r.ParseForm())
				for _, field := range []string{"t", "s", "p"} {
					if v := r.Form.Get(field); v != "" {
						secrets = append(secrets, v)
					}
				}
				return 200, nil, fmt.Sprintf(`{"subsonic-response":{"status":"failed","version":"1.16.1","error":`+
					`{"code":0,"message":"cannot read %s"}}}`, r.Form.Encode())
			}))
			creds := merge(merge(geoff, library.Credentials{"native": "no"}), learned)
			a := providertest.New(navidrome.Describe()).Open(call, creds)
			_, err := a.(providers.ListenTaker).Submit(t.Context(), []library.StoredListen{joga})
			require.ErrorContains(t, err, "cannot read")
			require.NotEmpty(t, secrets)
			for _, secret := range secrets {
				require.NotContains(t, err.Error(), secret)
			}
		})
	}
}
