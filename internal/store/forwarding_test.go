package store

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/store/db"
	"reprise/internal/store/outbox"
	"reprise/internal/words"
)

func TestRulesAreKept(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	first := delivery.Rule{User: user, Connection: "lastfm", Kind: delivery.Scrobble, Batch: 50, From: at(1),
		Since: at(2)}
	archive := delivery.Rule{User: user, Connection: "s3", Kind: delivery.Archive, Batch: 1, Since: at(3)}
	for _, r := range []delivery.Rule{first, archive} {
		_, err := s.StartForwarding(t.Context(), r, false)
		require.NoError(t, err)
	}
	rules, err := s.ForwardingRules(t.Context(), user)
	require.NoError(t, err)
	require.Equal(t, []delivery.Rule{first, archive}, rules)
	again := first
	again.Batch, again.From, again.Since = 40, at(0), at(9)
	_, err = s.StartForwarding(t.Context(), again, false)
	require.NoError(t, err)
	rules, err = s.ForwardingRules(t.Context(), user)
	require.NoError(t, err)
	again.Since = at(2)
	require.Equal(t, again, rules[0], "the wish is as old as it was")
	require.NoError(t, s.StopForwarding(t.Context(), user, "lastfm"))
	rules, err = s.ForwardingRules(t.Context(), user)
	require.NoError(t, err)
	require.Equal(t, []delivery.Rule{archive}, rules)
}

func TestEarlierListensAreForwardedOnRequest(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	guess := track("Guess", 25)
	guess.Approximate = true
	save(t, s, user, "spotify", track("D", 40), track("C", 30), guess, track("B", 20), track("A", 10))
	save(t, s, user, "lastfm", track("C", 30.1))
	save(t, s, addUser(t, s, "Bob", accounts.Member), "spotify", track("E", 50))
	rule := delivery.Rule{User: user, Connection: "lastfm", Kind: delivery.Scrobble, Batch: 2, From: at(15),
		Since: at(0)}
	wait := func() int {
		n, err := s.CountUnforwarded(t.Context(), user, "lastfm", rule.From)
		require.NoError(t, err)
		return n
	}
	carry := func(earlier bool) int {
		n, err := s.StartForwarding(t.Context(), rule, earlier)
		require.NoError(t, err)
		return n
	}
	require.Equal(t, 2, wait())
	require.Zero(t, carry(false))
	require.Empty(t, enqueued(t, s, user))
	require.Equal(t, 2, carry(true))
	require.Equal(t, []string{"lastfm scheduled: B, D"}, enqueued(t, s, user))
	require.Zero(t, wait())
	require.Zero(t, carry(true), "what is written down already is not written down again")
	rule.From = at(0)
	require.Equal(t, 1, wait())
	require.Equal(t, 1, carry(true))
	require.Equal(t, []string{"lastfm scheduled: B, D", "lastfm scheduled: A"}, enqueued(t, s, user))
	require.Equal(t, 2, number(t, s, "SELECT count(*) FROM deliveries WHERE history = 1"),
		"history goes out after what is new")
	save(t, s, user, "spotify", track("F", time.Since(at(0)).Minutes()))
	require.Equal(t, 1, number(t, s, "SELECT count(*) FROM deliveries WHERE history = 0"))
}

func TestHistoryGoesOutAfterWhatIsNew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, user := setup(t)
		save(t, s, user, "spotify", track("A", 10), track("B", 20))
		_, err := s.StartForwarding(t.Context(), delivery.Rule{User: user, Connection: "lastfm",
			Kind: delivery.Scrobble, Batch: 1, Since: at(0)}, true)
		require.NoError(t, err)
		save(t, s, user, "spotify", track("C", 30), track("D", 40))
		all := deliveries(t, s, user)
		require.Equal(t, []int64{all[2].ID, all[3].ID, all[0].ID, all[1].ID}, taken(t, s))
	})
}

func TestEarlierMonthsAreArchived(t *testing.T) {
	t.Parallel()
	s, user := setupWith(t, Options{Sending: outbox.Options{ArchiveEvery: time.Hour}})
	newYear := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	save(t, s, user, "spotify", playAt("A", newYear.Add(-time.Millisecond)), playAt("B", newYear),
		playAt("C", newYear.Add(time.Hour)), playAt("D", newYear.AddDate(0, 5, 0)))
	n, err := s.StartForwarding(t.Context(), delivery.Rule{User: user, Connection: "s3", Kind: delivery.Archive,
		Batch: 1}, true)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.Equal(t, []string{"s3 scheduled: 2025-12", "s3 scheduled: 2026-01", "s3 scheduled: 2026-06"},
		enqueued(t, s, user))
	for _, d := range deliveries(t, s, user) {
		require.False(t, d.Due.After(time.Now()), "at once")
	}
}

func TestAMonthIsReadWhole(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	from, to := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	inside := []library.Listen{playAt("the first", from), playAt("the same instant", from),
		playAt("the last", to.Add(-time.Millisecond))}
	for i := range 2500 { // three pages of one query each, many plays in one instant
		inside = append(inside, playAt("play "+time.Duration(i).String(), from.Add(time.Duration(i/50)*time.Minute)))
	}
	save(t, s, user, "spotify", append(inside, playAt("before", from.Add(-time.Millisecond)), playAt("after", to))...)
	save(t, s, user, "listenbrainz", playAt("the last", to.Add(time.Second)))
	save(t, s, addUser(t, s, "Bob", accounts.Member), "spotify", playAt("Bob's", from))

	var last library.StoredListen
	seen := map[int64]bool{}
	for l, err := range s.Month(t.Context(), user, from, to) {
		require.NoError(t, err)
		require.False(t, seen[l.ID])
		require.False(t, l.PlayedAt.Before(last.PlayedAt), "the oldest first")
		seen[l.ID], last = true, l
	}
	require.Len(t, seen, len(inside))
	require.Equal(t, "the last", last.Title)
	require.Equal(t, []library.ConnectionID{"listenbrainz", "spotify"}, connectionsOf(last))
	for range s.Month(t.Context(), user, from, to) {
		break // a reader may stop
	}
	require.NoError(t, s.Close())
	for _, err := range s.Month(t.Context(), user, from, to) {
		require.Error(t, err)
	}
}

// fates returns a database with a listen whose delivery is in each state, named after it, one that was sent so long
// ago that its delivery is forgotten, and two that Last.fm reported, one of them alone. It takes two minutes, and
// returns when it began and the ids of the deliveries.
func fates(t *testing.T, s *Store, user int64) (start time.Time, ids map[string]int64) {
	t.Helper()
	start, ids = time.Now().UTC(), map[string]int64{}
	save(t, s, user, "spotify", track("before the rule", -1))
	forward(t, s, user, "lastfm", 1, 0)
	for i, name := range []string{"scheduled", "running", "retrying", "parked", "dead", "done", "forgotten",
		"there"} {
		save(t, s, user, "spotify", track(name, float64(i*10)))
		all := deliveries(t, s, user)
		ids[name] = all[len(all)-1].ID
	}
	save(t, s, user, "lastfm", track("only there", 200))
	require.NoError(t, s.Exec(t.Context(), "UPDATE deliveries SET due_at = $1", db.Millis(start.Add(time.Hour))))
	require.NoError(t, s.Exec(t.Context(), "UPDATE deliveries SET state = 'parked' WHERE id = $1", ids["parked"]))
	become(t, s, delivery.Done, ids["forgotten"])
	time.Sleep(time.Minute)
	_, err := s.Retire(t.Context(), time.Now(), time.Time{})
	require.NoError(t, err)
	for _, state := range []delivery.State{delivery.Running, delivery.Retrying, delivery.Dead, delivery.Done} {
		become(t, s, state, ids[string(state)])
	}
	noteFailure(t, s, ids["dead"],
		delivery.Failure{Category: "item", Reason: words.Plain("It is bad.")}, true)
	time.Sleep(time.Minute)
	save(t, s, user, "lastfm", track("there", 70.1), track("done", 50.1))
	plays, err := s.ListensOf(t.Context(), ids["there"])
	require.NoError(t, err)
	require.Empty(t, plays)
	become(t, s, delivery.Done, ids["there"])
	ids["there"], ids["forgotten"] = 0, 0
	return start, ids
}

func TestTheOutcomeOfEachListen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, user := setup(t)
		start, ids := fates(t, s, user)
		account, err := s.ForwardingCounts(t.Context(), user, "lastfm")
		require.NoError(t, err)
		require.Equal(t, delivery.ForwardingCounts{Sent: 2, Waiting: 3, Parked: 1, Refused: 1, There: 1,
			Next: start.Add(time.Minute)}, account)
		forwarded, err := s.ForwardedListens(t.Context(), user, "lastfm", 100)
		require.NoError(t, err)
		outcomes := map[string]string{}
		for _, c := range forwarded {
			outcomes[c.Title] = c.Outcome
			require.Equal(t, ids[c.Title], c.Delivery, c.Title)
			switch c.Title {
			case "there":
				require.Equal(t, start.Add(2*time.Minute), c.ThereSince)
			case "done", "dead":
				require.Equal(t, start.Add(time.Minute), c.EndedAt)
				require.Equal(t, c.Title == "dead", c.Reason == words.Plain("It is bad."))
			case "scheduled":
				require.Equal(t, start.Add(time.Hour), c.Due)
				require.Equal(t, at(0), c.PlayedAt)
			}
		}
		require.Equal(t, map[string]string{"scheduled": "scheduled", "running": "running", "retrying": "retrying",
			"parked": "parked", "dead": "dead", "done": "done",
			"forgotten": "done", "there": "there"}, outcomes)
		newest, err := s.ForwardedListens(t.Context(), user, "lastfm", 2)
		require.NoError(t, err)
		require.Equal(t, []string{"there", "forgotten"}, []string{newest[0].Title, newest[1].Title})
	})
}

func TestNothingForwardedCountsNothing(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	save(t, s, user, "spotify", track("A", 1))
	account, err := s.ForwardingCounts(t.Context(), user, "lastfm")
	require.NoError(t, err)
	require.Zero(t, account)
	forwarded, err := s.ForwardedListens(t.Context(), user, "lastfm", 10)
	require.NoError(t, err)
	require.Empty(t, forwarded)
}
