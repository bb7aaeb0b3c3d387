package sync

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// endless is a service whose lists never end.
type endless struct{}

func (endless) Playlists(context.Context) iter.Seq2[[]library.Playlist, error] {
	return func(yield func([]library.Playlist, error) bool) {
		for yield(make([]library.Playlist, 100), nil) {
		}
	}
}

func (endless) Tracks(context.Context, library.Playlist, providers.LeaveOut) iter.Seq2[[]library.Track, error] {
	return func(yield func([]library.Track, error) bool) {
		for yield(make([]library.Track, 100), nil) {
		}
	}
}

// noted is a store of playlists that keeps the note.
type noted struct {
	Store
	note, position string
	skipped        []library.Skipped
}

func (noted) ConnectionPlaylists(
	context.Context, int64, library.ConnectionID,
) ([]library.StoredPlaylist, error) {
	return nil, nil
}

func (noted) Position(context.Context, int64, library.ConnectionID, string) (string, error) {
	return "", nil
}

func (n *noted) SavePosition(
	_ context.Context, _ int64, _ library.ConnectionID, _, position string, note words.Text,
) error {
	n.position, n.note = position, note.String()
	return nil
}

func (noted) Skipped(context.Context, int64, library.ConnectionID) ([]library.Skipped, error) {
	return nil, nil
}

func (n *noted) SaveSkipped(
	_ context.Context, _ int64, _ library.ConnectionID, _ string, items []library.Skipped,
) error {
	n.skipped = items
	return nil
}

func TestEndlessListsBreakTheContract(t *testing.T) {
	t.Parallel()
	rd := &reader{store: &noted{}, bus: &events.Bus{}}
	_, err := rd.readPlaylists(t.Context(), library.Connection{}, endless{})
	require.Equal(t, &resilience.ContractError{Endpoint: "playlists", What: "more than 10000 playlists"}, err)
	_, _, err = rd.readPlaylist(t.Context(), library.Connection{}, endless{}, listed{}, roomIn(nil))
	require.EqualError(t, err, "playlists: unexpected answer: a playlist of more than 20000 tracks")
}

// unreadable is a service none of whose many playlists can be read.
type unreadable struct{}

func (unreadable) Playlists(context.Context) iter.Seq2[[]library.Playlist, error] {
	return func(yield func([]library.Playlist, error) bool) {
		page := make([]library.Playlist, 5000)
		for i := range page {
			page[i] = library.Playlist{SourceID: fmt.Sprint(i), Name: strings.Repeat("long ", 1000), Snapshot: "s"}
		}
		yield(page, nil)
	}
}

func (unreadable) Tracks(context.Context, library.Playlist, providers.LeaveOut) iter.Seq2[[]library.Track, error] {
	return func(yield func([]library.Track, error) bool) {
		yield(nil, &resilience.AnswerError{Status: 404})
	}
}

// TestThousandsOfRefusedListsAreNamedBriefly: the note is shown on a page.
func TestThousandsOfRefusedListsAreNamedBriefly(t *testing.T) {
	t.Parallel()
	store := &noted{}
	rd := &reader{store: store, bus: &events.Bus{}}
	_, err := rd.readPlaylists(t.Context(), library.Connection{}, unreadable{})
	require.NoError(t, err)
	require.Contains(t, store.note, ", and 4,980 more.")
	require.Less(t, len(store.note), 15_000)
	require.Len(t, store.skipped, library.MaxSkipped)
}

// fickle is a service that names other playlists each time, of 20,000 tracks each.
type fickle struct{ n int }

func (f *fickle) Playlists(context.Context) iter.Seq2[[]library.Playlist, error] {
	return func(yield func([]library.Playlist, error) bool) {
		page := make([]library.Playlist, 10)
		for i := range page {
			f.n++
			page[i] = library.Playlist{SourceID: fmt.Sprint(f.n)}
		}
		yield(page, nil)
	}
}

func (*fickle) Tracks(context.Context, library.Playlist, providers.LeaveOut) iter.Seq2[[]library.Track, error] {
	return func(yield func([]library.Track, error) bool) { yield(make([]library.Track, maxTracks), nil) }
}

// hoard is a store of playlists that keeps how many tracks each has.
type hoard struct {
	noted
	kept []library.StoredPlaylist
}

func (h *hoard) ConnectionPlaylists(
	context.Context, int64, library.ConnectionID,
) ([]library.StoredPlaylist, error) {
	return h.kept, nil
}

func (*hoard) SetGone(context.Context, int64) error { return nil }

func (h *hoard) SavePlaylist(_ context.Context, _ int64, _ library.ConnectionID, p library.Playlist, _ int,
	tracks []library.Track) error {
	p.TrackCount = len(tracks)
	h.kept = append(h.kept, library.StoredPlaylist{Playlist: p})
	return nil
}

func TestNewPlaylistsEachTimeFillNoDisk(t *testing.T) {
	t.Parallel()
	h, source := &hoard{}, &fickle{}
	rd := &reader{store: h, bus: &events.Bus{}}
	var err error
	for range 5 {
		_, err = rd.readPlaylists(t.Context(), library.Connection{}, source)
	}
	require.EqualError(t, err, "playlists: unexpected answer: playlists of more than 500000 tracks in all, with those "+
		"that are gone there and kept here")
	require.Len(t, h.kept, maxInAll/maxTracks)
	left := &room{playlists: 0, tracks: 1}
	require.ErrorContains(t, left.take(nil, 1), "more than 20000 playlists")
	known := library.StoredPlaylist{Playlist: library.Playlist{TrackCount: 3}}
	require.NoError(t, left.take(&known, 2), "what is there may become less")
}
