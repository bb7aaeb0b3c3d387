package store

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/playrules"
)

// ruler is somebody with rules for what they play.
type ruler struct {
	testing.TB
	*Store
	user int64
}

func newRuler(t *testing.T) ruler {
	t.Helper()
	s, user := setup(t)
	return ruler{t, s, user}
}

func (r ruler) rule(v playrules.Rule) playrules.Rule {
	r.Helper()
	v.User = r.user
	if v.Name == "" {
		v.Name = "Mine"
	}
	require.Empty(r, v.Check().String())
	v, err := r.SavePlayRule(r.Context(), v)
	require.NoError(r, err)
	return v
}

// ApplyPlayRule requires that a rule changes as many listens as are said before.
func (r ruler) ApplyPlayRule(ctx context.Context, v playrules.Rule) (n int, err error) {
	r.Helper()
	said, err := r.CountPlayRule(ctx, v)
	require.NoError(r, err)
	if n, err = r.Store.ApplyPlayRule(ctx, v); err == nil {
		require.Equal(r, said, n)
	}
	return n, err
}

// heard returns the titles of all listens, the latest first.
func (r ruler) heard() (titles []string) {
	r.Helper()
	page, _, err := r.Listens(r.Context(), r.user, "", 100)
	require.NoError(r, err)
	for _, l := range page {
		titles = append(titles, l.Title)
	}
	return titles
}

var remastered = playrules.Rule{Kind: playrules.Rewrite, Field: "title", Title: `/ - Remastered \d{4}$/`}

func TestARuleRenamesWhatComesIn(t *testing.T) {
	t.Parallel()
	r := newRuler(t)
	one := r.rule(remastered)
	save(t, r.Store, r.user, "spotify", track("Angie - Remastered 2009", 10), track("Plain", 20))
	require.Equal(t, []string{"Plain", "Angie"}, r.heard())
	save(t, r.Store, r.user, "lastfm", track("Angie - Remastered 2009", 10.1))
	require.Equal(t, []string{"Plain", "Angie"}, r.heard(), "another service tells of the same play")
	page, _, err := r.Listens(t.Context(), r.user, "", 10)
	require.NoError(t, err)
	require.Len(t, page[1].Sources, 2)
	was, by, withheld, err := r.RuledBy(t.Context(), r.user, page[1].ID)
	require.NoError(t, err)
	require.Equal(t, "Angie - Remastered 2009", was.Title)
	require.Equal(t, []playrules.Rule{one}, by)
	require.Empty(t, withheld)
	was, by, _, err = r.RuledBy(t.Context(), r.user, page[0].ID)
	require.NoError(t, err)
	require.Empty(t, was.Title)
	require.Empty(t, by)

	require.NoError(t, r.DeletePlayRule(t.Context(), r.user, one.ID))
	save(t, r.Store, r.user, "listenbrainz", track("Angie - Remastered 2009", 10.2))
	require.Equal(t, []string{"Plain", "Angie"}, r.heard(), "it is known by what it was")
	n, err := r.UndoPlayRule(t.Context(), r.user, one.ID)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, []string{"Plain", "Angie - Remastered 2009"}, r.heard())
}

func TestARuleMakesNoListenOfSomePlays(t *testing.T) {
	t.Parallel()
	r := newRuler(t)
	forward(t, r.Store, r.user, "lastfm", 50, 0)
	one := r.rule(playrules.Rule{Kind: playrules.Ignore, Title: "rain"})
	require.Equal(t, 1, save(t, r.Store, r.user, "spotify", track("Rain (white noise)", 10), track("Song", 20)))
	require.Zero(t, save(t, r.Store, r.user, "listenbrainz", track("Rain (white noise)", 10.1)))
	require.Equal(t, []string{"Song"}, r.heard())
	save(t, r.Store, r.user, "spotify", track("Rain again", 30))
	require.Equal(t, []string{"Song"}, r.heard())
	done, err := r.DoneBy(t.Context(), r.user)
	require.NoError(t, err)
	require.Equal(t, map[int64]playrules.Done{one.ID: {Ignored: 2}}, done)
	require.Equal(t, 1, number(t, r.Store, "SELECT count(*) FROM forwards"), "nothing else is sent")

	n, err := r.UndoPlayRule(t.Context(), r.user, one.ID)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Equal(t, []string{"Rain again", "Song", "Rain (white noise)"}, r.heard())
	n, err = r.ApplyPlayRule(t.Context(), one)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Equal(t, []string{"Song"}, r.heard())
	n, err = r.ApplyPlayRule(t.Context(), one)
	require.NoError(t, err)
	require.Zero(t, n)
	_, _, err = r.AddListen(t.Context(), r.user, track("Rain by hand", 40))
	require.NoError(t, err)
	require.Contains(t, r.heard(), "Rain by hand", "what they add themselves is wanted")
}

func TestARuleKeepsListensFromBeingSent(t *testing.T) {
	t.Parallel()
	r := newRuler(t)
	connect(t, r.Store, r.user, "lastfm")
	connect(t, r.Store, r.user, "listenbrainz")
	forward(t, r.Store, r.user, "lastfm", 50, 0)
	forward(t, r.Store, r.user, "listenbrainz", 50, 0)
	one := r.rule(playrules.Rule{Kind: playrules.Withhold, Artist: "sigur", To: []library.ConnectionID{"lastfm"}})
	save(t, r.Store, r.user, "spotify", track("Song", 20))
	require.Equal(t, []string{"Song"}, r.heard())
	require.Equal(t, 0, number(t, r.Store, "SELECT count(*) FROM forwards WHERE connection = 'lastfm'"))
	require.Equal(t, 1, number(t, r.Store, "SELECT count(*) FROM forwards WHERE connection = 'listenbrainz'"))
	earlier := delivery.Rule{User: r.user, Connection: "lastfm", Kind: delivery.Scrobble, Batch: 50, Since: at(0)}
	missing := func() int {
		n, err := r.CountUnforwarded(t.Context(), r.user, "lastfm", time.Time{})
		require.NoError(t, err)
		return n
	}
	require.Zero(t, missing())
	n, err := r.StartForwarding(t.Context(), earlier, true)
	require.NoError(t, err)
	require.Zero(t, n, "nor later")
	done, err := r.DoneBy(t.Context(), r.user)
	require.NoError(t, err)
	require.Equal(t, playrules.Done{Withheld: 1}, done[one.ID])
	_, err = r.UndoPlayRule(t.Context(), r.user, one.ID)
	require.NoError(t, err)
	require.Equal(t, 1, missing())
	n, err = r.StartForwarding(t.Context(), earlier, true)
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func TestRulesAreAppliedToThePastAndUndone(t *testing.T) {
	t.Parallel()
	r := newRuler(t)
	save(t, r.Store, r.user, "spotify", track("Angie (feat. Ben) - Remastered 2009", 10), track("Plain", 20),
		track("Old - Remastered 2001", 30), track("Mine - Remastered 2001", 40))
	one := r.rule(remastered)
	two := r.rule(playrules.Rule{Kind: playrules.Rewrite, Field: "title", Title: `/ \(feat\. [^)]*\)/`})
	for rule, n := range map[*playrules.Rule]int{&one: 3, &two: 1} {
		for _, n := range []int{n, 0} {
			got, err := r.ApplyPlayRule(t.Context(), *rule)
			require.NoError(t, err)
			require.Equal(t, n, got)
		}
	}
	require.Equal(t, []string{"Mine", "Old", "Plain", "Angie"}, r.heard())
	page, _, err := r.Listens(t.Context(), r.user, "", 10)
	require.NoError(t, err)
	own := "My own name"
	edit, err := r.EditListen(t.Context(), r.user, page[0].ID, library.Change{Title: &own})
	require.NoError(t, err)
	n, err := r.UndoPlayRule(t.Context(), r.user, one.ID)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Equal(t, []string{"My own name", "Old - Remastered 2001", "Plain", "Angie - Remastered 2009"}, r.heard(),
		"the other rule holds, and so does what they said themselves")
	_, err = r.UndoCorrection(t.Context(), r.user, edit.ID)
	require.NoError(t, err)
	require.Equal(t, "Mine - Remastered 2001", r.heard()[0], "what they take back is as if the rule had never been")
	n, err = r.UndoPlayRule(t.Context(), r.user, two.ID)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, "Angie (feat. Ben) - Remastered 2009", r.heard()[3])
	require.Zero(t, number(t, r.Store, "SELECT count(*) FROM ruled_listens"))
	save(t, r.Store, r.user, "lastfm", track("Old - Remastered 2001", 30.1))
	require.Len(t, r.heard(), 4)
}

// Two services tell of the same play by two names, and rules that rename come and go in between: it stays one listen.
func TestAPlayIsKnownBeforeAndAfterARule(t *testing.T) {
	t.Parallel()
	rules := map[string]playrules.Rule{
		"title":  {Kind: playrules.Rewrite, Field: "title", Title: "/ [(]Official Video[)]$/"},
		"wrong":  {Kind: playrules.Rewrite, Field: "title", Title: "Official", With: "Unofficial"},
		"artist": {Kind: playrules.Rewrite, Field: "artist", Artist: "sigur", With: "The one and only Sigur"},
	}
	clip := func(at float64) library.Listen { return track("Clip (Official Video)", at) }
	for _, order := range [][]string{
		{"spotify", "title", "lastfm"},
		{"title", "spotify", "gone", "lastfm"},
		{"title", "spotify", "undone", "lastfm"},
		{"wrong", "spotify", "gone", "title", "lastfm"},
		{"wrong", "spotify", "title", "gone", "artist", "lastfm", "undone", "listenbrainz"},
		{"spotify", "artist", "lastfm", "applied", "listenbrainz"},
		{"artist", "title", "lastfm", "applied", "undone", "spotify", "listenbrainz"},
	} {
		t.Run(strings.Join(order, " "), func(t *testing.T) {
			t.Parallel()
			r := newRuler(t)
			var last playrules.Rule
			told := 0
			for _, step := range order {
				rule, ok := rules[step]
				var err error
				switch {
				case ok:
					last = r.rule(rule)
				case step == "gone":
					err = r.DeletePlayRule(t.Context(), r.user, last.ID)
				case step == "undone":
					if _, err = r.UndoPlayRule(t.Context(), r.user, last.ID); err == nil {
						err = r.DeletePlayRule(t.Context(), r.user, last.ID)
					}
				case step == "applied":
					_, err = r.ApplyPlayRule(t.Context(), last)
				default:
					save(t, r.Store, r.user, library.ConnectionID(step), clip(10+float64(told)/10))
					told++
				}
				require.NoError(t, err)
			}
			page, _, err := r.Listens(t.Context(), r.user, "", 10)
			require.NoError(t, err)
			require.Len(t, page, 1)
			require.Len(t, page[0].Sources, told)
		})
	}
}

func TestAChangedRuleIsAppliedAgain(t *testing.T) {
	t.Parallel()
	r := newRuler(t)
	one := r.rule(playrules.Rule{Kind: playrules.Rewrite, Field: "title", Title: "a", With: "aa"})
	save(t, r.Store, r.user, "spotify", track("a", 10))
	require.Equal(t, []string{"aa"}, r.heard())
	n, err := r.ApplyPlayRule(t.Context(), one)
	require.NoError(t, err)
	require.Zero(t, n, "once is enough")
	one.With = "b"
	_, err = r.SavePlayRule(t.Context(), one)
	require.NoError(t, err)
	n, err = r.ApplyPlayRule(t.Context(), one)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, []string{"b"}, r.heard())

	two := r.rule(playrules.Rule{Kind: playrules.Rewrite, Field: "title", Title: "b", With: "c"})
	_, err = r.ApplyPlayRule(t.Context(), two)
	require.NoError(t, err)
	require.NoError(t, r.DeletePlayRule(t.Context(), r.user, one.ID))
	n, err = r.UndoPlayRule(t.Context(), r.user, two.ID)
	require.NoError(t, err)
	require.Zero(t, n)
	require.Equal(t, []string{"c"}, r.heard(), "nobody knows what the other rule was")
}

// A service gives the recording an id. If the id stayed, the renamed track would still be the same one as before.
func TestARenamedTrackIsAnotherOne(t *testing.T) {
	t.Parallel()
	r := newRuler(t)
	old, other := track("Old", 10), track("New", 20)
	old.ISRC, other.ISRC = "GBUM71029604", "GBUM71029605"
	save(t, r.Store, r.user, "spotify", old, other)
	tracks := func() (titles []string) {
		page, _, err := r.Listens(t.Context(), r.user, "", 10)
		require.NoError(t, err)
		for _, l := range page {
			titles = append(titles, l.Title+" "+l.ISRC)
		}
		return titles
	}
	before := tracks()
	one := r.rule(playrules.Rule{Kind: playrules.Rewrite, Field: "title", Title: "Old", With: "New"})
	for range 2 {
		_, err := r.ApplyPlayRule(t.Context(), one)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"New GBUM71029605", "New "}, tracks())
	_, err := r.UndoPlayRule(t.Context(), r.user, one.ID)
	require.NoError(t, err)
	require.Equal(t, before, tracks())
}

func TestWhatIsSplitAndJoinedKeepsWhatRulesDid(t *testing.T) {
	t.Parallel()
	r := newRuler(t)
	one := r.rule(remastered)
	r.rule(playrules.Rule{Kind: playrules.Withhold, Artist: "sigur", To: []library.ConnectionID{"lastfm"}})
	save(t, r.Store, r.user, "spotify", track("Angie - Remastered 2009", 10))
	save(t, r.Store, r.user, "listenbrainz", track("Angie - Remastered 2009", 10.1))
	page, _, err := r.Listens(t.Context(), r.user, "", 10)
	require.NoError(t, err)
	split, err := r.SplitListen(t.Context(), r.user, page[0].ID)
	require.NoError(t, err)
	rows := func() (n int) {
		return number(t, r.Store, "SELECT (SELECT count(*) FROM ruled_listens) + (SELECT count(*) FROM withheld)")
	}
	require.Equal(t, 4, rows())
	_, err = r.UndoCorrection(t.Context(), r.user, split.ID)
	require.NoError(t, err)
	require.Equal(t, 2, rows())
	_, err = r.SplitListen(t.Context(), r.user, page[0].ID)
	require.NoError(t, err)
	n, err := r.UndoPlayRule(t.Context(), r.user, one.ID)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Equal(t, []string{"Angie - Remastered 2009", "Angie - Remastered 2009"}, r.heard())
}

func TestAPersonHasSoManyRules(t *testing.T) {
	t.Parallel()
	r := newRuler(t)
	v := playrules.Rule{User: r.user, Name: "A", Kind: playrules.Ignore, Longer: time.Hour, Begins: "22:00",
		Ends: "06:00", Player: "kitchen", Source: "spotify", To: []library.ConnectionID{"lastfm"}, Off: true}
	for range playrules.Most {
		_, err := r.SavePlayRule(t.Context(), v)
		require.NoError(t, err)
	}
	_, err := r.SavePlayRule(t.Context(), v)
	require.ErrorIs(t, err, playrules.ErrTooMany)
	all, err := r.PlayRules(t.Context(), r.user)
	require.NoError(t, err)
	require.Len(t, all, playrules.Most)
	v.ID = all[0].ID
	require.Equal(t, v, all[0])
	v.Name = "B"
	_, err = r.SavePlayRule(t.Context(), v)
	require.NoError(t, err)
	got, err := r.PlayRule(t.Context(), r.user, v.ID)
	require.NoError(t, err)
	require.Equal(t, v, got)
	_, err = r.PlayRule(t.Context(), r.user+1, v.ID)
	require.ErrorIs(t, err, library.ErrNotFound)
	require.ErrorIs(t, r.DeletePlayRule(t.Context(), r.user+1, v.ID), library.ErrNotFound)
	set, err := r.RulesFor(t.Context(), r.user)
	require.NoError(t, err)
	require.Nil(t, set, "all are off")
}

// An export that comes back finds what a rule has renamed since, and sends nothing on that is withheld.
func TestWhatIsRestoredFollowsTheRules(t *testing.T) {
	t.Parallel()
	r := newRuler(t)
	forward(t, r.Store, r.user, "lastfm", 10, -60)
	r.rule(remastered)
	r.rule(playrules.Rule{Kind: playrules.Withhold, Artist: "sigur"})
	save(t, r.Store, r.user, "spotify", track("Angie - Remastered 2009", 10))
	exported := func(title string, at float64, id string) library.StoredListen {
		l := track(title, at)
		l.SourceID = ""
		return library.StoredListen{Listen: l, Sources: []library.Source{{Connection: "listenbrainz", SourceID: id}}}
	}
	restore(t, r.Store, r.user, exported("Angie - Remastered 2009", 10, "a"), exported("Song", 30, "b"))
	require.Equal(t, []string{"Song", "Angie"}, r.heard())
	require.Empty(t, enqueued(t, r.Store, r.user))
}

// A person's player tells of what another service has told of before, and the rule is about the player.
func TestWhatIsWithheldLaterIsNotSent(t *testing.T) {
	t.Parallel()
	r := newRuler(t)
	forward(t, r.Store, r.user, "lastfm", 10, -60)
	save(t, r.Store, r.user, "spotify", track("Song", 20), track("Other", 40))
	require.Equal(t, []string{"lastfm scheduled: Song, Other"}, enqueued(t, r.Store, r.user))
	r.rule(playrules.Rule{Kind: playrules.Withhold, Source: "player-1"})
	one := r.rule(playrules.Rule{Kind: playrules.Ignore, Title: "rain"})
	save(t, r.Store, r.user, "player-1", track("Song", 20.1))
	require.Equal(t, []string{"lastfm scheduled: Other"}, enqueued(t, r.Store, r.user))

	save(t, r.Store, r.user, "spotify", track("Rain", 60))
	save(t, r.Store, r.user, "player-1", track("Rain", 60.1), track("Other", 40.1))
	require.Empty(t, enqueued(t, r.Store, r.user), "nothing waits any more")
	_, err := r.UndoPlayRule(t.Context(), r.user, one.ID)
	require.NoError(t, err)
	require.Contains(t, r.heard(), "Rain")
	require.Empty(t, enqueued(t, r.Store, r.user))
	n, err := r.CountUnforwarded(t.Context(), r.user, "lastfm", time.Time{})
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestARuleIsUndoneOfWhatHasAnotherTime(t *testing.T) {
	t.Parallel()
	r := newRuler(t)
	one := r.rule(remastered)
	save(t, r.Store, r.user, "spotify", track("Angie - Remastered 2009", 10))
	page, _, err := r.Listens(t.Context(), r.user, "", 10)
	require.NoError(t, err)
	later := at(12)
	edit, err := r.EditListen(t.Context(), r.user, page[0].ID, library.Change{PlayedAt: &later})
	require.NoError(t, err)
	n, err := r.UndoPlayRule(t.Context(), r.user, one.ID)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, []string{"Angie - Remastered 2009"}, r.heard())
	n, err = r.ApplyPlayRule(t.Context(), one)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, err = r.UndoCorrection(t.Context(), r.user, edit.ID)
	require.NoError(t, err)
	require.Equal(t, []string{"Angie"}, r.heard())
}

func TestARuleLeavesAloneWhatIsAddedByHand(t *testing.T) {
	t.Parallel()
	r := newRuler(t)
	_, _, err := r.AddListen(t.Context(), r.user, track("Rain - Remastered 2009", 10))
	require.NoError(t, err)
	for _, rule := range []playrules.Rule{remastered, {Kind: playrules.Ignore, Title: "rain"}} {
		n, err := r.ApplyPlayRule(t.Context(), r.rule(rule))
		require.NoError(t, err)
		require.Zero(t, n)
	}
	require.Equal(t, []string{"Rain - Remastered 2009"}, r.heard())
	gone := r.rule(remastered)
	save(t, r.Store, r.user, "spotify", track("Old", 20))
	require.NoError(t, r.DeletePlayRule(t.Context(), r.user, gone.ID))
	_, err = r.ApplyPlayRule(t.Context(), gone)
	require.ErrorIs(t, err, library.ErrNotFound, "it was deleted meanwhile")
}

// What is exported says what rules did, but not to listens that their person has renamed since.
func TestAnExportSaysWhatRulesDid(t *testing.T) {
	t.Parallel()
	r := newRuler(t)
	rename := r.rule(remastered)
	secret := r.rule(playrules.Rule{Name: "Secret", Kind: playrules.Withhold, Artist: "sigur"})
	save(t, r.Store, r.user, "spotify", track("Angie - Remastered 2009", 10), track("Mine - Remastered 2009", 20))
	page, _, err := r.Listens(t.Context(), r.user, "", 10)
	require.NoError(t, err)
	own := "My own"
	_, err = r.EditListen(t.Context(), r.user, page[0].ID, library.Change{Title: &own})
	require.NoError(t, err)
	later := page[1].PlayedAt.Add(time.Second)
	_, err = r.EditListen(t.Context(), r.user, page[1].ID, library.Change{PlayedAt: &later})
	require.NoError(t, err)
	held := []library.Withheld{{By: library.RuleName{ID: secret.ID, Name: "Secret"}}}
	var said []library.StoredListen
	for l, err := range r.Month(t.Context(), r.user, at(0), at(60)) {
		require.NoError(t, err)
		said = append(said, l)
	}
	require.Len(t, said, 2)
	require.Equal(t, "Angie - Remastered 2009", said[0].Ruled.Was.Title)
	require.Equal(t, &library.Ruled{Was: said[0].Ruled.Was, Withheld: held,
		Renamed: []library.RuleName{{ID: rename.ID, Name: "Mine"}}}, said[0].Ruled, "only the time is their own")
	require.Equal(t, &library.Ruled{Withheld: held}, said[1].Ruled)
}
