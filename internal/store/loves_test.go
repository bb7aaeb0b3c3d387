package store

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/music"
	"reprise/internal/words"
)

// lover is somebody whose loved tracks a service has.
type lover struct {
	testing.TB
	*Store
	user int64
	at   library.Connection
}

func newLover(t *testing.T, conn library.ConnectionID) lover {
	t.Helper()
	s, user := setup(t)
	c, err := s.SaveConnection(t.Context(), library.Connection{User: user, ID: conn, AccountID: "ann",
		Credentials: library.Credentials{"token": "x"}, CreatedAt: time.Now()})
	require.NoError(t, err)
	return lover{t, s, user, c}
}

func (l lover) say(title string, score int) {
	l.Helper()
	for last := time.Now().UnixMilli(); time.Now().UnixMilli() == last; { // what is stored is exact to a millisecond
		runtime.Gosched()
	}
	require.NoError(l, l.SaveLove(l.Context(), l.user, library.Love{Title: title, Artist: "Nina", Score: score,
		At: time.Now()}))
}

// read stores what the service lists; it was loved there an hour ago.
func (l lover) read(first bool, titles ...string) (news int) {
	l.Helper()
	var all []library.Love
	for _, title := range titles {
		all = append(all, library.Love{Title: title, Artist: "Nina", Score: library.Loved,
			At: time.Now().Add(-time.Hour)})
	}
	news, saved, err := l.SaveLovesRead(l.Context(), l.at, all, time.Now(), first, true)
	require.NoError(l, err)
	require.True(l, saved)
	return news
}

// sends tells the service all that it is to be told, and returns that.
func (l lover) sends(refused words.Text) (all []string) {
	l.Helper()
	some, err := l.LovesToSend(l.Context(), l.user, l.at.ID, false, 100)
	require.NoError(l, err)
	for _, v := range some {
		all = append(all, map[int]string{1: "+", 0: "-"}[v.Score]+v.Title)
		require.NoError(l, l.LoveSent(l.Context(), l.at, v, refused))
	}
	return all
}

func (l lover) waits() int {
	l.Helper()
	n, err := l.CountDeliveries(l.Context(), delivery.Filter{User: l.user, Kind: delivery.WriteLoves})
	require.NoError(l, err)
	return n[delivery.Scheduled]
}

func TestAServiceIsSentTheDifference(t *testing.T) {
	t.Parallel()
	l := newLover(t, "lastfm")
	require.Equal(t, 2, l.read(true, "Song (Remastered 2011)", "Rain"))
	l.say("Snow", library.Loved)
	require.Zero(t, l.waits(), "it is not kept the same")
	require.NoError(t, l.KeepLoves(t.Context(), l.user, "lastfm", false))
	require.Equal(t, 1, l.waits())
	require.Equal(t, []string{"+Snow"}, l.sends(words.Text{}))
	require.Empty(t, l.sends(words.Text{}))
	l.say("Song", library.Unrated)
	l.say("Snow", library.Unrated)
	require.Equal(t, []string{"-Song (Remastered 2011)", "-Snow"}, l.sends(words.Text{}),
		"by the name that it has there")
	require.Zero(t, l.read(false, "Rain"))
	require.Zero(t, l.read(false, "Rain", "Song (Remastered 2011)"), "what was loved there before it was taken back")
	require.Equal(t, []string{"-Song (Remastered 2011)"}, l.sends(words.Text{}))
	l.say("Mud", library.Hated)
	require.Empty(t, l.sends(words.Text{}), "it takes no hates")
}

func TestWhatAServiceRefusesIsSentAgainLater(t *testing.T) {
	t.Parallel()
	l := newLover(t, "navidrome")
	l.say("Rain", library.Loved)
	require.NoError(t, l.KeepLoves(t.Context(), l.user, "navidrome", false))
	why := words.New("delivery.song.missing")
	require.Equal(t, []string{"+Rain"}, l.sends(why))
	require.Empty(t, l.sends(why))
	refused := func() (n int) {
		all, err := l.LovesRefused(t.Context(), l.user, "navidrome")
		require.NoError(t, err)
		for _, v := range all {
			require.Equal(t, why, v.Refused)
		}
		return len(all)
	}
	require.Equal(t, 1, refused())
	l.say("Rain", library.Unrated)
	require.Zero(t, refused(), "nobody wants it any more")
	l.say("Rain", library.Loved)
	require.Equal(t, []string{"+Rain"}, l.sends(why))

	require.NoError(t, l.RetryLove(t.Context(), l.user, "navidrome", library.Track{Title: "Snow", Artist: "Nina"}))
	require.Empty(t, l.sends(why), "the answer was about another song")
	require.NoError(t, l.RetryLove(t.Context(), l.user, "navidrome", library.Track{Title: "Rain", Artist: "Nina"}))
	require.Equal(t, []string{"+Rain"}, l.sends(words.Text{}))
	l.say("Rain", library.Unrated)
	require.Equal(t, []string{"-Rain"}, l.sends(why))
	require.Equal(t, 1, refused())
	require.NoError(t, l.KeepLoves(t.Context(), l.user, "navidrome", false))
	require.Equal(t, []string{"-Rain"}, l.sends(words.Text{}), "that it has it there is not forgotten")
}

func TestAWebhookHearsOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	l := newLover(t, "hook")
	l.say("Old", library.Loved)
	require.NoError(t, l.KeepLoves(t.Context(), l.user, "hook", true))
	require.Empty(t, l.sends(words.Text{}))
	l.say("New", library.Loved)
	require.NoError(t, l.KeepLoves(t.Context(), l.user, "hook", true))
	require.Equal(t, []string{"+New"}, l.sends(words.New("delivery.item")), "asked for again, it loses nothing")
	require.NoError(t, l.KeepLoves(t.Context(), l.user, "hook", true))
	require.Equal(t, []string{"+New"}, l.sends(words.Text{}))
	l.say("Old", library.Unrated)
	require.Equal(t, []string{"-Old"}, l.sends(words.Text{}))
}

func TestAnotherAccountBeginsAnew(t *testing.T) {
	t.Parallel()
	l := newLover(t, "lastfm")
	l.read(true, "Rain", "Snow")
	before := l.at
	other := l.at
	other.AccountID = "ben"
	var err error
	l.at, err = l.SaveConnection(t.Context(), other)
	require.NoError(t, err)
	_, _, err = l.SaveLovesRead(t.Context(), before, nil, time.Now(), false, true)
	require.ErrorIs(t, err, library.ErrReplaced)
	rain := library.LoveThere{Love: library.Love{Title: "Rain", Artist: "Nina"}}
	err = l.LoveSent(t.Context(), before, rain, words.Text{})
	require.ErrorIs(t, err, library.ErrReplaced)
	require.Zero(t, l.read(true), "an empty account takes nothing back")
	_, total, err := l.Loves(t.Context(), library.LoveFilter{User: l.user}, 0, 10)
	require.NoError(t, err)
	require.Equal(t, 2, total)
}

func TestWhatIsGoneIsDecidedOnce(t *testing.T) {
	t.Parallel()
	l := newLover(t, "lastfm")
	l.read(true, "Rain", "Snow", "Hail")
	require.Zero(t, l.read(false))
	l.say("Hail", library.Hated)
	gone, err := l.GoneLoves(t.Context(), l.user, "lastfm")
	require.NoError(t, err)
	require.Len(t, gone, 3)
	_, n, err := l.Loves(t.Context(), library.LoveFilter{User: l.user, At: "lastfm"}, 0, 10)
	require.NoError(t, err)
	require.Zero(t, n)
	n, err = l.DecideLoves(t.Context(), l.user, "lastfm", true)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	all, _, err := l.Loves(t.Context(), library.LoveFilter{User: l.user}, 0, 10)
	require.NoError(t, err)
	require.Len(t, all, 1, "what she has said since counts")
	require.Equal(t, library.Hated, all[0].Score)
	_, err = l.DecideLoves(t.Context(), l.user, "lastfm", true)
	require.ErrorIs(t, err, library.ErrNotFound)
}

// A service that isn't searched takes tracks by the ids that are known from there.
func TestTracksAreKnownByWhatWasThere(t *testing.T) {
	l := newLover(t, "youtube-2")
	key := func(title string) int64 { return music.LoveKey(library.Love{Title: title, Artist: "Nina"}) }
	known := func(titles ...string) map[int64]string {
		t.Helper()
		var keys []int64
		for _, title := range titles {
			keys = append(keys, key(title))
		}
		all, err := l.KnownThere(t.Context(), l.user, "youtube", keys)
		require.NoError(t, err)
		return all
	}
	mine := library.Playlist{SourceID: "1", Name: "Mine"}
	require.NoError(t, l.SavePlaylist(t.Context(), l.user, "youtube-2", mine, 0,
		[]library.Track{{Title: "Listed", Artist: "Nina", SourceID: "listed00000"}}))
	require.NoError(t, l.SavePlaylist(t.Context(), l.user, "spotify", mine, 0,
		[]library.Track{{Title: "Elsewhere", Artist: "Nina", SourceID: "elsewhere00"}}))
	played := track("Played", 10)
	played.Artist, played.SourceID = "Nina", library.FromTakeout+"1709661870123:played-0_00"
	unnamed := track("Unnamed", 20)
	unnamed.Artist, unnamed.SourceID = "Nina", library.FromTakeout+"1709661880123:0123456789abcdef"
	save(t, l.Store, l.user, "youtube", played, unnamed)
	require.Equal(t, map[int64]string{key("Listed"): "listed00000", key("Played"): "played-0_00"},
		known("Listed", "Played", "Unnamed", "Elsewhere", "Nowhere"))

	l.say("Loved", library.Loved)
	liked := library.Love{Title: "Loved", Artist: "Nina", SourceID: "loved000000", Score: library.Loved, At: time.Now()}
	_, saved, err := l.SaveLovesRead(t.Context(), l.at, []library.Love{liked}, time.Now(), true, true)
	require.NoError(t, err)
	require.True(t, saved)
	l.say("Loved", library.Unrated)
	all, err := l.LovesToSend(t.Context(), l.user, l.at.ID, false, 5)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, "loved000000", all[0].SourceID)
	all[0].Keep = true
	require.NoError(t, l.LoveSent(t.Context(), l.at, all[0], words.Text{}))
	require.Equal(t, map[int64]string{key("Loved"): "loved000000"}, known("Loved"), "it may be loved again")
	require.Empty(t, l.sends(words.Text{}))
	l.say("Loved", library.Loved)
	all, err = l.LovesToSend(t.Context(), l.user, l.at.ID, false, 5)
	require.NoError(t, err)
	require.Equal(t, "loved000000", all[0].SourceID)
	require.Zero(t, l.read(false), "nothing is news")
}

// A video that is deleted doesn't stand in the way of another one that is known.
func TestADeadVideoIsNotTriedForever(t *testing.T) {
	l := newLover(t, "youtube")
	list := func(ids ...string) {
		t.Helper()
		var tracks []library.Track
		for _, id := range ids {
			tracks = append(tracks, library.Track{Title: "Rain", Artist: "Nina", SourceID: id})
		}
		mine := library.Playlist{SourceID: "1", Name: "Mine"}
		require.NoError(t, l.SavePlaylist(t.Context(), l.user, "youtube", mine, 0, tracks))
	}
	known := func() string {
		t.Helper()
		key := music.LoveKey(library.Love{Title: "Rain", Artist: "Nina"})
		all, err := l.KnownThere(t.Context(), l.user, "youtube", []int64{key})
		require.NoError(t, err)
		return all[key]
	}
	told := func(id string, refused words.Text) {
		t.Helper()
		all, err := l.LovesToSend(t.Context(), l.user, "youtube", false, 5)
		require.NoError(t, err)
		require.Len(t, all, 1)
		if all[0].SourceID == "" {
			all[0].SourceID = known()
		}
		require.Equal(t, id, all[0].SourceID)
		all[0].Keep = true
		require.NoError(t, l.LoveSent(t.Context(), l.at, all[0], refused))
	}
	again := func() {
		t.Helper()
		require.NoError(t, l.RetryLove(t.Context(), l.user, "youtube", library.Track{Title: "Rain", Artist: "Nina"}))
	}
	why := words.New("delivery.song.missing")
	list("dead0000000")
	l.say("Rain", library.Loved)
	told("dead0000000", why)
	list("dead0000000", "alive000000")
	require.NoError(t, l.VideosGone(t.Context(), []string{"dead0000000"}, library.VideoDeleted, time.Now()))
	again()
	told("alive000000", words.Text{})
	list()
	l.say("Rain", library.Unrated)
	told("alive000000", words.Text{})
	l.say("Rain", library.Loved)
	told("alive000000", why) // deleted since
	list("other000000")
	again()
	told("other000000", words.Text{})
}
