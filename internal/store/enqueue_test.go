package store

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/store/db"
	"reprise/internal/store/outbox"
)

// forward adds a rule that forwards a user's listens to a connection in batches, from a minute of the tests' day on.
func forward(t testing.TB, s *Store, user int64, conn library.ConnectionID, batch int, from float64) {
	t.Helper()
	_, err := s.StartForwarding(context.Background(), delivery.Rule{User: user, Connection: conn,
		Kind: delivery.Scrobble, Batch: batch, From: at(from), Since: at(0)}, false)
	require.NoError(t, err)
}

// enqueued returns a user's deliveries as lines of connection, state and listens, the oldest first.
func enqueued(t testing.TB, s *Store, user int64) []string {
	t.Helper()
	scan := func(r db.Scanner) (title string, err error) { return title, r.Scan(&title) }
	lines := []string{}
	for _, d := range deliveries(t, s, user) {
		titles, err := db.List(context.Background(), s.Reader, scan, `SELECT p.title FROM forwards f
			JOIN listens l ON l.id = f.listen_id JOIN spellings p ON p.id = l.spelling_id
			WHERE f.delivery_id = $1 ORDER BY l.played_at, l.id`, d.ID)
		require.NoError(t, err)
		what := strings.Join(titles, ", ")
		if delivery.Copies(d.Kind) {
			what = d.Ref
		} else if d.State.Live() {
			require.Equal(t, len(titles), d.Items, "the number of listens in delivery %d", d.ID)
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s", d.Connection, d.State, what))
	}
	return lines
}

// deliveries returns a user's deliveries, the oldest first.
func deliveries(t testing.TB, s *Store, user int64) []delivery.Delivery {
	t.Helper()
	newest, _, err := s.Deliveries(context.Background(), delivery.Filter{User: user}, "", 10_000)
	require.NoError(t, err)
	all := make([]delivery.Delivery, 0, len(newest))
	for i := range newest {
		all = append(all, newest[len(newest)-1-i])
	}
	return all
}

// only returns the one delivery that a user has.
func only(t testing.TB, s *Store, user int64) delivery.Delivery {
	t.Helper()
	all := deliveries(t, s, user)
	require.Len(t, all, 1)
	return all[0]
}

// become gives deliveries a state as they have it when they are taken, or when an attempt ends.
func become(t testing.TB, s *Store, state delivery.State, ids ...int64) {
	t.Helper()
	const tried = "attempts = CASE WHEN attempts > 0 THEN attempts ELSE 1 END, "
	changes := map[delivery.State]string{
		delivery.Running:  "attempts = attempts + 1, ended_at = 0",
		delivery.Retrying: tried + "ended_at = 0, due_at = $2",
		delivery.Done:     tried + "ended_at = $2",
		delivery.Dead:     tried + "ended_at = $2",
	}
	change := "UPDATE deliveries SET " + changes[state] + ", state = $3 WHERE id = $1 AND CAST($2 AS BIGINT) > 0"
	require.NoError(t, s.Write(context.Background(), func(tx *sql.Tx) error {
		for _, id := range ids {
			if err := db.ExecTx(context.Background(), tx, change, id, db.Millis(time.Now()), state); err != nil {
				return err
			}
		}
		return nil
	}))
}

func track(title string, minute float64) library.Listen {
	l := listen(minute)
	l.Title, l.SourceID = title, title
	return l
}

func TestAPageIsForwardedByItsPersonsRules(t *testing.T) {
	t.Parallel()
	s, alice := setup(t)
	bob := addUser(t, s, "Bob", accounts.Member)
	forward(t, s, alice, "lastfm", 2, 10)
	forward(t, s, alice, "listenbrainz", 100, 20)
	guess := track("Guess", 45)
	guess.Approximate = true
	page := []library.Listen{track("E", 50), guess, track("D", 40), track("C", 30), track("B", 10), track("A", 9.99)}
	for range 2 { // the same page again adds nothing
		save(t, s, alice, "spotify", page...)
		require.Equal(t, []string{"lastfm scheduled: B, C", "lastfm scheduled: D, E",
			"listenbrainz scheduled: C, D, E"}, enqueued(t, s, alice))
	}
	save(t, s, bob, "spotify", page...)
	require.Empty(t, enqueued(t, s, bob), "a rule is one person's")

	save(t, s, alice, "lastfm", track("F", 60))
	require.Equal(t, []string{"listenbrainz scheduled: F"}, enqueued(t, s, alice)[3:],
		"never back to where it came from")
	save(t, s, alice, "navidrome", track("F", 60.2), track("E", 50.2))
	require.Len(t, enqueued(t, s, alice), 4, "a listen with two sources is sent once")
	require.NoError(t, s.StopForwarding(t.Context(), alice, "listenbrainz"))
	save(t, s, alice, "spotify", track("G", 70))
	require.Equal(t, []string{"lastfm scheduled: G"}, enqueued(t, s, alice)[4:])
}

func TestALongPageIsForwardedInBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // where all of them are news
		s, user := setup(t)
		forward(t, s, user, "listenbrainz", 100, -1e6)
		save(t, s, user, "spotify", repeat(250, 5)...)
		var items []int
		last := at(-1e6)
		for _, d := range deliveries(t, s, user) {
			items = append(items, d.Items)
			plays, err := s.ListensOf(t.Context(), d.ID)
			require.NoError(t, err)
			for _, p := range plays {
				require.True(t, p.PlayedAt.After(last), "the oldest first")
				last = p.PlayedAt
			}
		}
		require.Equal(t, []int{100, 100, 50}, items)
	})
}

// A play that is reported late waits behind what was just played, and one that is too old is not delivered.
func TestOldPlaysAreHistory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(at(0)))
		s, user := setup(t)
		_, err := s.StartForwarding(t.Context(), delivery.Rule{User: user, Connection: "lastfm",
			Kind: delivery.Scrobble, Batch: 50, Oldest: 14 * 24 * time.Hour}, false)
		require.NoError(t, err)
		save(t, s, user, "spotify", track("Years ago", -15*24*60), track("Last week", -7*24*60),
			track("Just now", -5))
		require.Equal(t, []string{"lastfm scheduled: Just now", "lastfm scheduled: Last week"}, enqueued(t, s, user))
		require.Equal(t, 1, number(t, s, "SELECT history FROM deliveries WHERE id = 2"))
		save(t, s, user, "spotify", track("This minute", -1))
		require.Equal(t, []int64{1, 3, 2}, taken(t, s))
	})
}

// A service may report what it was sent under another name, but at the same second.
func TestAnEchoUnderAnotherNameIsTheSameListen(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	forward(t, s, user, "lastfm", 50, -1e6)
	forward(t, s, user, "listenbrainz", 50, -1e6)
	play := listen(1)
	play.Title, play.Artist = "Help!", "Beatles"
	save(t, s, user, "spotify", play)
	require.Len(t, enqueued(t, s, user), 2)
	echo := play
	echo.Title, echo.Artist = "Help! - Remastered", "The Beatles of Liverpool"
	echo.PlayedAt = play.PlayedAt.Truncate(time.Second)
	require.Zero(t, save(t, s, user, "lastfm", echo))
	require.Len(t, enqueued(t, s, user), 2, "nothing more is enqueued")
	require.Equal(t, 1, count(t, s, user))
	echo.PlayedAt = echo.PlayedAt.Add(time.Second)
	echo.SourceID += " later"
	require.Equal(t, 1, save(t, s, user, "lastfm", echo), "another second is another play")
}

func TestAPageThatIsNotStoredEnqueuesNothing(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"river_job", "deliveries", "forwards", "copies", "listen_sources", "streams"} {
		s, user := setup(t)
		forward(t, s, user, "lastfm", 1, -1e6)
		_, err := s.StartForwarding(t.Context(), delivery.Rule{User: user, Connection: "s3", Kind: delivery.Archive,
			Batch: 1}, false)
		require.NoError(t, err)
		refuse(t, s, "refuse", "BEFORE INSERT ON "+table, "")
		_, err = s.SaveListens(t.Context(), library.Intake{User: user, Connection: "spotify", Listens: repeat(3, 5),
			Position: "after"})
		require.ErrorContains(t, err, "refused", table)
		for _, of := range []string{"river_job", "deliveries", "forwards", "copies", "listens", "listen_sources",
			"streams"} {
			require.Zero(t, number(t, s, "SELECT count(*) FROM "+of), "%s, after %s refused", of, table)
		}
		allow(t, s, "refuse", table)
		save(t, s, user, "spotify", repeat(3, 5)...)
		require.Equal(t, []string{"lastfm scheduled: Track 2", "lastfm scheduled: Track 1",
			"lastfm scheduled: Track 0", "s3 scheduled: 2026-11"}, enqueued(t, s, user))
	}
}

// Enqueue enqueues a delivery and returns its id.
func enqueue(t testing.TB, s *Store, o delivery.Draft) (id int64) {
	t.Helper()
	require.NoError(t, s.Write(context.Background(), func(tx *sql.Tx) (err error) {
		id, err = s.Insert(context.Background(), tx, o)
		return err
	}))
	return id
}

func TestEnqueuedTwiceIsOneDelivery(t *testing.T) {
	t.Parallel()
	s, alice := setupWith(t, Options{Sending: outbox.Options{Attempts: 7}})
	save(t, s, alice, "spotify", track("A", 1), track("B", 2))
	scrobble := delivery.Draft{User: alice, Connection: "lastfm", Kind: delivery.Scrobble, Listens: []int64{1, 2}}
	month := delivery.Draft{User: alice, Connection: "s3", Kind: delivery.Archive, Ref: "2026-11"}
	for _, o := range []delivery.Draft{scrobble, month} {
		id := enqueue(t, s, o)
		require.Equal(t, id, enqueue(t, s, o), "waiting")
		become(t, s, delivery.Running, id)
		require.Equal(t, id, enqueue(t, s, o), "running")
		become(t, s, delivery.Retrying, id)
		require.Equal(t, id, enqueue(t, s, o), "retrying")
		require.Equal(t, []string{"retrying", "1 of 7"}, standing(t, s, alice, id),
			"it keeps the attempts that are used up")
		require.NoError(t, s.Park(t.Context(), delivery.Send{User: alice, Connection: o.Connection}))
		require.Equal(t, id, enqueue(t, s, o), "parked")
		require.Equal(t, []string{"parked", "1 of 7"}, standing(t, s, alice, id))
		become(t, s, delivery.Dead, id)
		require.Equal(t, id, enqueue(t, s, o), "dead")
		require.Equal(t, []string{"scheduled", "0 of 7"}, standing(t, s, alice, id),
			"and alive again, with all its attempts")
		become(t, s, delivery.Done, id)
		again := enqueue(t, s, o)
		require.Equal(t, delivery.Copies(o.Kind), again != id, "%s: a play is sent once, a copy is written again",
			o.Kind)
		require.Equal(t, "done", standing(t, s, alice, id)[0])
	}
	for what, other := range map[string]delivery.Draft{
		"another connection": {User: alice, Connection: "listenbrainz", Kind: delivery.Scrobble,
			Listens: []int64{1, 2}},
		"another kind":  {User: alice, Connection: "lastfm", Kind: delivery.SubmitListens, Listens: []int64{1, 2}},
		"other listens": {User: alice, Connection: "lastfm", Kind: delivery.Scrobble, Listens: []int64{2}},
		"another person": {User: addUser(t, s, "Bob", accounts.Member), Connection: "lastfm", Kind: delivery.Scrobble,
			Listens: []int64{1, 2}},
		"another month": {User: alice, Connection: "s3", Kind: delivery.Archive, Ref: "2026-12"},
	} {
		before := number(t, s, "SELECT count(*) FROM deliveries")
		enqueue(t, s, other)
		require.Equal(t, before+1, number(t, s, "SELECT count(*) FROM deliveries"), what)
	}
}

// standing returns the state of a delivery, and how many of its attempts are used up.
func standing(t testing.TB, s *Store, user, id int64) []string {
	t.Helper()
	page, _, err := s.Deliveries(context.Background(), delivery.Filter{User: user, ID: id}, "", 2)
	require.NoError(t, err)
	require.Len(t, page, 1)
	return []string{string(page[0].State), fmt.Sprintf("%d of %d", page[0].Attempts, page[0].MaxAttempts)}
}

// playAt returns a play of a track that is played once.
func playAt(name string, when time.Time) library.Listen {
	return library.Listen{SourceID: name, PlayedAt: when,
		Track: library.Track{Title: name, Artist: "Artist", Duration: 4 * time.Minute}}
}

func TestTheMonthsOfAPageAreToBeArchivedAgain(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	_, err := s.StartForwarding(t.Context(), delivery.Rule{User: user, Connection: "s3", Kind: delivery.Archive,
		Batch: 1}, false)
	require.NoError(t, err)
	reykjavik := time.FixedZone("one hour ahead", 3600)
	end := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	guess := playAt("a guess", end.AddDate(-1, 0, 0))
	guess.Approximate = true
	save(t, s, user, "spotify",
		playAt("the first of March here", time.Date(2026, 3, 1, 0, 30, 0, 0, reykjavik)), // still February in UTC
		playAt("the last of February", end.Add(-time.Millisecond)), guess)
	require.Equal(t, map[string]int64{"2026-02": 1, "2025-03": 1}, wantedMonths(t, s, user),
		"a guess is archived too")
	save(t, s, user, "spotify", playAt("the first of March", end))
	require.Equal(t, map[string]int64{"2026-02": 1, "2025-03": 1, "2026-03": 1}, wantedMonths(t, s, user))

	// A second source changes the listen's own month, although that service reports the next one.
	save(t, s, user, "listenbrainz", playAt("the last of February", end.Add(time.Minute)))
	require.Equal(t, map[string]int64{"2026-02": 2, "2025-03": 1, "2026-03": 1}, wantedMonths(t, s, user))
	save(t, s, user, "listenbrainz", playAt("the last of February", end.Add(time.Minute)))
	require.Equal(t, map[string]int64{"2026-02": 2, "2025-03": 1, "2026-03": 1}, wantedMonths(t, s, user),
		"nothing new, nothing to write")
	require.ElementsMatch(t, []string{"s3 scheduled: 2026-02", "s3 scheduled: 2025-03", "s3 scheduled: 2026-03"},
		enqueued(t, s, user))
}

func wantedMonths(t testing.TB, s *Store, user int64) map[string]int64 {
	t.Helper()
	copies, err := s.Copies(context.Background(), user, delivery.Archive)
	require.NoError(t, err)
	all := map[string]int64{}
	for _, c := range copies {
		all[c.Ref] = c.Wanted
	}
	return all
}

func TestAMonthOfTheArchiveWaitsForMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, user := setupWith(t, Options{Sending: outbox.Options{ArchiveEvery: time.Hour}})
		_, err := s.StartForwarding(t.Context(), delivery.Rule{User: user, Connection: "s3", Kind: delivery.Archive,
			Batch: 1}, false)
		require.NoError(t, err)
		first := time.Now()
		for i := range 5 {
			save(t, s, user, "spotify", track(fmt.Sprint(i), float64(10*i)))
			time.Sleep(10 * time.Minute)
		}
		require.Equal(t, first.Add(time.Hour).UTC(), only(t, s, user).Due,
			"counted from the first change, so that it is written in the end")
	})
}

func TestAChangedPlaylistIsCopiedAgain(t *testing.T) {
	t.Parallel()
	s, alice := setup(t)
	bob := addUser(t, s, "Bob", accounts.Member)
	rain := library.Playlist{SourceID: "rain", Name: "Rain"}
	for _, user := range []int64{alice, bob} {
		require.NoError(t, s.SavePlaylist(t.Context(), user, "spotify", rain, 0, tracks(3)))
		require.NoError(t, s.SavePlaylist(t.Context(), user, "spotify", library.Playlist{SourceID: "sun"}, 1,
			tracks(3)))
	}
	require.Empty(t, enqueued(t, s, alice), "no copies are wanted")
	lists, err := s.ConnectionPlaylists(t.Context(), alice, "spotify")
	require.NoError(t, err)
	ref := strconv.FormatInt(lists[0].ID, 10)
	for _, conn := range []library.ConnectionID{"navidrome", "listenbrainz"} {
		require.NoError(t, s.WantCopy(t.Context(), delivery.Draft{User: alice, Connection: conn,
			Kind: delivery.WritePlaylist, Ref: ref}, ""))
	}
	require.Equal(t, []string{"navidrome scheduled: " + ref, "listenbrainz scheduled: " + ref}, enqueued(t, s, alice))
	for _, d := range deliveries(t, s, alice) {
		become(t, s, delivery.Done, d.ID)
	}
	for _, user := range []int64{alice, bob} {
		require.NoError(t, s.SavePlaylist(t.Context(), user, "spotify", rain, 0, tracks(4)))
		require.NoError(t, s.SavePlaylist(t.Context(), user, "spotify", library.Playlist{SourceID: "sun"}, 1,
			tracks(4)))
	}
	require.Equal(t, []string{"listenbrainz scheduled: " + ref, "navidrome scheduled: " + ref},
		enqueued(t, s, alice)[2:])
	require.Empty(t, enqueued(t, s, bob))

	require.NoError(t, s.DropCopy(t.Context(), alice, "navidrome", delivery.WritePlaylist, ref))
	_, err = s.Copy(t.Context(), alice, "navidrome", delivery.WritePlaylist, ref)
	require.ErrorIs(t, err, library.ErrNotFound)
	for range 2 {
		require.NoError(t, s.SavePlaylist(t.Context(), alice, "spotify", rain, 0, tracks(5)))
	}
	require.Len(t, enqueued(t, s, alice), 4)
	c, err := s.Copy(t.Context(), alice, "listenbrainz", delivery.WritePlaylist, ref)
	require.NoError(t, err)
	require.EqualValues(t, 4, c.Wanted)

	refuse(t, s, "refuse", "BEFORE UPDATE ON copies", "")
	require.ErrorContains(t, s.SavePlaylist(t.Context(), alice, "spotify", rain, 0, tracks(9)), "refused")
	_, songs, err := s.Playlist(t.Context(), alice, lists[0].ID)
	require.NoError(t, err)
	require.Len(t, songs, 5, "what cannot be enqueued is not stored")
}
