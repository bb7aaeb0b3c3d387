package recipes

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/listening"
)

var berlin, _ = time.LoadLocation("Europe/Berlin")

// now is a Friday.
var now = time.Date(2026, 11, 20, 14, 0, 0, 0, berlin)

// history is what somebody heard: songs by their numbers, each of three minutes and by the artist of its tens.
type history struct {
	*listening.Builder
	music *listening.Music
}

func newHistory() *history {
	var all []listening.Meaning
	for i := range uint32(60) {
		all = append(all, listening.Meaning{Spelling: i + 1, Track: i + 1, Album: 100,
			Artists: []uint32{101 + (i+1)/10}, Length: 3 * time.Minute})
	}
	return &history{listening.NewBuilder(time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC).Unix()),
		(&listening.Music{}).With(all)}
}

// hear adds so many plays of a song, an hour apart. They must come in the order of time.
func (h *history) hear(song uint32, plays int, year, month, day int) *history {
	for i := range plays {
		h.Add(time.Date(year, time.Month(month), day, 12, 0, 0, 0, berlin).Add(time.Duration(i)*time.Hour).Unix(), song)
		h.From(listening.Origin{Connection: "spotify"})
		if song%2 == 0 {
			h.From(listening.Origin{Connection: "navidrome"})
		}
	}
	return h
}

// chosen returns the songs that a recipe chooses.
func (h *history) chosen(r Recipe, o Facts) (songs []uint32) {
	r.Songs = max(r.Songs, 1)
	for _, s := range r.Choose([]*listening.Columns{h.Columns()}, h.music, o, now) {
		songs = append(songs, s.Spelling)
	}
	return songs
}

func TestEachRecipeChoosesWhatItsSentenceSays(t *testing.T) {
	h := newHistory().
		hear(1, 12, 2018, 11, 19). // often heard, and long ago; on this day
		hear(2, 3, 2018, 12, 24).  // loved
		hear(3, 2, 2019, 1, 5).
		hear(4, 20, 2020, 11, 22).
		hear(41, 9, 2021, 3, 1). // by an artist who comes back
		hear(5, 30, 2025, 11, 15).
		hear(42, 1, 2026, 11, 2).
		hear(6, 4, 2026, 11, 10). // new
		hear(4, 1, 2026, 11, 12)
	loved := Facts{Loved: map[uint32]bool{2: true, 4: true}, Disliked: map[uint32]bool{1: true}}
	some := Recipe{Songs: 50}
	with := func(change func(*Recipe)) Recipe {
		r := some
		change(&r)
		return r
	}
	require.Equal(t, []uint32{5, 1, 2}, h.chosen(with(func(r *Recipe) { r.Kind, r.Months = Forgotten, 6 }), loved))
	require.Equal(t, []uint32{2}, h.chosen(with(func(r *Recipe) { r.Kind, r.Months, r.Loved = Forgotten, 6, true }),
		loved))
	require.Equal(t, []uint32{5, 2}, h.chosen(with(func(r *Recipe) {
		r.Kind, r.Months, r.Disliked = Forgotten, 6, true
	}), loved), "what somebody dislikes is left out")
	require.Equal(t, []uint32{2}, h.chosen(with(func(r *Recipe) {
		r.Kind, r.Months, r.Library = Forgotten, 6, "navidrome"
	}), loved), "only what was heard there")
	owned := loved
	owned.Own = map[uint32]bool{1: true}
	require.Equal(t, []uint32{1, 2}, h.chosen(with(func(r *Recipe) {
		r.Kind, r.Months, r.Library = Forgotten, 6, "navidrome"
	}), owned), "or what the library has, wherever it was heard")
	require.Equal(t, []uint32{6, 4, 42}, h.chosen(with(func(r *Recipe) { r.Kind = Top }), loved))
	require.Equal(t, []uint32{1, 2}, h.chosen(with(func(r *Recipe) { r.Kind, r.Year = Top, 2018 }), loved))
	require.Equal(t, []uint32{2, 3}, h.chosen(with(func(r *Recipe) {
		r.Kind, r.Year, r.Season = Top, 2019, "winter"
	}), loved), "it begins in December")
	require.Equal(t, []uint32{6, 42}, h.chosen(with(func(r *Recipe) { r.Kind, r.Months = Discovered, 1 }), loved))
	require.Equal(t, []uint32{4, 1}, h.chosen(with(func(r *Recipe) { r.Kind = Anniversary }), loved))
	require.Equal(t, []uint32{41, 42}, h.chosen(with(func(r *Recipe) { r.Kind, r.Months = Returned, 1 }), loved))
	require.Equal(t, []uint32{6, 4}, h.chosen(with(func(r *Recipe) { r.Kind, r.Minutes = Top, 7 }), loved),
		"two songs of three minutes fit")
	require.Equal(t, []uint32{6}, h.chosen(with(func(r *Recipe) { r.Kind, r.Songs = Top, 1 }), loved))
}

func TestDaysOfTheYearAreNearOverNewYear(t *testing.T) {
	h := newHistory().hear(1, 1, 2023, 2, 25).hear(2, 1, 2024, 12, 31).hear(3, 1, 2025, 1, 1).hear(2, 1, 2025, 1, 2)
	r := Recipe{Kind: Anniversary, Songs: 5}
	on := func(year int, month time.Month, day int) []Song {
		at := time.Date(year, month, day, 12, 0, 0, 0, berlin)
		return r.Choose([]*listening.Columns{h.Columns()}, h.music, Facts{}, at)
	}
	songs := on(2026, time.January, 1)
	require.Len(t, songs, 2)
	require.Equal(t, []int{2024, 2025}, songs[0].Years, "the years in which it was heard")
	require.Len(t, on(2028, time.February, 29), 1, "in other years it is the 28th")
}

func TestEverySongSaysWhyItIsThere(t *testing.T) {
	h := newHistory().hear(4, 2, 2020, 11, 22).hear(4, 1, 2024, 11, 18)
	r := Recipe{Kind: Anniversary, Songs: 1}
	s := r.Choose([]*listening.Columns{h.Columns()}, h.music, Facts{}, now)[0]
	require.Equal(t, "Heard on these days in 2020, 2024", r.Why(s, berlin).String())
	r = Recipe{Kind: Forgotten, Months: 6, Songs: 1}
	s = r.Choose([]*listening.Columns{h.Columns()}, h.music, Facts{Loved: map[uint32]bool{4: true}}, now)[0]
	require.Equal(t, "3 plays, last on 18 November 2024", r.Why(s, berlin).String())
}

func TestARecipeIsDueOnceInItsPeriod(t *testing.T) {
	for every, begins := range map[string]time.Time{
		"day":   time.Date(2026, 11, 20, 4, 0, 0, 0, berlin),
		"week":  time.Date(2026, 11, 16, 4, 0, 0, 0, berlin),
		"month": time.Date(2026, 11, 1, 4, 0, 0, 0, berlin),
	} {
		require.True(t, Recipe{Every: every, Renewed: begins.Add(-time.Minute)}.Due(now), every)
		require.False(t, Recipe{Every: every, Renewed: begins}.Due(now), every)
	}
	for _, day := range []int{25, 29} { // an hour comes twice in October, and one is missing in March
		month := map[int]time.Month{25: time.October, 29: time.March}[day]
		at := func(hour int) time.Time { return time.Date(2026, month, day, hour, 30, 0, 0, berlin) }
		r := Recipe{Every: "day", Renewed: at(4).AddDate(0, 0, -1)}
		require.False(t, r.Due(at(3)), month)
		require.True(t, r.Due(at(4)), month)
		r.Renewed = at(4)
		require.False(t, r.Due(at(5)), month)
	}
	night := time.Date(2026, 11, 16, 3, 0, 0, 0, berlin)
	require.False(t, Recipe{Every: "week", Renewed: time.Date(2026, 11, 9, 4, 0, 0, 0, berlin)}.Due(night))
}

func TestARecipeThatCannotBeSaysWhy(t *testing.T) {
	fine := Recipe{Name: "Rain", Kind: Forgotten, Months: 6, Songs: 50, Every: "week"}
	require.True(t, fine.Check().IsZero())
	for sentence, wrong := range map[string]func(*Recipe){
		"needs a name":    func(r *Recipe) { r.Name = "" },
		"no recipe":       func(r *Recipe) { r.Kind = "best" },
		"months must be":  func(r *Recipe) { r.Months = 0 },
		"songs must be":   func(r *Recipe) { r.Songs = 501 },
		"minutes must be": func(r *Recipe) { r.Minutes = -1 },
		"from 1970 on":    func(r *Recipe) { r.Year = 12 },
		"needs a year":    func(r *Recipe) { r.Season = "winter" },
		"every day, week": func(r *Recipe) { r.Every = "hour" },
	} {
		r := fine
		wrong(&r)
		require.Contains(t, r.Check().String(), sentence)
	}
}
