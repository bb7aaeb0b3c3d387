package listenbrainz

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience"
)

// roygbivID is the SourceID of a listen, as reading it gives.
const roygbivID = "1795197851:d23f4719-9212-49f0-ad08-ddbfbfc50d6f"

func TestAListenIsDeletedByItsID(t *testing.T) {
	t.Parallel()
	l := listen{ListenedAt: 1795197851, MSID: "d23f4719-9212-49f0-ad08-ddbfbfc50d6f"}
	require.Equal(t, roygbivID, l.plain().SourceID, "what is read is what is deleted")
	asked := 0
	a := open(func(r *http.Request) (int, http.Header, string) {
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.Equal(t, "POST /1/delete-listen", r.Method+" "+r.URL.Path)
		require.Equal(t, "Token "+token, r.Header.Get("Authorization"))
		require.JSONEq(t, `{"listened_at": 1795197851, "recording_msid": "d23f4719-9212-49f0-ad08-ddbfbfc50d6f"}`,
			string(body))
		asked++
		return 200, nil, providertest.Golden(t, "deleted.json")
	})
	require.NoError(t, a.DeleteListen(t.Context(), roygbivID))
	require.Equal(t, 1, asked)
	for _, id := range []string{"", "1795197851", "export/zip:1795197851", "1795197851:" + library.NameHash("a", "b")} {
		err := a.DeleteListen(t.Context(), id)
		require.Equal(t, resilience.Verdict{Class: resilience.Fatal, Category: resilience.Item,
			Scope: resilience.ScopeItem}, resilience.VerdictOf(err), id)
	}
	require.Equal(t, 1, asked, "what has no id there is not asked for")
}

// Koito answers with its page or 404, and Maloja with 200 and an error. Sending listens there goes on.
func TestAServerThatCannotDelete(t *testing.T) {
	t.Parallel()
	for name, far := range map[string]providertest.Respond{
		"a page": providertest.Always(200, "<!doctype html><html><title>Koito</title></html>"),
		"404":    providertest.Always(404, "404 page not found"), "405": providertest.Always(405, ""),
		"501":             providertest.Always(501, ""),
		"an error in 200": providertest.Always(200, `{"code":200,"error":"Invalid Method"}`),
	} {
		a := providertest.New(Describe()).Open(providertest.Call(far), elsewhere("https://koito.example.org"))
		err := a.(*adapter).DeleteListen(t.Context(), roygbivID)
		require.True(t, resilience.IsItem(err), "%s: %v", name, err)
		require.Equal(t, "koito.example.org has no way for programs to delete listens.",
			meant(t, err).Advice.String(), name)
	}
	gone := providertest.Always(404, `{"code":404,"error":"Cannot find listen"}`)
	a := providertest.New(Describe()).Open(providertest.Call(gone), elsewhere("https://koito.example.org"))
	require.NoError(t, a.(*adapter).DeleteListen(t.Context(), roygbivID), "it is gone already")
	down := providertest.New(Describe()).Open(providertest.Call(providertest.Always(503, "")),
		elsewhere("https://koito.example.org"))
	require.False(t, resilience.IsItem(down.(*adapter).DeleteListen(t.Context(), roygbivID)), "an outage passes")
}
