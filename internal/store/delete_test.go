package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/imports"
	"reprise/internal/library"
	"reprise/internal/store/db"
	"reprise/internal/store/intake"
	"reprise/internal/store/listens"
	"reprise/internal/store/outbox"
)

// dump returns all listens of a person with their sources as lines, in one order for equal ones.
func dump(t testing.TB, s *Store, user int64, piles ...intake.Pile) (lines []string) {
	t.Helper()
	scan := func(r db.Scanner) (line string, err error) {
		var id, at, approximate, spelling, later, key int64
		var source, conn, player string
		err = r.Scan(&id, &at, &approximate, &spelling, &conn, &source, &later, &key, &player)
		return fmt.Sprint(id, at, approximate, " ", conn, " ", source, " ", later, key, player,
			" spelt ", spelling), err
	}
	for _, in := range piles {
		all, err := db.List(t.Context(), s.Reader, scan, `SELECT l.id, l.played_at, l.approximate, l.spelling_id,
			n.connection, `+listens.IdOf("s")+`, s.later, s.source_key, coalesce(p.name, '')
			FROM `+in.Listens+" l JOIN "+in.Sources+` s ON s.listen_id = l.id
			JOIN connection_numbers n ON n.number = s.connection
			LEFT JOIN players p ON p.id = s.player WHERE l.user_id = $1`, user)
		require.NoError(t, err)
		lines = append(lines, all...)
	}
	slices.Sort(lines)
	return lines
}

func withoutSpellings(lines []string) []string {
	for i, line := range lines {
		lines[i], _, _ = strings.Cut(line, " spelt ")
	}
	return lines
}

func deleteThem(t testing.TB, s *Store, v library.Selection) library.Correction {
	t.Helper()
	c, err := s.DeleteListens(t.Context(), v)
	require.NoError(t, err)
	return c
}

func undo(t testing.TB, s *Store, user, id int64) {
	t.Helper()
	c, err := s.UndoCorrection(t.Context(), user, id)
	require.NoError(t, err)
	require.False(t, c.UndoneAt.IsZero())
}

// A child has used the account for an hour.
func TestADeletedHourStaysDeleted(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	page := repeat(40, 4)
	late := slices.Clone(page[:20]) // what Last.fm tells of the same plays
	for i := range late {
		late[i].SourceID, late[i].PlayedAt = fmt.Sprint("lastfm ", i), late[i].PlayedAt.Add(3*time.Second)
	}
	export := slices.Clone(page)
	for i := range export {
		export[i].SourceID = library.FromExport + fmt.Sprint("extended:", i)
		export[i].PlayedAt = export[i].PlayedAt.Add(2 * time.Minute)
	}
	save(t, s, user, "spotify", page...)
	save(t, s, user, "lastfm", late[:10]...)
	before := dump(t, s, user, intake.Kept)
	hour := library.Selection{ListenFilter: library.ListenFilter{User: user, From: at(-60), To: at(0)}}
	n, newest, err := s.CountSelected(t.Context(), hour)
	require.NoError(t, err)
	require.Equal(t, 15, n)
	hour.Newest = newest
	c := deleteThem(t, s, hour)
	require.Equal(t, 15, c.Listens)
	require.Equal(t, 25, count(t, s, user))

	for range 2 {
		require.Zero(t, save(t, s, user, "spotify", page...), "the same sync")
		require.Zero(t, save(t, s, user, "lastfm", late...), "a service that had not told of all yet")
		v, err := s.AddImport(t.Context(), imports.Import{User: user, Connection: "spotify", State: imports.Running}, 9)
		require.NoError(t, err)
		v, err = s.SaveImported(t.Context(), v, export)
		require.NoError(t, err)
		require.Zero(t, v.Added, "the export has them with other ids and at other times")
		require.Equal(t, 25, count(t, s, user))
	}
	page2 := listen(-20)
	page2.Title, page2.SourceID = "Another song in that hour", "new"
	require.Equal(t, 1, save(t, s, user, "spotify", page2), "what was not deleted is stored")

	undo(t, s, user, c.ID)
	other, bob := setup(t)
	save(t, other, bob, "spotify", page...)
	save(t, other, bob, "lastfm", late[:10]...)
	require.Equal(t, before, dump(t, other, bob, intake.Kept))
	save(t, other, bob, "lastfm", late...)
	save(t, other, bob, "spotify", export...)
	save(t, other, bob, "spotify", page2)
	require.Equal(t, dump(t, other, bob, intake.Kept), dump(t, s, user, intake.Kept), "as if nothing had been deleted")
	require.Empty(t, dump(t, s, user, intake.Removed))
	undo(t, s, user, c.ID)
	require.Equal(t, 41, count(t, s, user), "undoing twice is fine")
}

// Whatever comes in between, what is kept and what was deleted are together what would be kept without deleting.
func TestDeletingDoesNotDisturbTheMatching(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 15))
		edits := seed%3 == 2 // then all facts are equal, because what is edited learns none
		s, user := setup(t)
		control, same := setup(t)
		require.Equal(t, user, same)
		var holds []int64
		undoOne := func() {
			i := r.IntN(len(holds))
			undo(t, s, user, holds[i])
			holds = slices.Delete(holds, i, i+1)
		}
		for range 40 {
			switch n := r.IntN(5); {
			case n == 0 && len(holds) > 0:
				undoOne()
			case n == 2 && edits:
				known, _ := all(t, s, user, 100)
				if len(known) == 0 {
					continue
				}
				title := fmt.Sprint("Edited ", r.Uint64())
				c, err := s.EditListen(t.Context(), user, known[r.IntN(len(known))].ID, library.Change{Title: &title})
				require.NoError(t, err)
				holds = append(holds, c.ID)
			case n == 1:
				v := library.Selection{ListenFilter: library.ListenFilter{User: user}}
				known, _ := all(t, s, user, 100)
				for _, l := range known {
					if r.IntN(3) == 0 {
						v.IDs = append(v.IDs, l.ID)
					}
				}
				if len(v.IDs) == 0 {
					continue
				}
				if r.IntN(2) == 0 {
					v.From, v.To, v.IDs = known[len(known)/2].PlayedAt, known[0].PlayedAt, nil
				}
				if c, err := s.DeleteListens(t.Context(), v); err == nil {
					holds = append(holds, c.ID)
				} else {
					require.ErrorIs(t, err, library.ErrNotFound)
				}
			default:
				conn := []library.ConnectionID{"spotify", "lastfm", "listenbrainz"}[r.IntN(3)]
				var page []library.Listen
				for range 1 + r.IntN(6) {
					l := listen(float64(r.IntN(200)) / 4)
					l.Title = fmt.Sprint("Track ", r.IntN(3))
					l.SourceID += l.Title
					l.Player = []string{"", "Rhythmbox", "Strawberry"}[r.IntN(3)]
					if !edits {
						l.Duration = time.Duration(r.IntN(2)*r.IntN(6)) * time.Minute
					}
					if r.IntN(3) == 0 && !edits {
						l.ISRC = "ISRC" + l.Title
					}
					page = append(page, l)
				}
				save(t, s, user, conn, page...)
				save(t, control, user, conn, page...)
			}
			want, got := dump(t, control, user, intake.Kept), dump(t, s, user, intake.Kept, intake.Removed)
			if edits {
				want, got = withoutSpellings(want), withoutSpellings(got)
			}
			require.Equal(t, want, got, "seed %d", seed)
		}
		for len(holds) > 0 {
			undoOne()
		}
		want, got := dump(t, control, user, intake.Kept), dump(t, s, user, intake.Kept)
		require.Equal(t, withoutSpellings(want), withoutSpellings(got))
		first, _ := all(t, control, user, 1000)
		second, _ := all(t, s, user, 1000)
		require.Equal(t, first, second)
	}
}

func TestADeletedListenIsNotSent(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	connect(t, s, user, "lastfm")
	forward(t, s, user, "lastfm", 2, 0)
	save(t, s, user, "spotify", track("A", 1), track("B", 2), track("C", 3), track("D", 4), track("E", 5))
	sent := deliveries(t, s, user)[0]
	become(t, s, delivery.Done, sent.ID)
	known, _ := all(t, s, user, 100) // E, D, C, B, A
	c := deleteThem(t, s, library.Selection{ListenFilter: library.ListenFilter{User: user},
		IDs: []int64{known[0].ID, known[1].ID, known[4].ID, 9999}})
	require.Equal(t, 3, c.Listens)
	require.Equal(t, []string{"lastfm done: B", "lastfm scheduled: C"}, enqueued(t, s, user))

	echo := track("(A) as Last.fm spells it", 1)
	require.Zero(t, save(t, s, user, "lastfm", echo), "what was sent before comes back from there")
	require.Equal(t, 2, count(t, s, user))

	undo(t, s, user, c.ID)
	require.Equal(t, []string{"lastfm done: A, B", "lastfm scheduled: C", "lastfm scheduled: D, E"},
		enqueued(t, s, user), "what was cancelled is sent, what was sent is not sent again")
	require.Equal(t, 5, count(t, s, user))
}

func TestAnArchiveFollowsDeletions(t *testing.T) {
	t.Parallel()
	s, user := setupWith(t, Options{Sending: outbox.Options{Attempts: 1, ArchiveEvery: time.Hour}})
	_, err := s.StartForwarding(t.Context(), delivery.Rule{User: user, Connection: "s3", Kind: delivery.Archive,
		Batch: 1}, false)
	require.NoError(t, err)
	wanted := func() int { return number(t, s, "SELECT coalesce(sum(wanted), 0) FROM copies WHERE ref = '2026-11'") }
	save(t, s, user, "spotify", track("A", 1))
	require.Equal(t, 1, wanted())
	c := deleteThem(t, s, library.Selection{ListenFilter: library.ListenFilter{User: user}})
	require.Equal(t, 2, wanted())
	require.Equal(t, []string{"A", "Sigur Rós"}, []string{c.Title, c.Artist})
	save(t, s, user, "lastfm", track("A", 1.1))
	require.Equal(t, 2, wanted(), "nothing of it is in the archive")
	undo(t, s, user, c.ID)
	require.Equal(t, 3, wanted())
}

func TestCorrectionsAreOnesOwn(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	bob := addUser(t, s, "Bob", accounts.Member)
	save(t, s, user, "spotify", track("A", 1), track("B", 2))
	known, _ := all(t, s, user, 100)
	_, err := s.DeleteListens(t.Context(), library.Selection{ListenFilter: library.ListenFilter{User: bob},
		IDs: []int64{known[0].ID}})
	require.ErrorIs(t, err, library.ErrNotFound)
	require.Equal(t, 2, count(t, s, user))
	var made []int64
	for _, l := range known {
		made = append(made, deleteThem(t, s, library.Selection{ListenFilter: library.ListenFilter{User: user},
			IDs: []int64{l.ID}}).ID)
	}
	_, err = s.UndoCorrection(t.Context(), bob, made[0])
	require.ErrorIs(t, err, library.ErrNotFound)
	page, next, err := s.Corrections(t.Context(), user, "", 1)
	require.NoError(t, err)
	require.Equal(t, made[1], page[0].ID)
	page, next, err = s.Corrections(t.Context(), user, next, 1)
	require.NoError(t, err)
	require.Equal(t, made[0], page[0].ID)
	require.Empty(t, next)
	page, _, err = s.Corrections(t.Context(), bob, "", 10)
	require.NoError(t, err)
	require.Empty(t, page)
	_, _, err = s.Corrections(t.Context(), bob, "x", 10)
	require.ErrorIs(t, err, library.ErrBadCursor)
}

func TestRemovingAServiceForgetsItsDeletions(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	connect(t, s, user, "spotify")
	connect(t, s, user, "lastfm")
	save(t, s, user, "spotify", track("A", 1), track("B", 9))
	save(t, s, user, "lastfm", track("B", 9.1))
	deleteThem(t, s, library.Selection{ListenFilter: library.ListenFilter{User: user}})
	require.NoError(t, s.DeleteConnection(t.Context(), user, "spotify", true))
	require.Equal(t, 1, number(t, s, "SELECT count(*) FROM removed_listens"))
	require.Equal(t, 1, number(t, s, "SELECT count(*) FROM removed_sources"))
	require.Equal(t, 1, save(t, s, user, "spotify", track("A", 1), track("B", 9)), "B is known from Last.fm")
}
