package test

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// Promise: What is deleted at ListenBrainz, too, is deleted there once, even if the process is killed meanwhile.
func TestListensAreDeletedAtListenBrainz(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 120})
	env := append(worldEnv(w), "REPRISE_PROVIDERS_LISTENBRAINZ_RATE=40")
	p := start(t, t.TempDir(), env...)
	v := p.newcomer()
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	v.becomes("listenbrainz", "healthy")
	before := w.ListenBrainz.Listens(demo.Alice)
	var ids []string
	gone := map[playID]bool{}
	for _, l := range v.call("GET", "/listens?limit=60", nil, http.StatusOK)["listens"].([]any) {
		l := l.(object)
		ids = append(ids, l["id"].(string))
		at, err := time.Parse(time.RFC3339, l["played_at"].(string))
		require.NoError(t, err)
		gone[playID{at.Unix(), l["track"].(string)}] = true
	}
	require.Len(t, gone, 60)
	v.call("POST", "/listens/delete", object{"ids": ids, "there": []string{"listenbrainz"}}, http.StatusOK)
	v.eventually("ListenBrainz to delete some", func() bool { return len(w.ListenBrainz.Deleted()) >= 10 })
	require.Error(t, p.stop(syscall.SIGKILL))
	p = startAt(t, p.cmd.Args[2], strings.TrimPrefix(p.url, "http://"), env...)
	v = p.returning()
	v.eventually("ListenBrainz to have deleted all", func() bool {
		all := v.call("GET", "/corrections", nil, http.StatusOK)["corrections"].([]any)
		return all[0].(object)["there"].([]any)[0].(object)["accepted"] == 60.0
	})
	after := count(w.ListenBrainz.Listens(demo.Alice))
	for _, one := range before {
		require.Equal(t, !gone[idOf(one)], after[idOf(one)] > 0, "%s at %s", one.Title, one.At)
	}
	asked := map[int64]bool{} // by time alone: what is gone has no title when it is asked for again
	for _, one := range w.ListenBrainz.Deleted() {
		asked[one.At.Unix()] = true
	}
	require.Len(t, asked, 60)
	require.LessOrEqual(t, len(w.ListenBrainz.Deleted()), 61, "only what was under way is asked for again")
	v.call("POST", "/connections/listenbrainz/sync", nil, http.StatusAccepted)
	v.becomes("listenbrainz", "healthy")
	require.Len(t, v.call("GET", "/listens?limit=1000", nil, http.StatusOK)["listens"], len(before)-60)
}
