package playrules_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/playrules"
)

var berlin = time.FixedZone("Berlin", 3600)

func play(title string) playrules.Play {
	return playrules.Play{Track: library.Track{Title: title, Artist: "Nina", Album: "Best", Duration: 3 * time.Minute},
		At: time.Date(2026, 11, 20, 22, 30, 0, 0, berlin), Player: "Kitchen", Source: "spotify"}
}

// apply applies rules that have no names yet.
func apply(t *testing.T, p playrules.Play, all ...playrules.Rule) playrules.Outcome {
	t.Helper()
	for i := range all {
		all[i].ID, all[i].Name = int64(i+1), "Mine"
		require.Empty(t, all[i].Check().String())
	}
	return playrules.New(all, berlin).Apply(p)
}

func TestFinishedRulesDoWhatTheySay(t *testing.T) {
	t.Parallel()
	rules := map[string]playrules.Rule{}
	for _, f := range playrules.Finished {
		rules[f.Key] = f.Rule
	}
	for key, titles := range map[string]map[string]string{
		"remastered": {"Angie - Remastered 2009": "Angie", "Angie - 2009 Remaster": "Angie",
			"Angie (Remastered)": "Angie", "Angie [2009 Digital Remaster]": "Angie",
			"Angie – Remastered Version": "Angie",
			"Remastered":                 "Remastered", "The Remaster": "The Remaster", "Angie (Live)": "Angie (Live)"},
		"featuring": {"Song (feat. Ben)": "Song", "Song [ft. Ben & Co]": "Song", "Song feat. Ben": "Song",
			"Song (feat. Ben) [Remix]": "Song [Remix]", "Defeat": "Defeat", "Soft Song": "Soft Song",
			"The Feat of Legends": "The Feat of Legends"},
		"video": {"Song (Official Video)": "Song", "Song [Official Music Video] HD": "Song HD",
			"Song (Lyric Video)": "Song", "Song (Live)": "Song (Live)", "Official": "Official"},
	} {
		for from, to := range titles {
			o := apply(t, play(from), rules[key])
			require.Equal(t, to, o.Track.Title, "%s of %q", key, from)
			require.Equal(t, from != to, len(o.Rewrote) == 1)
		}
	}
	short, long := play("Jingle"), play("Podcast")
	short.Duration, long.Duration = 20*time.Second, time.Hour
	require.NotZero(t, apply(t, short, rules["short"]).Ignored)
	require.Zero(t, apply(t, long, rules["short"]).Ignored)
	require.NotZero(t, apply(t, long, rules["long"]).Ignored)
	unknown := play("Song")
	unknown.Duration = 0
	require.Zero(t, apply(t, unknown, rules["short"], rules["long"]).Ignored, "its length isn't known")
	require.Equal(t, []library.ConnectionID{playrules.Everywhere}, apply(t, play("Song"), rules["night"]).Targets())
	noon := play("Song")
	noon.At = noon.At.Add(14 * time.Hour)
	require.Empty(t, apply(t, noon, rules["night"]).Targets())
}

func TestWhatARuleAsksForMustAllBeSo(t *testing.T) {
	t.Parallel()
	whole := playrules.Rule{Kind: playrules.Ignore, Title: "son", Artist: "NINA", Album: "/^best$/", Player: "kitchen",
		Source: "spotify", Shorter: 4 * time.Minute, Longer: 2 * time.Minute, Begins: "22:00", Ends: "23:00"}
	require.NotZero(t, apply(t, play("Song"), whole).Ignored)
	for name, change := range map[string]func(*playrules.Rule){
		"title":   func(r *playrules.Rule) { r.Title = "rain" },
		"artist":  func(r *playrules.Rule) { r.Artist = "/^in/" },
		"album":   func(r *playrules.Rule) { r.Album = "worst" },
		"player":  func(r *playrules.Rule) { r.Player = "garage" },
		"source":  func(r *playrules.Rule) { r.Source = "lastfm" },
		"shorter": func(r *playrules.Rule) { r.Shorter = 3 * time.Minute },
		"longer":  func(r *playrules.Rule) { r.Longer = 3 * time.Minute },
		"clock":   func(r *playrules.Rule) { r.Begins = "22:31" },
		"off":     func(r *playrules.Rule) { r.Off = true },
	} {
		r := whole
		change(&r)
		require.Zero(t, apply(t, play("Song"), r).Ignored, name)
	}
}

func TestRulesAreAppliedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	o := apply(t, play("A.B (live)"),
		playrules.Rule{Kind: playrules.Ignore, Title: "C"},
		playrules.Rule{Kind: playrules.Rewrite, Field: "title", Title: "a.b", With: "$1 C"},
		playrules.Rule{Kind: playrules.Rewrite, Field: "title", Title: `/^(.*) \(live\)$/`, With: "Live: $1"},
		playrules.Rule{Kind: playrules.Rewrite, Field: "artist", Artist: "/^.*$/"},
		playrules.Rule{Kind: playrules.Rewrite, Field: "album", Album: "Best"},
		playrules.Rule{Kind: playrules.Withhold, Album: "Best", To: []library.ConnectionID{"lastfm"}})
	require.Equal(t, "Live: $1 C", o.Track.Title, "a plain text has no groups")
	require.Equal(t, "Nina", o.Track.Artist, "nobody has no name")
	require.Empty(t, o.Track.Album)
	require.Equal(t, []int64{2, 3, 5}, o.Rewrote)
	require.EqualValues(t, 1, o.Ignored, "by the names that it has in the end")
	require.Empty(t, o.Withheld)
	require.Equal(t, playrules.Outcome{Track: play("A").Track}, (*playrules.Set)(nil).Apply(play("A")))
}

func TestAGroupEndsWithItsNumber(t *testing.T) {
	t.Parallel()
	o := apply(t, play("Part 2 of Song"),
		playrules.Rule{Kind: playrules.Rewrite, Field: "title", Title: `/^part (\d) of (.*)$/`, With: "$2, $1nd part"})
	require.Equal(t, "Song, 2nd part", o.Track.Title)
}

func TestTimesOfDayAreThoseOfARulesPerson(t *testing.T) {
	t.Parallel()
	r := playrules.Rule{ID: 1, Name: "Mine", Kind: playrules.Ignore, Begins: "22:00", Ends: "23:00", Zone: "Asia/Tokyo"}
	tokyo := playrules.Play{At: time.Date(2026, 1, 2, 13, 30, 0, 0, time.UTC)}
	require.NotZero(t, playrules.New([]playrules.Rule{r}, nil).Apply(tokyo).Ignored)
	require.Zero(t, playrules.New([]playrules.Rule{r}, time.UTC).Apply(tokyo).Ignored, "where they have chosen a zone")
}

func TestARuleThatIsWrongIsRefused(t *testing.T) {
	t.Parallel()
	right := playrules.Rule{Name: "Mine", Kind: playrules.Rewrite, Field: "title", Title: "a"}
	require.Empty(t, right.Check().String())
	for name, change := range map[string]func(*playrules.Rule){
		"no name":      func(r *playrules.Rule) { r.Name = "" },
		"no kind":      func(r *playrules.Rule) { r.Kind = "perhaps" },
		"no pattern":   func(r *playrules.Rule) { r.Title, r.Artist = "", "a" },
		"no field":     func(r *playrules.Rule) { r.Field = "label" },
		"no regexp":    func(r *playrules.Rule) { r.Title = "/(/" },
		"too large":    func(r *playrules.Rule) { r.Title = "/((a{100}){100}){10}/" },
		"too large by": func(r *playrules.Rule) { r.Title = "/(a{40}){99}/" },
		"long source":  func(r *playrules.Rule) { r.Source = library.ConnectionID(strings.Repeat("a", 101)) },
		"half a time":  func(r *playrules.Rule) { r.Begins = "22:00" },
		"no time":      func(r *playrules.Rule) { r.Begins, r.Ends = "22:00", "25:00" },
		"all day":      func(r *playrules.Rule) { r.Begins, r.Ends = "22:00", "22:00" },
		"a week":       func(r *playrules.Rule) { r.Longer = 7 * 24 * time.Hour },
		"less":         func(r *playrules.Rule) { r.Shorter = -time.Second },
		"ignoring all": func(r *playrules.Rule) { *r = playrules.Rule{Name: "Mine", Kind: playrules.Ignore} },
	} {
		r := right
		change(&r)
		require.NotEmpty(t, r.Check().String(), name)
	}
}

func TestWhereAListenIsSent(t *testing.T) {
	t.Parallel()
	is := func(one library.ConnectionID) func(library.ConnectionID) bool {
		return func(id library.ConnectionID) bool { return id == one }
	}
	require.True(t, playrules.Sends(nil, is("lastfm")))
	require.False(t, playrules.Sends([]library.ConnectionID{"lastfm"}, is("lastfm")))
	require.True(t, playrules.Sends([]library.ConnectionID{"lastfm"}, is("listenbrainz")))
	require.False(t, playrules.Sends([]library.ConnectionID{playrules.Everywhere}, is("listenbrainz")))
}
