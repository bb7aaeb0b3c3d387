package test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// sourcesOf returns the connections that reported each listen of a track.
func (v *person) sourcesOf(track string) (all [][]any) {
	v.t.Helper()
	for _, l := range v.call(http.MethodGet, "/listens?limit=1000", nil, 200)["listens"].([]any) {
		if l.(object)["track"] != track {
			continue
		}
		var sources []any
		for _, s := range l.(object)["sources"].([]any) {
			sources = append(sources, s.(object)["connection"])
		}
		all = append(all, sources)
	}
	return all
}

// Promise: Two Reprise servers that forward to each other have each play once, and neither sends one back.
func TestTwoServersForwardToEachOther(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 1})
	type house struct {
		*person
		base, phone, other string // the secrets of a phone and of the other server
	}
	open := func() house {
		// Neither reads the other's plays before they are sent.
		p := start(t, t.TempDir(), append(worldEnv(w), "REPRISE_SYNC_LISTENS_EVERY=1h")...)
		h := house{person: p.newcomer(), base: p.url}
		for name, secret := range map[string]*string{"Phone": &h.phone, "Other server": &h.other} {
			made := h.call(http.MethodPost, "/players", object{"name": name, "kind": "listenbrainz"}, 201)
			*secret = made["secret"].(string)
		}
		return h
	}
	one, two := open(), open()
	for _, pair := range [][2]house{{one, two}, {two, one}} {
		from, to := pair[0], pair[1]
		from.call(http.MethodPut, "/connections/listenbrainz", object{"token": to.other, "url": to.base}, 200)
		from.call(http.MethodPut, "/connections/listenbrainz/forwarding", object{"earlier": true}, 200)
	}
	began := time.Now().Add(-time.Hour)
	send := devices["listenbrainz"]
	for i, pair := range [][2]house{{one, two}, {two, one}} {
		from, to := pair[0], pair[1]
		for n, title := range [][]string{{"Jóga", "Bachelorette"}, {"Hunter", "Immature"}}[i] {
			require.True(t, send(from.base, from.phone, title, began.Add(time.Duration(20*i+5*n)*time.Minute)))
			to.eventually(title, func() bool { return len(to.sourcesOf(title)) == 1 })
		}
	}
	for _, h := range []house{one, two} {
		sent := map[any]int{}
		for _, d := range h.call(http.MethodGet, "/deliveries?limit=100", nil, 200)["deliveries"].([]any) {
			sent[d.(object)["provider"]]++
		}
		require.Equal(t, map[any]int{"listenbrainz": 2}, sent, "its phone's plays, and none of the other server's")
		for _, title := range []string{"Jóga", "Bachelorette", "Hunter", "Immature"} {
			require.Len(t, h.sourcesOf(title), 1, title)
		}
	}
}
