package playlists_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/server/servertest"
)

// shelf is a service with one playlist. Its ids are a letter and the title of a song.
type shelf struct {
	mark   string   // the letter
	songs  []string // titles that it has
	list   []string // titles in the playlist
	absent bool     // the playlist doesn't exist
	breaks int      // how many replacements break off
	whole  bool     // with the last call, whose answer is lost, so that no song is missing; else half are
	writes int
	unread int    // entries of the playlist that can't be read
	file   string // the id of a file of the person's own in the playlist, if any
	blank  int    // places of songs that the service has taken away
	locked bool
	cut    int // how many readings end after the first song

	refuses bool // replacements that break off are refused
}

func (s *shelf) Prove(context.Context) (providers.Account, error) { return providers.Account{}, nil }

func (s *shelf) track(title string) library.Track {
	return library.Track{SourceID: s.mark + title, Title: title, Artist: "Sigur Rós", Duration: 3 * time.Minute}
}

func (s *shelf) Find(_ context.Context, t library.Track) ([]library.Track, error) {
	if slices.Contains(s.songs, t.Title) {
		return []library.Track{s.track(t.Title)}, nil
	}
	return nil, nil
}

func (s *shelf) Playlists(context.Context) iter.Seq2[[]library.Playlist, error] {
	return func(yield func([]library.Playlist, error) bool) {
		if !s.absent {
			yield([]library.Playlist{{SourceID: "rain", Name: "Rain", TrackCount: len(s.list) + s.unread + s.blank,
				Snapshot: strings.Join(s.list, "/"), Locked: s.locked}}, nil)
		}
	}
}

func (s *shelf) Tracks(_ context.Context, _ library.Playlist, left providers.LeaveOut) iter.Seq2[[]library.Track,
	error] {
	return func(yield func([]library.Track, error) bool) {
		var tracks []library.Track
		for _, title := range s.list {
			tracks = append(tracks, s.track(title))
		}
		if s.cut > 0 {
			s.cut--
			tracks = tracks[:1]
		}
		for range s.blank {
			left.Say(providers.LeftOut{Name: "Gone", Blank: true})
		}
		if s.file != "" {
			tracks = append(tracks, library.Track{SourceID: s.file, Title: "Home"})
		}
		yield(tracks, nil)
	}
}

func (s *shelf) CreatePlaylist(ctx context.Context, name string, ids []string) (string, error) {
	s.absent = false
	return "rain", s.ReplacePlaylist(ctx, "rain", name, ids)
}

func (s *shelf) ReplacePlaylist(_ context.Context, _, _ string, ids []string) error {
	s.writes++
	titles := make([]string, len(ids))
	for i, id := range ids {
		titles[i] = strings.TrimPrefix(id, s.mark)
	}
	if s.breaks > 0 {
		s.breaks--
		if s.refuses {
			s.list = titles[:len(titles)/2]
			return &resilience.AnswerError{Meaning: &resilience.Meaning{Class: resilience.Fatal,
				Category: resilience.Item, Scope: resilience.ScopeItem}}
		}
		if s.list = titles; !s.whole {
			s.list = titles[:len(titles)/2]
		}
		return servertest.ErrUnreachable
	}
	s.list = titles
	return nil
}

// ends is a playlist of Spotify that is kept equal with its copy at Navidrome.
type ends struct {
	*servertest.Household
	here, there *shelf
	path        string
}

// bothWays returns a playlist of these songs that was copied, and is kept equal both ways since.
func bothWays(t *testing.T, titles ...string) *ends {
	h := servertest.New(t, delivery.Options{})
	e := &ends{Household: h, here: &shelf{mark: "s", list: titles}, there: &shelf{mark: "n", absent: true}}
	for _, title := range []string{"One", "Two", "Three", "Four", "Five", "Six"} {
		e.here.songs, e.there.songs = append(e.here.songs, title), append(e.there.songs, title)
	}
	for name, far := range map[string]*shelf{"spotify": e.here, "navidrome": e.there} {
		p := *h.Registry.Get(name)
		p.Takes, p.Streams = providers.Takes{Playlists: true, Piecewise: true}, []string{library.Playlists}
		p.Open = func(resilience.Call, library.Credentials) providers.Adapter { return far }
		h.Registry.Replace(&p)
	}
	e.read("spotify", e.here)
	all, err := h.DB.Playlists(t.Context(), h.User)
	require.NoError(t, err)
	e.path = fmt.Sprintf("/playlists/%d/copies/navidrome", all[0].ID)
	e.Call(http.MethodPut, e.path, "", http.StatusAccepted)
	e.Carry()
	require.Equal(t, titles, e.there.list)
	e.Call(http.MethodPatch, e.path, `{"when_changed":"both"}`, http.StatusOK)
	e.settle()
	return e
}

// read stores what a service has, as a sync does.
func (e *ends) read(conn library.ConnectionID, from *shelf) {
	e.T.Helper()
	for page := range from.Playlists(e.T.Context()) {
		page[0].Blank = from.blank
		for tracks := range from.Tracks(e.T.Context(), page[0], nil) {
			require.NoError(e.T, e.DB.SavePlaylist(e.T.Context(), e.User, conn, page[0], 0, tracks))
		}
	}
}

// settle reads both sides, and carries until nothing more is due.
func (e *ends) settle() {
	e.T.Helper()
	e.read("spotify", e.here)
	e.read("navidrome", e.there)
	for range 3 {
		e.Carry()
	}
}

func (e *ends) copied() map[string]any { return e.Call(http.MethodGet, e.path, "", http.StatusOK) }

// Promise: A playlist that is kept equal with its copy both ways: what is added, removed or moved on one side comes to
// the other once; changes that can't be merged are asked about, and neither side is written until then.
func TestChangesOfACopyComeBack(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		e := bothWays(t, "One", "Two", "Three")
		require.Zero(t, e.here.writes)
		e.there.list = []string{"Two", "One", "Three", "Four"} // moved and added by hand
		e.settle()
		require.Equal(t, []string{"Two", "One", "Three", "Four"}, e.here.list)
		e.there.list = []string{"One", "Three", "Four"}
		e.settle()
		require.Equal(t, []string{"One", "Three", "Four"}, e.here.list)
		e.here.list = []string{"One", "Three", "Four", "Five"}
		e.settle()
		require.Equal(t, e.here.list, e.there.list)
		writes := e.here.writes + e.there.writes
		e.settle()
		e.Days(3)
		require.Equal(t, writes, e.here.writes+e.there.writes, "nothing is written again")
		require.Equal(t, true, e.copied()["up_to_date"])
		require.Empty(t, e.Questions())
	})
}

func TestChangesOfBothSidesAreMerged(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		e := bothWays(t, "One", "Two", "Three")
		e.here.list = []string{"One", "Two", "Three", "Four"}
		e.there.list = []string{"Five", "One", "Three"}
		e.settle()
		require.Equal(t, []string{"Five", "One", "Three", "Four"}, e.here.list)
		require.Equal(t, e.here.list, e.there.list)
		e.here.list = append(e.here.list, "Six")
		e.there.list = append(e.there.list, "Six")
		e.settle()
		require.Equal(t, []string{"Five", "One", "Three", "Four", "Six"}, e.here.list, "added to both once")
		require.Equal(t, e.here.list, e.there.list)
		require.Empty(t, e.Questions())
	})
}

// What a service doesn't have was not removed there, on either side.
func TestASongThatOneSideLacksStays(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		e := bothWays(t, "One", "Two", "Three")
		e.here.songs, e.here.list = append(e.here.songs, "Rare"), []string{"One", "Rare", "Two", "Three"}
		e.settle()
		require.Equal(t, []string{"One", "Two", "Three"}, e.there.list)
		e.there.songs = append(e.there.songs, "Home")
		e.there.list = []string{"One", "Two", "Home", "Three"}
		e.settle()
		e.there.list = append(e.there.list, "Four")
		e.settle()
		require.Equal(t, []string{"One", "Rare", "Two", "Three", "Four"}, e.here.list)
		require.Equal(t, []string{"One", "Two", "Home", "Three", "Four"}, e.there.list)
		e.there.songs = append(e.there.songs, "Rare") // bought
		e.here.songs = append(e.here.songs, "Home")
		e.Days(2)
		e.settle()
		require.Equal(t, []string{"One", "Rare", "Two", "Home", "Three", "Four"}, e.there.list)
		require.Equal(t, e.there.list, e.here.list)
		e.there.list = slices.DeleteFunc(slices.Clone(e.there.list), func(s string) bool { return s == "Rare" })
		e.settle()
		require.Equal(t, []string{"One", "Two", "Home", "Three", "Four"}, e.here.list)
		require.Empty(t, e.Questions())
	})
}

func TestAConflictIsAskedAbout(t *testing.T) {
	for side, want := range map[string][]string{
		"here": {"Three", "One", "Two"}, "there": {"Two", "One", "Three", "Four"},
		"both": {"Three", "Four", "One", "Two"},
	} {
		t.Run(side, func(t *testing.T) {
			servertest.InBubble(t, func(t *testing.T) {
				e := bothWays(t, "One", "Two", "Three")
				e.Call(http.MethodGet, e.path+"/conflict", "", http.StatusConflict)
				here, there := []string{"Three", "One", "Two"}, []string{"Two", "One", "Three", "Four"}
				e.here.list, e.there.list = here, there
				e.settle()
				e.Days(2)
				require.Equal(t, here, e.here.list)
				require.Equal(t, there, e.there.list)
				require.Equal(t, []string{"Rain and its copy on Navidrome differ"}, e.Questions(), "asked once")
				require.Equal(t, "conflict", e.copied()["drift"])
				require.Contains(t, e.Page(e.path[:len("/playlists/1")]), "Decide…")
				html := e.Page(e.path + "/conflict")
				require.Contains(t, html, "Keep Spotify&#39;s")
				require.Contains(t, html, "were put into different orders")
				v := e.Call(http.MethodGet, e.path+"/conflict", "", http.StatusOK)
				require.Len(t, v["there"], 4)

				e.Call(http.MethodPost, e.path+"/conflict", `{"keep":"neither"}`, http.StatusUnprocessableEntity)
				if side == "here" {
					e.Call(http.MethodPost, e.path+"/conflict", `{"keep":"here"}`, http.StatusOK)
				} else {
					e.Submit(e.path, http.StatusSeeOther, "write", "keep", "side", side)
				}
				require.Empty(t, e.Questions())
				e.settle()
				require.Equal(t, want, e.here.list)
				require.Equal(t, want, e.there.list)
				require.Empty(t, e.copied()["drift"])
				e.Call(http.MethodPost, e.path+"/conflict", `{"keep":"here"}`, http.StatusConflict)
				e.there.list = append(slices.Clone(want), "Six")
				e.settle()
				require.Equal(t, e.there.list, e.here.list, "a decision counts once")
			})
		})
	}
}

// A decision is about what its person saw.
func TestADecisionIsNotAboutLaterChanges(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		e := bothWays(t, "One", "Two", "Three")
		e.here.list, e.there.list = []string{"Three", "One", "Two"}, []string{"Two", "One", "Three"}
		e.settle()
		e.there.list = []string{"Two", "One", "Three", "Six"} // not read yet
		e.Call(http.MethodPost, e.path+"/conflict", `{"keep":"here"}`, http.StatusOK)
		e.settle()
		require.Equal(t, []string{"Two", "One", "Three", "Six"}, e.there.list)
		require.Len(t, e.Questions(), 1)
		e.Call(http.MethodPost, e.path+"/conflict", `{"keep":"there"}`, http.StatusOK)
		e.settle()
		require.Equal(t, []string{"Two", "One", "Three", "Six"}, e.here.list)
	})
}

func TestAnEmptiedSideIsAskedAbout(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		e := bothWays(t, "One", "Two", "Three")
		e.there.list = nil
		e.settle()
		require.Equal(t, []string{"One", "Two", "Three"}, e.here.list)
		require.Len(t, e.Questions(), 1)
		e.there.list = []string{"One", "Two", "Three", "Four"} // put back by hand
		e.settle()
		require.Equal(t, e.there.list, e.here.list)
		require.Empty(t, e.Questions(), "the conflict is over")
		require.Empty(t, e.copied()["drift"])
	})
}

// A copy whose answer ends too early hasn't lost its songs: it is read again.
func TestACopyThatIsCutOffHasNotShrunk(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		e := bothWays(t, "One", "Two", "Three", "Four")
		e.here.list = append(e.here.list, "Five")
		e.read("spotify", e.here)
		e.there.cut = 1
		e.Days(1)
		require.Zero(t, e.there.cut, "it was read")
		require.Equal(t, []string{"One", "Two", "Three", "Four", "Five"}, e.here.list)
		require.Equal(t, e.here.list, e.there.list)
		require.Empty(t, e.Questions())
	})
}

// A write in several calls that breaks off is gone on with: what it has left is nobody's change.
func TestAWriteThatBreaksOffIsNoChange(t *testing.T) {
	for _, whole := range []bool{false, true} {
		t.Run(fmt.Sprint(whole), func(t *testing.T) { breakOff(t, whole) })
	}
}

func breakOff(t *testing.T, whole bool) {
	servertest.InBubble(t, func(t *testing.T) {
		e := bothWays(t, "One", "Two", "Three")
		e.here.breaks, e.there.breaks, e.here.whole, e.there.whole = 2, 2, whole, whole
		e.here.list = []string{"One", "Two", "Three", "Four"}
		e.there.list = []string{"Five", "One", "Two", "Three"}
		e.settle()
		for range 4 {
			e.settle() // half a playlist is read, too
			e.Days(1)
		}
		require.Less(t, e.here.breaks+e.there.breaks, 4)
		require.Equal(t, []string{"Five", "One", "Two", "Three", "Four"}, e.here.list)
		require.Equal(t, e.here.list, e.there.list)
		require.Empty(t, e.Questions())
	})
}

// What a person did to a copy while a write had broken off can be seen in its history, and brought back from there.
func TestAChangeOfAHalfWrittenCopyIsKept(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		e := bothWays(t, "One", "Two", "Three")
		e.there.breaks = 1
		e.here.list = []string{"Four", "One", "Two", "Three"}
		e.read("spotify", e.here)
		e.Carry()
		require.Equal(t, []string{"Four", "One"}, e.there.list, "half is written")
		e.there.list = []string{"Four", "One", "Six"}
		for range 3 {
			e.Days(1) // without reading the copy meanwhile
		}
		require.Equal(t, e.here.list, e.there.list)
		all, err := e.DB.ConnectionPlaylists(t.Context(), e.User, "navidrome")
		require.NoError(t, err)
		was := e.Call(http.MethodGet, fmt.Sprintf("/playlists/%d/versions/2", all[0].ID), "", http.StatusOK)
		require.Contains(t, fmt.Sprint(was["tracks"]), "track:Six")
	})
}

func TestADeletedCopyIsMadeAgain(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		e := bothWays(t, "One", "Two")
		e.there.absent, e.there.list = true, nil
		e.Days(1)
		require.Equal(t, []string{"Rain was deleted on Navidrome"}, e.Questions())
		require.Equal(t, []string{"One", "Two"}, e.here.list)
		e.Submit(e.path, http.StatusSeeOther, "write", "rewrite")
		e.settle()
		require.Equal(t, e.here.list, e.there.list)
		require.Equal(t, "both", e.copied()["when_changed"])
		e.there.list = []string{"One", "Two", "Three"}
		e.settle()
		require.Equal(t, e.there.list, e.here.list)
	})
}

// Writing a playlist replaces all of it, so one with entries that can't be read is not written.
func TestWhatCannotBeReadIsNotLost(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		e := bothWays(t, "One", "Two")
		e.here.unread = 2
		e.there.list = []string{"One", "Two", "Three"}
		e.settle()
		require.Equal(t, []string{"One", "Two"}, e.here.list)
		require.Equal(t, []string{"One", "Two", "Three"}, e.there.list)
		require.Contains(t, e.Page(e.path[:len("/playlists/1")]), "has 2 entries that Reprise can&#39;t read there")
		e.here.unread = 0
		e.Days(1)
		e.settle()
		require.Equal(t, e.there.list, e.here.list)
	})
}

func TestWhatCannotBeReadInACopyIsNotLost(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		e := bothWays(t, "One", "Two")
		e.there.unread = 1
		e.here.list = []string{"One", "Two", "Three"}
		e.settle()
		require.Equal(t, []string{"One", "Two"}, e.there.list)
		require.Contains(t, e.Page(e.path[:len("/playlists/1")]), "has 1 entry that Reprise can&#39;t read there")
		e.there.unread = 0
		e.Days(1)
		e.settle()
		require.Equal(t, e.here.list, e.there.list)
	})
}

// What a service has taken away leaves a blank place: nobody has removed it.
func TestWhatAServiceTakesAwayStaysOnTheOtherSide(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		e := bothWays(t, "One", "Two", "Three")
		e.there.blank, e.there.list = 1, []string{"One", "Three"}
		e.settle()
		e.Days(2)
		require.Equal(t, []string{"One", "Two", "Three"}, e.here.list)
		e.there.blank = 0
		e.here.blank, e.here.list = 1, []string{"One", "Two"}
		e.settle()
		require.Contains(t, e.there.list, "Three")
		require.Zero(t, e.here.writes)
	})
}

// The form's first button merges what has changed, and leaves a question open.
func TestWritingAgainKeepsBothSides(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		e := bothWays(t, "One", "Two", "Three")
		e.there.list = []string{"One", "Two", "Three", "Four"}
		e.Call(http.MethodPut, e.path, "", http.StatusAccepted)
		e.settle()
		require.Equal(t, []string{"One", "Two", "Three", "Four"}, e.here.list)
		e.here.list, e.there.list = []string{"Four", "Three", "Two", "One"}, []string{"Two", "One", "Three", "Four"}
		e.settle()
		e.Call(http.MethodPut, e.path, "", http.StatusAccepted)
		require.Len(t, e.Questions(), 1)
		e.settle()
		require.Equal(t, []string{"Two", "One", "Three", "Four"}, e.there.list)
		require.Equal(t, "conflict", e.copied()["drift"])
		end := notify.Closing{User: e.User, Connection: "navidrome", Begins: notify.CopyCauses}
		end.Causes = []string{"conflict of playlist " + strings.Split(e.path, "/")[2]}
		changed, err := e.DB.ResolveNotifications(t.Context(), end)
		require.NoError(t, err)
		require.Empty(t, changed.Others, "but for this one")
		end.Causes = nil
		changed, err = e.DB.ResolveNotifications(t.Context(), end)
		require.NoError(t, err)
		require.Len(t, changed.Others, 1)
	})
}

// What a write has left half done isn't merged, however often the service refuses the rest of it.
func TestAWriteThatIsRefusedTwiceLosesNothing(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		e := bothWays(t, "One", "Two", "Three", "Four")
		e.there.breaks, e.there.refuses = 2, true
		e.here.list = []string{"One", "Two", "Three", "Four", "Five"}
		for range 3 {
			e.settle()
			e.Days(2)
			require.Equal(t, []string{"One", "Two", "Three", "Four", "Five"}, e.here.list)
			e.Call(http.MethodPut, e.path, "", http.StatusAccepted)
		}
		e.settle()
		require.Equal(t, e.here.list, e.there.list, "breaks %d, writes %d: %v", e.there.breaks, e.there.writes,
			e.copied()["delivery"])
	})
}

func TestAFileOfThePersonsOwnIsNotLost(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		e := bothWays(t, "One", "Two")
		e.here.file, e.there.list = "spotify:local:::Home:60", []string{"One", "Two", "Three"}
		e.settle()
		e.Days(1)
		require.Zero(t, e.here.writes)
		require.Contains(t, e.Page(e.path[:len("/playlists/1")]), "has 1 entry that Reprise can&#39;t read there")
	})
}

func TestOnlyWhatCanBeChangedIsKeptEqual(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		e := bothWays(t, "One", "Two")
		e.Call(http.MethodPatch, e.path, `{"when_changed":"ask"}`, http.StatusOK)
		e.here.locked = true
		e.read("spotify", e.here)
		require.Equal(t, "locked", e.copied()["one_way"])
		html := e.Page(e.path[:len("/playlists/1")])
		require.Contains(t, html, "your account can&#39;t change this playlist")
		require.NotContains(t, html, "both ways: bring")
		e.Call(http.MethodPatch, e.path, `{"when_changed":"both"}`, http.StatusUnprocessableEntity)
		e.there.list = []string{"Two"}
		e.Days(1)
		require.Equal(t, []string{"Rain was changed on Navidrome"}, e.Questions(), "as one way")
	})
}

// bulk is a shelf that is searched for many songs at once.
type bulk struct {
	*shelf
	calls, alone int
	lacks        bool // its server can't do that
}

func (b *bulk) Find(ctx context.Context, t library.Track) ([]library.Track, error) {
	b.alone++
	return b.shelf.Find(ctx, t)
}

func (b *bulk) FindAll(ctx context.Context, tracks []library.Track) ([][]library.Track, error) {
	if b.calls++; b.lacks {
		return nil, providers.ErrNotOffered
	}
	all := make([][]library.Track, len(tracks))
	for i, t := range tracks {
		all[i], _ = b.shelf.Find(ctx, t)
	}
	return all, nil
}

func TestTheSongsOfACopyAreFoundAtOnce(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		for _, lacks := range []bool{false, true} {
			h := servertest.New(t, delivery.Options{})
			far := &bulk{shelf: &shelf{mark: "n", absent: true, songs: []string{"One", "Two"}}, lacks: lacks}
			p := *h.Registry.Get("navidrome")
			p.Open = func(resilience.Call, library.Credentials) providers.Adapter { return far }
			h.Registry.Replace(&p)
			id := h.Playlist("Rain", "One", "Nowhere", "Two")
			h.Call(http.MethodPut, "/playlists/"+id+"/copies/navidrome", "", http.StatusAccepted)
			h.Carry()
			require.Equal(t, []string{"One", "Two"}, far.list)
			require.Equal(t, 1, far.calls)
			require.Equal(t, map[bool]int{false: 0, true: 3}[lacks], far.alone)
		}
	})
}
