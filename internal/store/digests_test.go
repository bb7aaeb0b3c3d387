package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/digest"
	"reprise/internal/library"
	"reprise/internal/providers"
)

// november is a week with a Monday at midnight in UTC.
var november = digest.Week{From: time.Date(2026, 11, 9, 0, 0, 0, 0, time.UTC),
	To: time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)}

// hear stores n plays of a track, the first one so long after the week's beginning.
func hear(t testing.TB, s *Store, user int64, artist, album, title string, after time.Duration, n int) {
	t.Helper()
	var plays []library.Listen
	for i := range n {
		plays = append(plays, library.Listen{Track: library.Track{Title: title, Artist: artist, Album: album},
			SourceID: artist + title + after.String() + string(rune('a'+i)),
			PlayedAt: november.From.Add(after + time.Duration(i)*10*time.Minute)})
	}
	require.Equal(t, n, save(t, s, user, "spotify", plays...))
}

func TestHeardCountsThePlaysOfAWeek(t *testing.T) {
	t.Parallel()
	s, alice := setup(t)
	bob := addUser(t, s, "Bob", accounts.Member)
	most := digest.Limits{Artists: 2, Albums: 9, Tracks: 9, New: 9}
	hear(t, s, alice, "Mogwai", "", "Rain", 0, 2)
	hear(t, s, alice, "Can", "Tago Mago", "Paperhouse", time.Hour, 3)
	hear(t, s, alice, "Can", "Tago Mago", "Mushroom", 2*time.Hour, 1)
	hear(t, s, alice, "Neu!", "Neu!", "Hallogallo", 7*24*time.Hour-time.Millisecond, 1)
	h, err := s.Heard(t.Context(), alice, november, most)
	require.NoError(t, err)
	require.Empty(t, h.New, "nothing is new without older plays")

	hear(t, s, alice, "Can", "Ege Bamyasi", "Vitamin C", -time.Hour, 1)
	hear(t, s, alice, "Faust", "IV", "Krautrock", 7*24*time.Hour, 5) // the next Monday
	hear(t, s, bob, "Bob's", "B", "B", time.Hour, 4)
	h, err = s.Heard(t.Context(), alice, november, most)
	require.NoError(t, err)
	require.Equal(t, digest.Heard{Plays: 7,
		Artists: []digest.Counted{{Artist: "Can", Plays: 4}, {Artist: "Mogwai", Plays: 2}},
		Albums: []digest.Counted{{Artist: "Can", Title: "Tago Mago", Plays: 4},
			{Artist: "Neu!", Title: "Neu!", Plays: 1}},
		Tracks: []digest.Counted{{Artist: "Can", Title: "Paperhouse", Plays: 3},
			{Artist: "Mogwai", Title: "Rain", Plays: 2}, {Artist: "Can", Title: "Mushroom", Plays: 1},
			{Artist: "Neu!", Title: "Hallogallo", Plays: 1}},
		New: []digest.Counted{{Artist: "Mogwai", Plays: 2}, {Artist: "Neu!", Plays: 1}}}, h)
	h, err = s.Heard(t.Context(), bob, november.Before(), most)
	require.NoError(t, err)
	require.Zero(t, h)
}

// A digest counts artists, albums and tracks, not the ways in which services write them.
func TestADigestCountsSpellingsAsOne(t *testing.T) {
	t.Parallel()
	s, alice := setup(t)
	hear(t, s, alice, "Tricky", "Maxinquaye", "Ponderosa", -time.Hour, 1)
	hear(t, s, alice, "Massive Attack feat. Tricky", "Protection", "Karmacoma", 0, 2)
	hear(t, s, alice, "MASSIVE ATTACK", "protection", "karmacoma", 5*time.Hour, 1)
	hear(t, s, alice, "Massive Attack", "", "", 10*time.Hour, 1)
	h, err := s.Heard(t.Context(), alice, november, digest.Limits{Artists: 9, Albums: 9, Tracks: 9, New: 9})
	require.NoError(t, err)
	require.Equal(t, digest.Heard{Plays: 4,
		Artists: []digest.Counted{{Artist: "Massive Attack", Plays: 4}, {Artist: "Tricky", Plays: 3}},
		Albums:  []digest.Counted{{Artist: "Massive Attack", Title: "Protection", Plays: 3}},
		Tracks:  []digest.Counted{{Artist: "Massive Attack", Title: "Karmacoma", Plays: 3}},
		New:     []digest.Counted{{Artist: "Massive Attack", Plays: 4}}}, h)
}

func TestDueDigests(t *testing.T) {
	t.Parallel()
	s, alice := setup(t)
	bob := addUser(t, s, "Bob", accounts.Member)
	due := func(w digest.Week) []digest.Due {
		all, err := s.DueDigests(t.Context(), w)
		require.NoError(t, err)
		return all
	}
	require.NoError(t, s.SwitchDigests(t.Context(), alice, true, november.To.Add(time.Hour)))
	require.NoError(t, s.SwitchDigests(t.Context(), alice, true, november.To.AddDate(1, 0, 0)),
		"switching it on again does not change since when it is on")
	require.Empty(t, due(november), "no plays in that week")
	hear(t, s, alice, "Can", "", "Paperhouse", -time.Hour, 1)
	require.Empty(t, due(november))
	require.Empty(t, due(november.Before()), "not wanted yet in that week")
	hear(t, s, alice, "Can", "", "Paperhouse", time.Hour, 1)
	hear(t, s, bob, "Can", "", "Paperhouse", time.Hour, 1)
	require.Equal(t, []digest.Due{{User: alice, Week: november.Name()}}, due(november))

	ask := digest.Digest{User: bob, Week: november.Name(), State: digest.Waiting, CreatedAt: november.To}
	require.NoError(t, s.AskDigest(t.Context(), ask))
	require.ErrorIs(t, s.AskDigest(t.Context(), ask), digest.ErrThere)
	require.Equal(t, []digest.Due{{User: alice, Week: november.Name()},
		{User: bob, Week: november.Name(), Asked: true}}, due(november))
	require.Equal(t, []digest.Due{{User: bob, Week: november.Name(), Asked: true}}, due(november.Before()),
		"a requested digest is due in every week")
	for _, user := range []int64{alice, bob} {
		require.NoError(t, s.SaveDigest(t.Context(), digest.Digest{User: user, Week: november.Name(),
			State: digest.Written, WrittenAt: november.To, CreatedAt: november.To}))
	}
	require.Empty(t, due(november))
	require.ErrorIs(t, s.AskDigest(t.Context(), ask), digest.ErrThere)
	wanted, err := s.DigestsWanted(t.Context(), alice)
	require.NoError(t, err)
	require.True(t, wanted)
	require.NoError(t, s.SwitchDigests(t.Context(), alice, false, november.To))
	wanted, err = s.DigestsWanted(t.Context(), alice)
	require.NoError(t, err)
	require.False(t, wanted)
}

func TestAllFieldsOfADigestAreStored(t *testing.T) {
	t.Parallel()
	s, alice := setup(t)
	bob := addUser(t, s, "Bob", accounts.Member)
	d := digest.Digest{User: alice, Week: november.Name(), State: digest.Written, Language: "de",
		Prompt: providers.Prompt{System: "Write.", User: "- Can (3)"},
		Completion: providers.Completion{Text: "A calm week.", Model: "a-model", PromptTokens: 400,
			CompletionTokens: 100, Cut: true},
		Cost: digest.Cost{Micros: 120, Currency: "EUR"}, CreatedAt: november.To,
		WrittenAt: november.To.Add(time.Minute)}
	require.NoError(t, s.SaveDigest(t.Context(), d))
	all, err := s.Digests(t.Context(), alice)
	require.NoError(t, err)
	require.Len(t, all, 1)
	d.ID = all[0].ID
	require.Equal(t, d, all[0])
	_, err = s.Digest(t.Context(), bob, d.ID)
	require.ErrorIs(t, err, library.ErrNotFound)

	require.NoError(t, s.DeleteDigest(t.Context(), alice, d.ID))
	_, err = s.Digest(t.Context(), alice, d.ID)
	require.ErrorIs(t, err, library.ErrNotFound)
	require.Zero(t, number(t, s,
		"SELECT count(*) FROM digests WHERE prompt <> '' OR text <> '' OR instructions <> ''"), "no text of it stays")
	require.NoError(t, s.SaveDigest(t.Context(), digest.Digest{User: bob, Week: november.Name(), State: digest.Failed,
		CreatedAt: november.To}))
	spent := digest.Spent{At: d.WrittenAt, PromptTokens: 400, CompletionTokens: 100, Cost: d.Cost}
	for _, user := range []int64{alice, 0} {
		got, err := s.DigestsSpent(t.Context(), user, november.From)
		require.NoError(t, err)
		require.Equal(t, []digest.Spent{spent}, got, "a digest that failed cost nothing")
	}
	got, err := s.DigestsSpent(t.Context(), 0, november.To.AddDate(0, 0, 1))
	require.NoError(t, err)
	require.Empty(t, got)
}
