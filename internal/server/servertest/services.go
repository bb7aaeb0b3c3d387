package servertest

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// Services are the simulated providers that take listens, playlists and months. Their fields are set and read while no
// call is under way.
type Services struct {
	mu      sync.Mutex
	Fails   error           // what every call ends in; nil for none
	Refuses string          // the title of the listen that is refused
	Has     []library.Track // the catalogue
	Taken   []string        // titles
	Shown   []string        // titles of what was playing
	Hangs   bool            // no call ends by itself
	Cut     int             // calls that hung and were cut off
	List    []string        // the tracks of the only playlist
	Named   string          // its name; empty for a service that does not list it
	Gone    bool            // it was deleted
	Halfway []string        // what the next replacement of its tracks leaves when it breaks off; nil if it doesn't
	Listed  int             // how often the list of playlists was asked for
	Opened  int             // and the tracks of the playlist

	Searches int      // for songs
	Deleted  []string // the ids of listens
}

// Fail sets what every call ends in.
func (s *Services) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Fails = err
}

// hang waits until a call is cut off, if calls hang.
func (s *Services) hang(ctx context.Context) bool {
	s.mu.Lock()
	hangs := s.Hangs
	s.mu.Unlock()
	if hangs {
		<-ctx.Done()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.Cut++
	}
	return hangs
}

// Prove implements providers.Adapter.
func (s *Services) Prove(context.Context) (providers.Account, error) {
	return providers.Account{}, nil
}

// Submit implements providers.ListenTaker.
func (s *Services) Submit(ctx context.Context, plays []library.StoredListen) ([]error, error) {
	if s.hang(ctx) {
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Fails != nil {
		return nil, s.Fails
	}
	outcomes := make([]error, len(plays))
	for i, p := range plays {
		if p.Title == s.Refuses {
			outcomes[i] = Answer(http.StatusBadRequest, resilience.Item, resilience.ScopeItem,
				"It is too old for this service.")
			continue
		}
		s.Taken = append(s.Taken, p.Title)
	}
	return outcomes, nil
}

// Playing implements providers.PlayingTaker.
func (s *Services) Playing(_ context.Context, t library.Track) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Fails == nil {
		s.Shown = append(s.Shown, t.Title)
	}
	return s.Fails
}

// DeleteListen implements providers.ListenDeleter.
func (s *Services) DeleteListen(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Fails == nil {
		s.Deleted = append(s.Deleted, id)
	}
	return s.Fails
}

// Find implements providers.SongFinder.
func (s *Services) Find(_ context.Context, t library.Track) ([]library.Track, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Searches++
	return slices.Clone(s.Has), s.Fails
}

// Playlists implements providers.PlaylistSource.
func (s *Services) Playlists(context.Context) iter.Seq2[[]library.Playlist, error] {
	return func(yield func([]library.Playlist, error) bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.Listed++
		if s.Named != "" && !s.Gone {
			yield([]library.Playlist{{SourceID: "there", Name: s.Named, Snapshot: strings.Join(s.List, "/")}}, s.Fails)
		} else if s.Fails != nil {
			yield(nil, s.Fails)
		}
	}
}

// Tracks implements providers.PlaylistSource.
func (s *Services) Tracks(context.Context, library.Playlist, providers.LeaveOut) iter.Seq2[[]library.Track, error] {
	return func(yield func([]library.Track, error) bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.Opened++; s.Gone {
			yield(nil, Answer(http.StatusNotFound, resilience.Item, resilience.ScopeItem, "It is gone."))
			return
		}
		var tracks []library.Track
		for _, id := range s.List {
			tracks = append(tracks, library.Track{SourceID: id})
		}
		yield(tracks, nil)
	}
}

// CreatePlaylist implements providers.PlaylistWriter.
func (s *Services) CreatePlaylist(ctx context.Context, name string, tracks []string) (string, error) {
	return "there", s.ReplacePlaylist(ctx, "there", name, tracks)
}

// ReplacePlaylist implements providers.PlaylistWriter.
func (s *Services) ReplacePlaylist(_ context.Context, _, name string, tracks []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.List, s.Gone = tracks, false
	if s.Halfway != nil {
		s.List, s.Halfway = s.Halfway, nil
		return ErrUnreachable
	}
	if s.Named != "" {
		s.Named = name
	}
	return s.Fails
}

// Keep implements providers.ObjectStore.
func (s *Services) Keep(context.Context, string, string, []byte) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return "etag", s.Fails
}

// Answer returns a provider's error answer with its meaning.
func Answer(status int, category resilience.Category, scope resilience.Scope, advice string) error {
	return &resilience.AnswerError{Endpoint: "POST /submit", Status: status, Message: "no",
		Meaning: &resilience.Meaning{Class: resilience.Fatal, Category: category, Scope: scope,
			Advice: words.Plain(advice)}}
}

// ErrUnreachable is that of a call whose answer broke off.
var ErrUnreachable = &resilience.NetworkError{Endpoint: "POST /submit", Err: errors.Join(io.ErrUnexpectedEOF)}
