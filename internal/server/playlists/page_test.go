package playlists

import (
	"context"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/match"
	"reprise/internal/server/core"
	"reprise/internal/server/deliveries"
	"reprise/internal/words"
	"reprise/web/ui"
	"reprise/web/ui/uitest"
)

var then = core.Moment(time.Date(2026, 11, 20, 21, 4, 11, 0, time.UTC))

// copyWith is a copy on Navidrome of which 5 of 7 tracks were found, one in each way.
func copyWith(change func(*Copy)) Copy {
	r := &delivery.Report{Total: 7, Matched: 5, Done: "unchanged"}
	for _, how := range []match.How{match.ByISRC, match.ByMBID, match.ByName, match.ByScore, match.ByChoice,
		match.ByNothing, match.ByNothing} {
		r.Tracks = append(r.Tracks, delivery.ReportTrack{Title: "Rain", Artist: uitest.Hostile, How: how, Score: 0.91,
			Found: "Nobody – Rain!"})
	}
	r.Tracks[6].Question, r.Tracks[6].Offered = "7", 3
	c := Copy{Connection: "navidrome", Provider: "navidrome", DisplayName: "Navidrome", Enabled: true,
		UpToDate: true, WhenChanged: ask, WrittenAt: then, Report: r}
	if change != nil {
		change(&c)
	}
	return c
}

func english(t *testing.T) context.Context { return words.With(t.Context(), words.English) }

func TestCopyWithTooFewTracksSaysSo(t *testing.T) {
	t.Parallel()
	html := uitest.HTML(t, words.English, copyOf(cardOf(english(t), "3", copyWith(func(c *Copy) {
		c.Report.Done, c.Delivery = "nothing", &deliveries.Delivery{ID: "3", State: "dead", Reason: "Too few.",
			Redrivable: true}
	}))))
	require.Contains(t, html, "Nothing was written: only 5 of 7 tracks were found on Navidrome")
	require.Contains(t, html, "The copy there is unchanged.")
	require.Contains(t, html, "91% match: Nobody – Rain!")
	require.Contains(t, html, "by its ISRC")
	require.Contains(t, html, "as you chose")
	require.Contains(t, html, "2 tracks not found on Navidrome")
	require.Contains(t, html, `<a href="/connections/navidrome/songs/7">3 possible matches</a>`)
	require.NotContains(t, html, "Too few.", "it is said once")
	require.Contains(t, html, `action="/deliveries/3/redrive"`)
}

func TestWhatACopyOffers(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		change  func(*Copy)
		state   string
		drift   string
		actions []string
	}{
		"up to date": {nil, "Up to date", "", []string{"Stop copying"}},
		"goes out": {func(c *Copy) { c.UpToDate, c.Delivery = false, &deliveries.Delivery{State: "scheduled"} },
			"Scheduled", "", []string{"Stop copying"}},
		"done": {func(c *Copy) { c.Delivery = &deliveries.Delivery{State: "done"} }, "Up to date", "",
			[]string{"Stop copying"}},
		"gone": {func(c *Copy) { c.UpToDate, c.Drift = false, "gone" }, "",
			"The copy on Navidrome was deleted. Reprise leaves it deleted until you decide.",
			[]string{"Write it again", "Leave it as it is", "Stop copying"}},
		"edited": {func(c *Copy) { c.UpToDate, c.Drift = false, "edited" }, "",
			"The copy on Navidrome was changed. Reprise doesn't touch it until you decide.",
			[]string{"Overwrite it", "Leave it as it is", "Stop copying"}},
		"left": {func(c *Copy) { c.UpToDate, c.Drift, c.WhenChanged = false, "edited", "leave" }, "",
			"The copy on Navidrome was changed. Reprise leaves it as it is.", []string{"Overwrite it", "Stop copying"}},
	} {
		v := cardOf(english(t), "3", copyWith(want.change))
		var state string
		if v.State != nil {
			state = v.State.Word
		}
		var labels []string
		for _, a := range append(v.Decide, v.Actions...) {
			labels = append(labels, a.Label)
			require.NotEmpty(t, a.Fields, name)
		}
		require.Equal(t, want.state, state, name)
		require.Equal(t, want.drift, v.Drift, name)
		require.Equal(t, want.actions, labels, name)
		require.NotNil(t, v.When, name)
	}
}

func TestCopiesAreOfferedTogether(t *testing.T) {
	t.Parallel()
	offered := func(id string, consent *string) Copy {
		return Copy{Connection: id, DisplayName: id, Consent: consent}
	}
	v := pageOf(english(t), Playlist{ID: "3"}, nil,
		[]Copy{offered("Navidrome", nil), offered("Spotify", core.Text("/connect/spotify?write=yes"))})
	require.Empty(t, v.Copies)
	require.Equal(t, []string{"Spotify asks you first whether Reprise may change your playlists there."}, v.Offer.Asks)
	require.Equal(t, "Copy to Navidrome", v.Offer.Actions[0].Label)
	require.Equal(t, "/playlists/3/copies/Navidrome", v.Offer.Actions[0].Post)
	require.Equal(t, "Copy to Spotify…", v.Offer.Actions[1].Label)
	require.Equal(t, "/connect/spotify?write=yes", v.Offer.Actions[1].URL)
}

// A choice about a copy posts what the form reads, not what is stored.
func TestDecidingAboutACopyPostsTheChoice(t *testing.T) {
	t.Parallel()
	v := cardOf(english(t), "3", copyWith(func(c *Copy) { c.Drift = "gone" }))
	require.Equal(t, []ui.Hidden{{Name: "write", Value: "rewrite"}}, v.Decide[0].Fields)
	require.Equal(t, []ui.Hidden{{Name: "write", Value: "leave"}}, v.Decide[1].Fields)
	require.Equal(t, "/playlists/3/copies/navidrome", v.Decide[0].Post)
}

func TestPlaylistPagesAreSound(t *testing.T) {
	t.Parallel()
	list := Playlist{ID: "3", Name: uitest.Hostile, From: uitest.Hostile, TrackCount: 1}
	ours := Playlist{ID: "4", Name: "Rain", From: "Spotify", Active: true, CopyOf: core.Text("3"),
		CopyName: uitest.Hostile}
	ms := int64(241_000)
	hostile := ListedTrack{Track: uitest.Hostile, Artist: uitest.Hostile, DurationMS: &ms}
	sun := ListedTrack{Track: "Sun", Artist: "Nobody", Album: uitest.Hostile}
	tracks := []Track{{Position: 251, ListedTrack: hostile}, {Position: 252, ListedTrack: sun,
		Video: &Video{Availability: library.VideoPrivate, GoneSince: then}}}
	copies := []Copy{copyWith(nil), copyWith(func(c *Copy) {
		c.Connection, c.Drift, c.DisplayName = "b", "edited", uitest.Hostile
		c.Delivery = &deliveries.Delivery{ID: "1", State: "retrying", Reason: uitest.Hostile,
			LastAnswer:    uitest.Hostile,
			NextAttemptAt: then}
	}), copyWith(func(c *Copy) { c.Connection, c.Enabled = "c", false })}
	for _, page := range []func(context.Context) templ.Component{
		func(ctx context.Context) templ.Component {
			return listPlaylists(overviewOf(ctx, []Playlist{list, ours}, ui.Pages{Page: 1, Pages: 2, After: "/x"}))
		},
		func(ctx context.Context) templ.Component { return listPlaylists(overviewOf(ctx, nil, ui.Pages{})) },
		func(ctx context.Context) templ.Component { return onePlaylist(pageOf(ctx, list, tracks, copies)) },
		func(ctx context.Context) templ.Component { return onePlaylist(pageOf(ctx, ours, nil, nil)) },
	} {
		uitest.Sound(t, func(l *words.Language) templ.Component { return page(words.With(t.Context(), l)) })
	}
	html := uitest.HTML(t, words.English, onePlaylist(pageOf(english(t), list, tracks, nil)))
	require.Contains(t, html, "4:01")
	require.Contains(t, html, "made private on YouTube, noticed <time")
	require.Contains(t, html, "Reprise keeps it here.")
}
