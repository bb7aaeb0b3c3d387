package test

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// openAIEnv returns the settings that point a server at the simulated language model.
func openAIEnv(w *demo.World) []string {
	return append(worldEnv(w), "REPRISE_PROVIDERS_OPENAI_API_URL="+w.OpenAI.URL,
		"REPRISE_PROVIDERS_OPENAI_KEYS="+strings.Join(w.OpenAI.Keys, ","),
		"REPRISE_PROVIDERS_OPENAI_MODEL="+w.OpenAI.Model, "REPRISE_PROVIDERS_OPENAI_PRICE_IN=0.15",
		"REPRISE_PROVIDERS_OPENAI_PRICE_OUT=0.6")
}

// digests returns this person's digests, the newest first.
func (v *person) digests() []any {
	v.t.Helper()
	return v.call("GET", "/digests", nil, http.StatusOK)["digests"].([]any)
}

func TestTheWeeklyDigest(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t, demo.Options{Plays: 8000}), t.TempDir()
	p := start(t, dir, openAIEnv(w)...)
	v := p.newcomer()
	v.call("POST", "/digest", nil, http.StatusConflict)
	v.call("PUT", "/connections/listenbrainz", map[string]string{"token": w.ListenBrainz.Token(demo.Alice)},
		http.StatusOK)
	v.eventually("the whole history", func() bool { return strings.Contains(v.page("/listens", 200), "8,000 listens") })
	require.Contains(t, v.page("/digest", 200), "Exactly what would be sent")
	require.Empty(t, w.Calls(demo.OpenAI), "nothing is sent before somebody wants it")

	// One key is spent: the digest comes all the same.
	require.NoError(t, w.Switch(demo.OpenAI, demo.KeySpent))
	one, _ := v.open()
	v.call("POST", "/digest", nil, http.StatusAccepted)
	one.next("digest", func(object) bool {
		return len(v.digests()) == 1 && v.digests()[0].(object)["state"] == "written"
	})
	written := v.digests()[0].(object)
	require.Contains(t, written["text"], "at its center")
	require.Equal(t, "USD", written["cost"].(object)["currency"])
	require.Empty(t, v.openAlerts())
	require.Len(t, w.OpenAI.Prompts(), 1)
	sent := w.OpenAI.Prompts()[0]
	require.Equal(t, sent, written["prompt"].(object)["instructions"].(string)+
		written["prompt"].(object)["text"].(string), "what is shown is what was sent")
	for _, private := range []string{"Alice", "alice", "listenbrainz"} {
		require.NotContains(t, sent, private)
	}
	settings := v.page("/settings/server", 200)
	require.Contains(t, settings, "…0001")
	require.Contains(t, settings, "its quota is used up")
	for _, key := range w.OpenAI.Keys {
		require.NotContains(t, settings+p.log.String(), key)
	}

	// A restart neither loses the digest nor writes it again.
	calls := len(w.Calls(demo.OpenAI))
	v.call("PUT", "/digest", map[string]bool{"enabled": true}, http.StatusOK)
	require.NoError(t, p.stop(syscall.SIGTERM))
	p = startAt(t, dir, strings.TrimPrefix(p.url, "http://"), openAIEnv(w)...)
	require.Len(t, v.digests(), 1)
	require.Len(t, w.Calls(demo.OpenAI), calls)

	// Both keys are spent: held for a day, and the administrator gets an alert.
	require.NoError(t, w.Switch(demo.OpenAI, demo.KeysSpent))
	v.call("DELETE", "/digests/"+written["id"].(string), nil, http.StatusNoContent)
	v.call("POST", "/digest", nil, http.StatusAccepted)
	require.Contains(t, v.alerted()["title"], "Language model quota is used up")
	require.Equal(t, "held", v.call("GET", "/digests", nil, http.StatusOK)["model"].(object)["state"])
	require.Contains(t, v.page("/digest", 200), "Reprise writes it as soon as the language model can be used.")
	require.Len(t, v.openAlerts(), 1)
	calls = len(w.Calls(demo.OpenAI))
	require.NoError(t, p.stop(syscall.SIGTERM))
	startAt(t, dir, strings.TrimPrefix(p.url, "http://"), openAIEnv(w)...)
	v.eventually("held across a restart", func() bool {
		return strings.Contains(v.page("/digest", 200), "billing page")
	})
	require.Equal(t, "held", v.call("GET", "/digests", nil, http.StatusOK)["model"].(object)["state"])
	require.Len(t, w.Calls(demo.OpenAI), calls, "the keys are known to be spent")
	require.Equal(t, "waiting", v.digests()[0].(object)["state"])
}
