package delivery_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

func (d *dictator) DeleteListen(ctx context.Context, id string) error {
	d.asked = append(d.asked, id)
	if outcome := d.outcomes[id]; outcome != nil {
		return outcome(ctx)
	}
	return nil
}

// told stores listens of Last.fm with these ids, and returns what selects all of them, to be deleted there, too.
func (g *stage) told(ids ...string) library.Selection {
	g.Helper()
	g.d.Registry.Replace(&providers.Provider{Description: providers.Description{Name: "lastfm",
		Takes: providers.Takes{Listens: delivery.Scrobble, Batch: 1, Deletions: true}}})
	var page []library.Listen
	for i, id := range ids {
		page = append(page, library.Listen{SourceID: id, PlayedAt: day.Add(time.Duration(i) * time.Hour),
			Track: library.Track{Title: "Title of " + id, Artist: "Artist", Duration: 4 * time.Minute}})
	}
	_, err := g.s.SaveListens(g.Context(), library.Intake{User: g.user, Connection: "lastfm", Listens: page})
	require.NoError(g, err)
	return library.Selection{ListenFilter: library.ListenFilter{User: g.user, Artist: "Artist"},
		There: []library.ConnectionID{"lastfm"}}
}

func (g *stage) correct(v library.Selection) library.Correction {
	g.Helper()
	c, err := g.s.DeleteListens(g.Context(), v)
	require.NoError(g, err)
	return c
}

func (g *stage) undo(c library.Correction) library.Correction {
	g.Helper()
	c, err := g.s.UndoCorrection(g.Context(), g.user, c.ID)
	require.NoError(g, err)
	return c
}

func numbers(from, to int) (ids []string) {
	for n := from; n < to; n++ {
		ids = append(ids, fmt.Sprintf("n%03d", n))
	}
	return ids
}

// The process dies twice halfway, and none is asked for again.
func TestListensAreDeletedThereOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		ids := numbers(0, 120)
		g.outcomes["n030"], g.outcomes["n070"] = first(trouble), first(context.Canceled)
		c := g.correct(g.told(ids...))
		require.Equal(t, []library.There{{Connection: "lastfm", Listens: 120}}, c.There)
		all := g.deliveries()
		require.Len(t, all, 3)
		require.Equal(t, []any{delivery.DeleteListens, 20, strconv.FormatInt(c.ID, 10)},
			[]any{all[0].Kind, all[0].Items, all[0].Ref})
		waiting, err := g.s.Waiting(t.Context(), g.user)
		require.NoError(t, err)
		require.Equal(t, "120 deletions", waiting["lastfm"].Counts().String())
		for range 4 {
			g.run(time.Minute)
		}
		times := map[string]int{}
		for _, id := range g.asked {
			times[id]++
		}
		for _, id := range ids {
			want := 1
			if id == "n030" || id == "n070" {
				want = 2
			}
			require.Equal(t, want, times[id], id)
		}
		page, _, err := g.s.Corrections(t.Context(), g.user, "", 10)
		require.NoError(t, err)
		require.Equal(t, []library.There{{Connection: "lastfm", Listens: 120, Asked: 120}}, page[0].There)
		for _, d := range g.deliveries() {
			require.Equal(t, delivery.Done, d.State)
		}
	})
}

func TestAllVerdictsOnADeletion(t *testing.T) {
	limited := &resilience.AnswerError{Endpoint: "POST x", Status: 429}
	for name, c := range map[string]struct {
		outcome error
		during  delivery.State
		after   delivery.State
	}{
		"401":                 {unauthorized, delivery.Parked, delivery.Parked},
		"429":                 {limited, delivery.Retrying, delivery.Done},
		"503":                 {trouble, delivery.Retrying, delivery.Done},
		"one bad item":        {badItem, delivery.Dead, delivery.Dead},
		"it is not there":     {nil, delivery.Done, delivery.Done},
		"stopped in a moment": {context.Canceled, delivery.Done, delivery.Done},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newStage(t)
				g.outcomes["a"] = first(c.outcome)
				g.correct(g.told("a"))
				id := g.deliveries()[0].ID
				g.run(500 * time.Millisecond)
				g.requireState(c.during, id)
				g.run(5 * time.Second)
				g.requireState(c.after, id)
			})
		})
	}
}

func TestABadDeletionIsPutAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		g.outcomes["b"], g.outcomes["d"] = always(badItem), always(badItem)
		g.correct(g.told("a", "b", "c", "d"))
		g.run(time.Second)
		all := g.deliveries()
		require.Len(t, all, 3)
		titles, err := g.s.Subjects(t.Context(), g.user, []int64{all[0].ID, all[1].ID})
		require.NoError(t, err)
		for i, want := range []string{"Title of b", "Title of d"} {
			require.Equal(t, []any{delivery.Dead, 1, delivery.DeleteListens},
				[]any{all[i].State, all[i].Items, all[i].Kind})
			require.Contains(t, []string{want, "Title of b", "Title of d"}, titles[all[i].ID].Title)
		}
		require.Equal(t, []any{delivery.Done, 2}, []any{all[2].State, all[2].Items})
		require.Equal(t, "a b c d", strings.Join(g.asked, " "))

		delete(g.outcomes, "b")
		n, err := g.d.Redrive(t.Context(), delivery.Filter{User: g.user, State: delivery.Dead}, false)
		require.NoError(t, err)
		require.Equal(t, 2, n)
		g.run(3 * time.Second)
		states, err := g.s.CountDeliveries(t.Context(), delivery.Filter{User: g.user})
		require.NoError(t, err)
		require.Equal(t, map[delivery.State]int{delivery.Done: 2, delivery.Dead: 1}, states)
	})
}

func TestAllBadDeletionsDie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		g.outcomes["a"], g.outcomes["b"] = always(badItem), always(badItem)
		g.correct(g.told("a", "b"))
		g.run(time.Second)
		all := g.deliveries()
		require.Len(t, all, 2)
		for _, d := range all {
			require.Equal(t, []any{delivery.Dead, 1}, []any{d.State, d.Items})
			g.discard(d.ID)
		}
		require.Empty(t, g.deliveries())
	})
}

func TestAnUndoTakesDeletionsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		v := g.told(numbers(0, 60)...)
		g.outcomes["n010"] = always(unauthorized)
		c := g.correct(v)
		g.run(time.Second)
		require.Len(t, g.asked, 11)
		now := g.undo(c)
		require.Equal(t, []library.There{{Connection: "lastfm", Listens: 10, Asked: 10}}, now.There)
		all := g.deliveries()
		require.Len(t, all, 1, "of the other one nothing is left")
		require.Equal(t, 10, all[0].Items)
		require.NoError(t, g.d.Release(t.Context(), g.user, "lastfm"))
		g.run(time.Second)
		require.Len(t, g.asked, 11, "nothing more is asked for")
		g.requireState(delivery.Done, all[0].ID)
		n, err := g.s.CountListens(t.Context(), g.user)
		require.NoError(t, err)
		require.Equal(t, 60, n)

		delete(g.outcomes, "n010")
		g.correct(v) // again
		g.run(time.Second)
		require.Len(t, g.asked, 71)
	})
}

// While a delivery is under way its listens are brought back.
func TestAnUndoMeetsADeletionUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		v := g.told(numbers(0, 5)...)
		var c library.Correction
		g.outcomes["n001"] = func(context.Context) error {
			g.undo(c)
			return nil
		}
		c = g.correct(v)
		g.run(time.Second)
		require.Equal(t, []string{"n000", "n001"}, g.asked)
		require.Equal(t, delivery.Done, g.deliveries()[0].State)
	})
}

func TestDeletionsOutliveTheirDeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		g.outcomes["b"] = always(badItem)
		c := g.correct(g.told("a", "b"))
		g.run(time.Second)
		_, err := g.s.Retire(t.Context(), time.Now(), time.Now())
		require.NoError(t, err)
		require.Empty(t, g.deliveries())
		require.Equal(t, []library.There{{Connection: "lastfm", Listens: 1, Asked: 1}}, g.undo(c).There)
	})
}

func TestWhoTellsOfASelection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		v := g.told("a", "b", "c")
		_, err := g.s.SaveListens(t.Context(), library.Intake{User: g.user, Connection: "spotify",
			Listens: []library.Listen{{SourceID: "x", PlayedAt: day,
				Track: library.Track{Title: "Title of a", Artist: "Artist", Duration: 4 * time.Minute}}}})
		require.NoError(t, err)
		_, err = g.s.SaveConnection(t.Context(), library.Connection{User: g.user, ID: "spotify", AccountID: "id-2",
			Credentials: library.Credentials{"token": "x"}, CreatedAt: day})
		require.NoError(t, err)
		all := map[library.ConnectionID]int{"lastfm": 3, "spotify": 1}
		held := func(v library.Selection) map[library.ConnectionID]int {
			n, err := g.s.CountSources(t.Context(), v)
			require.NoError(t, err)
			return n
		}
		require.Equal(t, all, held(v))
		ids := library.Selection{ListenFilter: library.ListenFilter{User: g.user}}
		page, _, err := g.s.FindListens(t.Context(), v.ListenFilter, "", 10)
		require.NoError(t, err)
		for _, l := range page {
			ids.IDs = append(ids.IDs, l.ID)
		}
		require.Equal(t, all, held(ids))
		v.Source = "spotify"
		require.Equal(t, map[library.ConnectionID]int{"lastfm": 1, "spotify": 1}, held(v))
		ids.User++
		require.Empty(t, held(ids))
		require.ErrorIs(t, g.d.MayDelete(t.Context(), g.user, []library.ConnectionID{"spotify"}), delivery.ErrNotTaken)
		require.ErrorIs(t, g.d.MayDelete(t.Context(), g.user, []library.ConnectionID{"lastfm-2"}), library.ErrNotFound)
		require.NoError(t, g.d.MayDelete(t.Context(), g.user, []library.ConnectionID{"lastfm"}))
	})
}
