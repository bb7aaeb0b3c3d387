package sync_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/enginetest"
	"reprise/internal/library"
	"reprise/internal/providers/providertest"
	"reprise/internal/providers/registry"
)

// shelf simulates a library of the Subsonic API that tells of each song only when it was played last, and how often:
// Navidrome 0.58 by its own API, gonic by its albums. It has every song that somebody plays.
type shelf struct {
	native bool                                        // Navidrome
	again  func(*enginetest.Engine) *enginetest.Engine // starts an engine that was stopped

	mu    sync.Mutex
	plays map[string][]time.Time // by title, in the order of arrival
	takes int                    // so many more calls are answered that send plays, then none; 0 for all
	cut   chan struct{}          // is closed when one is not answered that has been taken
}

const shelfHost = "music.example.org"

// shelve puts a shelf into the world of an engine.
func shelve(e *enginetest.Engine, up *enginetest.Upstreams, s *shelf) *shelf {
	if s.plays == nil {
		s.plays = map[string][]time.Time{}
	}
	up.Fail(shelfHost, func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		if err := s.serve(w, r); err != nil {
			return nil, err
		}
		return enginetest.Answer(r, w.Code, w.Body.String()), nil
	})
	e.Registry.Replace(providertest.New(registry.Describe("navidrome")))
	return s
}

// play adds a play that the server itself has seen.
func (s *shelf) play(title string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plays[title] = append(s.plays[title], at.Truncate(time.Second))
}

// count returns how many plays the server has counted.
func (s *shelf) count() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.plays {
		n += len(at)
	}
	return n
}

func (s *shelf) songLocked(title string) map[string]any {
	o := map[string]any{"id": "song-" + title, "title": title, "artist": "Sigur Rós", "album": "Album",
		"duration": 180, "playCount": len(s.plays[title])}
	if at := s.plays[title]; len(at) > 0 {
		last := slices.MaxFunc(at, time.Time.Compare).UTC().Format(time.RFC3339)
		o["played"], o["playDate"] = last, last
	}
	return o
}

// playedLocked returns the titles that were played, the latest first.
func (s *shelf) playedLocked() (titles []string) {
	for title := range s.plays {
		titles = append(titles, title)
	}
	last := func(title string) time.Time { return slices.MaxFunc(s.plays[title], time.Time.Compare) }
	slices.SortFunc(titles, func(a, b string) int { return last(b).Compare(last(a)) })
	return titles
}

func (s *shelf) serve(w http.ResponseWriter, r *http.Request) error {
	_ = r.ParseForm()
	switch {
	case r.URL.Path == "/auth/login" && s.native:
		writeJSON(w, map[string]any{"token": "x"})
	case r.URL.Path == "/api/song" && s.native:
		s.mu.Lock()
		defer s.mu.Unlock()
		rows := []any{}
		titles := s.playedLocked()
		from, _ := strconv.Atoi(r.Form.Get("_start"))
		to, _ := strconv.Atoi(r.Form.Get("_end"))
		for _, title := range titles[min(from, len(titles)):min(to, len(titles))] {
			rows = append(rows, s.songLocked(title))
		}
		writeJSON(w, rows)
	case strings.HasPrefix(r.URL.Path, "/rest/"):
		return s.subsonic(w, r, strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/rest/"), ".view"))
	default:
		http.Error(w, "{}", http.StatusNotFound)
	}
	return nil
}

func (s *shelf) subsonic(w http.ResponseWriter, r *http.Request, method string) error {
	a := map[string]any{"status": "ok", "version": "1.16.1", "type": "gonic", "openSubsonic": true}
	if s.native {
		a["type"] = "navidrome"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch method {
	case "getUser":
		a["user"] = map[string]any{"username": r.Form.Get("u")}
	case "getAlbumList2":
		albums, titles := []any{}, s.playedLocked()
		from, _ := strconv.Atoi(r.Form.Get("offset"))
		for _, title := range titles[min(from, len(titles)):min(from+20, len(titles))] {
			albums = append(albums, map[string]any{"id": "of-" + title, "name": "Album"})
		}
		a["albumList2"] = map[string]any{"album": albums}
	case "getAlbum":
		title := strings.TrimPrefix(r.Form.Get("id"), "of-")
		a["album"] = map[string]any{"song": []any{s.songLocked(title)}}
	case "search3":
		title := strings.TrimSuffix(r.Form.Get("query"), " sigur ros")
		a["searchResult3"] = map[string]any{"song": []any{s.songLocked(title)}}
	case "getPlaylists":
		a["playlists"] = map[string]any{}
	case "scrobble":
		s.takeLocked(r.Form["id"], r.Form["time"])
		if s.takes--; s.takes == 0 {
			close(s.cut)
			s.mu.Unlock()
			<-r.Context().Done()
			s.mu.Lock()
			return r.Context().Err()
		}
	}
	writeJSON(w, map[string]any{"subsonic-response": a})
	return nil
}

// takeLocked counts plays that were sent.
func (s *shelf) takeLocked(ids, times []string) {
	for i, id := range ids {
		ms, _ := strconv.ParseInt(times[i], 10, 64)
		title := strings.TrimPrefix(id, "song-")
		s.plays[title] = append(s.plays[title], time.UnixMilli(ms).Truncate(time.Second))
	}
}

func writeJSON(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

// connectShelf connects a person to the library, and forwards their listens there from now on.
func connectShelf(t *testing.T, e *enginetest.Engine, user int64, name string) {
	t.Helper()
	_, err := e.Connections.Connect(t.Context(), e.Registry.Get("navidrome"), library.Connection{User: user,
		ID: "navidrome", Credentials: library.Credentials{"url": "https://" + shelfHost, "username": name,
			"password": "x"}})
	require.NoError(t, err)
	_, err = e.Deliveries.Forward(t.Context(), user, "navidrome", false)
	require.NoError(t, err)
}

// heard stores listens that another service tells of: of a title at a time.
func heard(t *testing.T, e *enginetest.Engine, user int64, from library.ConnectionID, plays ...enginetest.Play) {
	t.Helper()
	var page []library.Listen
	for _, p := range plays {
		page = append(page, library.Listen{SourceID: fmt.Sprintf("%s@%d", p.Title, p.At.Unix()), PlayedAt: p.At,
			Track: library.Track{Title: p.Title, Artist: "Sigur Rós", Album: "Album", Duration: 3 * time.Minute}})
	}
	_, err := e.Store.SaveListens(t.Context(), library.Intake{User: user, Connection: from, Listens: page})
	require.NoError(t, err)
}

// guessed returns how many of a person's listens have a guessed time.
func guessed(t *testing.T, e *enginetest.Engine, user int64) (n int) {
	t.Helper()
	for before := ""; ; {
		page, next, err := e.Store.FindListens(t.Context(), library.ListenFilter{User: user}, before, 1000)
		require.NoError(t, err)
		for _, l := range page {
			if l.Approximate {
				n++
			}
		}
		if before = next; next == "" {
			return n
		}
	}
}

// sent waits until nothing waits to be sent to the library, and looks at it once more.
func sent(t *testing.T, e *enginetest.Engine, user int64) {
	t.Helper()
	for range 600 {
		time.Sleep(10 * time.Second)
		c, err := e.Store.ForwardingCounts(t.Context(), user, "navidrome")
		require.NoError(t, err)
		if c.Waiting == 0 {
			enginetest.Settle()
			time.Sleep(15 * time.Minute)
			enginetest.Settle()
			return
		}
	}
	t.Fatal("something still waits to be sent")
}
