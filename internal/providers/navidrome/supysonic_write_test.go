package navidrome_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/navidrome"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience"
	"reprise/internal/resilience/hosts"
	"reprise/internal/resilience/transport"
	"reprise/internal/supysonictest"
)

// TestRealServerIsWritten sends playlists and plays to a Subsonic server that does not return created playlists and
// reads one play per call, with the songs in a form and in the URL.
func TestRealServerIsWritten(t *testing.T) {
	t.Parallel()
	server := supysonictest.Start(t)
	p := providertest.New(navidrome.Describe())
	base := hosts.NewBase(nil)
	t.Cleanup(base.CloseIdleConnections)
	call := resilience.Call{Client: transport.NewClient(&transport.Transport{Base: base, UserAgent: "Reprise/test"})}
	creds := library.Credentials{"url": server.URL, "username": server.Username, "password": server.Password}
	account, err := p.Open(call, creds).Prove(t.Context())
	require.NoError(t, err)

	for _, form := range []string{"yes", "no"} {
		t.Run("form="+form, func(t *testing.T) {
			a := p.Open(call, merge(merge(creds, account.Learned), library.Credentials{"form": form}))
			name := "Rain & “Fog” form=" + form
			w := written{t, a.(providers.PlaylistWriter)}
			low, middle, high := w.song("Low"), w.song("middle"), w.song("High")

			id, err := w.CreatePlaylist(t.Context(), name, []string{high, low, high})
			require.NoError(t, err)
			w.holds(id, name, "High", "Low", "High")
			other, err := w.CreatePlaylist(t.Context(), name, []string{low})
			require.NoError(t, err)
			require.NotEqual(t, id, other, "the one that was just created, of two with a name")
			w.holds(other, name, "Low")

			require.NoError(t, w.ReplacePlaylist(t.Context(), id, name, []string{middle, low}))
			w.holds(id, name, "Middle", "Low")
			require.NoError(t, w.ReplacePlaylist(t.Context(), id, name+" 2", []string{middle, low}))
			w.holds(id, name+" 2", "Middle", "Low")
			w.holds(other, name, "Low")

			many := slices.Repeat([]string{low, middle, high}, 90)
			require.NoError(t, w.ReplacePlaylist(t.Context(), id, name+" 2", many))
			w.holds(id, name+" 2", slices.Repeat(supysonictest.Titles, 90)...)
			id, err = w.CreatePlaylist(t.Context(), name+" 3", many)
			require.NoError(t, err)
			w.holds(id, name+" 3", slices.Repeat(supysonictest.Titles, 90)...)

			w.refusals(id, low, name+" 3", many)

			require.NoError(t, w.ReplacePlaylist(t.Context(), id, name, nil))
			w.holds(id, name)
		})
	}
	t.Run("plays", func(t *testing.T) {
		a := p.Open(call, merge(creds, account.Learned))
		outcomes, err := providertest.Submit(t.Context(), a.(providers.LibraryTaker), []library.StoredListen{
			lasting(time.Second, played("Low", "The Tones")), lasting(time.Second, played("LOW", "the tones")),
			lasting(time.Second, played("Low", "Somebody Else")), lasting(time.Second, played("High", "The Tones")),
		})
		require.NoError(t, err)
		require.Len(t, outcomes, 4)
		require.Equal(t, []bool{true, true, false, true},
			[]bool{outcomes[0] == nil, outcomes[1] == nil, outcomes[2] == nil, outcomes[3] == nil})
		requireVerdict(t, onItem, outcomes[2])
	})
}

var (
	onItem  = resilience.Verdict{Class: resilience.Fatal, Category: resilience.Item, Scope: resilience.ScopeItem}
	generic = resilience.Verdict{Class: resilience.Retriable, Category: resilience.Upstream,
		Scope: resilience.ScopeStream, FatalAfter: 10}
)

func played(title, artist string) library.StoredListen {
	return library.StoredListen{Listen: library.Listen{
		Track:    library.Track{Title: title, Artist: artist},
		PlayedAt: time.Date(2026, 11, 20, 21, 4, 11, 123e6, time.UTC),
	}}
}

func lasting(d time.Duration, play library.StoredListen) library.StoredListen {
	play.Duration = d
	return play
}

// written is the PlaylistWriter under test.
type written struct {
	t *testing.T
	providers.PlaylistWriter
}

// song returns the id of the track with this title.
func (w written) song(title string) string {
	w.t.Helper()
	found, err := w.Find(w.t.Context(), library.Track{Title: title, Artist: "The Tones"})
	require.NoError(w.t, err)
	require.Len(w.t, found, 1)
	require.Equal(w.t, "The Tones", found[0].Artist)
	return found[0].SourceID
}

// holds checks name and tracks of a playlist.
func (w written) holds(id, name string, want ...string) {
	w.t.Helper()
	lists, err := flat(w.Playlists(w.t.Context()))
	require.NoError(w.t, err)
	i := slices.IndexFunc(lists, func(p library.Playlist) bool { return p.SourceID == id })
	require.GreaterOrEqual(w.t, i, 0)
	require.Equal(w.t, name, lists[i].Name)
	got, err := flat(w.Tracks(w.t.Context(), lists[i], nil))
	require.NoError(w.t, err)
	require.Equal(w.t, want, titles(got))
}

// refusals checks that failed writes leave a playlist unchanged.
func (w written) refusals(id, song, name string, held []string) {
	w.t.Helper()
	const unknown = "9c1e3a52-6f3c-4f0e-9d0b-2f2b7f6f0a11"
	before, err := flat(w.Playlists(w.t.Context()))
	require.NoError(w.t, err)
	for _, gone := range []string{unknown, "2oLgAYDkWcN0LNPHGM5nLr"} { // supysonic answers 70 to one, 0 to the other
		want := onItem
		if gone != unknown {
			want = generic
		}
		requireVerdict(w.t, want, w.ReplacePlaylist(w.t.Context(), gone, name, []string{song}))
		requireVerdict(w.t, want, w.ReplacePlaylist(w.t.Context(), gone, name, nil))
		requireVerdict(w.t, generic, w.ReplacePlaylist(w.t.Context(), id, name, []string{song, gone}))
		_, err = w.CreatePlaylist(w.t.Context(), "Not this one", []string{gone})
		requireVerdict(w.t, generic, err)
	}
	after, err := flat(w.Playlists(w.t.Context()))
	require.NoError(w.t, err)
	require.Equal(w.t, before, after)
	w.holds(id, name, slices.Repeat(supysonictest.Titles, len(held)/3)...)
}

// TestRealServerKeepsStars sets stars on songs of a Subsonic server, and takes them back.
func TestRealServerKeepsStars(t *testing.T) {
	t.Parallel()
	server := supysonictest.Start(t)
	p := providertest.New(navidrome.Describe())
	base := hosts.NewBase(nil)
	t.Cleanup(base.CloseIdleConnections)
	call := resilience.Call{Client: transport.NewClient(&transport.Transport{Base: base, UserAgent: "Reprise/test"})}
	creds := library.Credentials{"url": server.URL, "username": server.Username, "password": server.Password}
	account, err := p.Open(call, creds).Prove(t.Context())
	require.NoError(t, err)
	a := p.Open(call, merge(creds, account.Learned))
	w := written{t, a.(providers.PlaylistWriter)}
	stars := func() (titles []string) {
		pages, err := collect(a.(providers.LoveSource).Loves(t.Context()))
		require.NoError(t, err)
		for _, page := range pages {
			for _, v := range page.Loves {
				require.WithinDuration(t, time.Now(), v.At, time.Minute)
				require.Equal(t, "The Tones", v.Artist)
				titles = append(titles, v.Title)
			}
		}
		slices.Sort(titles)
		return titles
	}
	set := func(song string, score int) {
		id, err := a.(providers.LoveTaker).Love(t.Context(), library.Love{Title: "-", Score: score, SourceID: song})
		require.NoError(t, err)
		require.Equal(t, song, id)
	}
	require.Empty(t, stars())
	low, high := w.song("Low"), w.song("High")
	for range 2 { // setting it again is no error
		set(low, library.Loved)
		set(high, library.Loved)
	}
	require.Equal(t, []string{"High", "Low"}, stars())
	for range 2 {
		set(low, library.Unrated)
	}
	require.Equal(t, []string{"High"}, stars())
	_, err = a.(providers.LoveTaker).Love(t.Context(), library.Love{Title: "-", Score: library.Loved,
		SourceID: "00000000-0000-4000-8000-000000000000"})
	require.True(t, resilience.IsItem(err), "%v", err)
}
