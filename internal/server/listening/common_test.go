package listening_test

import (
	"fmt"
	"html"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/playrules"
	"reprise/internal/server/servertest"
)

// plays stores listens of a person to a song of an artist, once on each of some dates.
func plays(h *servertest.Household, user int64, artist string, dates ...string) {
	h.T.Helper()
	var all []library.Listen
	for i, date := range dates {
		at, err := time.Parse(time.DateOnly, date)
		require.NoError(h.T, err)
		at = at.Add(12*time.Hour + time.Duration(i)*10*time.Minute)
		all = append(all, library.Listen{SourceID: fmt.Sprint(artist, at.Unix()), PlayedAt: at,
			Track: library.Track{Title: "Song of " + artist, Artist: artist, Album: "Album of " + artist,
				Duration: 3 * time.Minute}})
	}
	_, err := h.DB.SaveListens(h.T.Context(), library.Intake{User: user, Connection: "spotify", Listens: all})
	require.NoError(h.T, err)
}

// often repeats a date.
func often(date string, n int) (all []string) {
	for range n {
		all = append(all, date)
	}
	return all
}

// shares makes another account, which lets the household see its numbers.
func shares(h *servertest.Household, name string) int64 {
	h.T.Helper()
	user := h.Other(name)
	require.NoError(h.T, h.DB.ShareListening(h.T.Context(), user, true))
	return user
}

// rowsOf returns the names of a list of an answer with both numbers, such as "Björk 3:2".
func rowsOf(list any) (all []string) {
	for _, one := range list.([]any) {
		row := one.(map[string]any)
		all = append(all, fmt.Sprintf("%s %v:%v", row["name"], row["yours"], row["theirs"]))
	}
	return all
}

// Two people of a household look at what they share, each from their side. What it says is about the span they choose.
func TestTwoPeopleSeeWhatTheyShare(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) { // it is 1 January 2000
		h := servertest.New(t, delivery.Options{})
		ann, ben := h.User, shares(h, "Ben")
		require.NoError(t, h.DB.ShareListening(t.Context(), ann, true))
		plays(h, ann, "Air", "1998-01-05", "1999-12-20")
		plays(h, ben, "Air", "1998-02-05", "1998-02-06", "1999-12-21")
		plays(h, ann, "Björk", "1999-05-02", "1999-05-03", "1999-05-04")
		plays(h, ben, "Björk", "1999-05-30", "1999-06-01")
		plays(h, ann, "Only Ann", "1999-12-01", "1999-12-02", "1999-12-03")
		plays(h, ben, "Only Ben", often("1999-03-01", 6)...)
		h.As(ann)

		require.Contains(t, mainOf(h, "/listening"), `<a href="/listening/common">What you have in common</a>`)
		require.Contains(t, mainOf(h, "/listening/common"),
			`<a href="/listening/common?at=2000-01-01&amp;person=Ben&amp;span=all">`)
		require.Contains(t, mainOf(h, "/listening?person=Ben"),
			`<a href="/listening/common?at=2000-01-01&amp;person=Ben&amp;span=all">What you have in common</a>`)
		page := mainOf(h, "/listening/common?person=ben")
		read := html.UnescapeString(plain(page))
		require.Contains(t, read, "You and Ben")
		require.Contains(t, read, "63% of what you played is by artists that Ben heard too 5 of 8 listens")
		require.Contains(t, read, "45% of what Ben played is by artists that you heard too 5 of 11 listens")
		require.Contains(t, read, "You both found Björk in May 1999.")
		require.NotContains(t, read, "You both found Air")
		require.Contains(t, read, "Might be for you Ben hears these a lot, and you've never heard them here. Only Ben")
		require.Contains(t, read, "You: 3, Ben: 2")
		require.NotContains(t, read, "Only Ann")
		require.Regexp(t, `href="/listening\?artist=\d+&amp;at=2000-01-01&amp;person=Ben&amp;span=all">Only Ben`, page)
		for _, found := range addresses.FindAllStringSubmatch(page, -1) {
			w := h.Do(http.MethodGet, html.UnescapeString(found[1]), "", "")
			require.NotEqual(t, http.StatusNotFound, w.Code, found[1])
		}

		v := h.Call(http.MethodGet, "/stats/common?span=all&person=Ben", "", http.StatusOK)
		require.Equal(t, map[string]any{"listens": 8.0, "shared": 5.0, "percent": 63.0}, v["yours"])
		require.Equal(t, map[string]any{"listens": 11.0, "shared": 5.0, "percent": 45.0}, v["theirs"])
		require.Equal(t, []string{"Air 2:3", "Björk 3:2"}, rowsOf(v["artists"]))
		require.Equal(t, []string{"Album of Air 2:3", "Album of Björk 3:2"}, rowsOf(v["albums"]))
		require.Equal(t, []string{"Song of Air 2:3", "Song of Björk 3:2"}, rowsOf(v["tracks"]))
		require.Equal(t, []string{"Björk 3:2"}, rowsOf(v["found"]))
		require.Equal(t, "1999-05", v["found"].([]any)[0].(map[string]any)["month"])
		require.Equal(t, []string{"Only Ben 0:6"}, rowsOf(v["unheard"]))
		one := h.Call(http.MethodGet, "/stats/common?span=all&person=Ben&limit=1", "", http.StatusOK)
		require.Len(t, one["artists"], 1)
		h.Call(http.MethodGet, "/stats/common?span=all", "", http.StatusBadRequest)
		h.Call(http.MethodGet, "/stats/common?person=Ann", "", http.StatusNotFound)

		lately := mainOf(h, "/listening/common?person=Ben&from=1999-12-03&to=2000-01-01")
		require.Regexp(t, `aria-current="[a-z]+"[^>]*>The last 30 days`, lately)
		read = plain(lately)
		require.Contains(t, read, "50% of what you played is by artists that Ben heard too 1 of 2 listens")
		require.NotContains(t, read, "Björk")

		h.As(ben)
		v = h.Call(http.MethodGet, "/stats/common?span=all&person=Ann", "", http.StatusOK)
		require.Equal(t, []string{"Air 3:2", "Björk 2:3"}, rowsOf(v["artists"]))
		require.Equal(t, []string{"Björk 2:3"}, rowsOf(v["found"]))
		require.Empty(t, v["unheard"], "three listens are not much")
		require.Contains(t, plain(mainOf(h, "/listening/common?person=Ann")), "45% of what you played")
	})
}

// Promise: What a person's rules keep from being sent anywhere is in nothing that they have in common with others.
func TestCommonLeavesOutWhatIsWithheld(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		ann, ben := h.User, shares(h, "Ben")
		_, err := h.DB.SavePlayRule(t.Context(), playrules.Rule{User: ben, Name: "Private", Kind: playrules.Withhold,
			Artist: "Guilty"})
		require.NoError(t, err)
		for _, user := range []int64{ann, ben} {
			plays(h, user, "Air", "1998-01-05", "1999-12-20")
			plays(h, user, "Guilty", "1999-05-02", "1999-05-03")
		}
		_, err = h.DB.SavePlayRule(t.Context(), playrules.Rule{User: ben, Name: "Too", Kind: playrules.Withhold,
			Artist: "Guiltier"})
		require.NoError(t, err)
		plays(h, ben, "Guiltier", often("1999-06-01", 9)...)
		h.As(ann)
		require.NotContains(t, mainOf(h, "/listening/common?person=Ben"), "Guilt")
		v := h.Call(http.MethodGet, "/stats/common?span=all&person=Ben", "", http.StatusOK)
		require.Equal(t, []string{"Air 2:2"}, rowsOf(v["artists"]))
		require.Equal(t, map[string]any{"listens": 4.0, "shared": 2.0, "percent": 50.0}, v["yours"])
		require.Equal(t, map[string]any{"listens": 2.0, "shared": 2.0, "percent": 100.0}, v["theirs"])
		require.Empty(t, v["found"])
		require.Empty(t, v["unheard"])
	})
}

// Where there is nothing to compare, the page says why and what to do.
func TestNothingInCommonHasANextStep(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		says := func(path string, all ...string) {
			t.Helper()
			page := mainOf(h, path)
			for _, part := range all {
				require.Contains(t, page, part)
			}
		}
		says("/listening/common", "Nobody else lets you see their listening yet.", `href="/settings/people"`)
		ann, ben := h.User, h.Other("Ben")
		h.As(ann)
		says("/listening/common", "Nobody else lets you see", `href="/settings/account#sharing"`)
		require.NoError(t, h.DB.ShareListening(t.Context(), ben, true))
		const both = "/listening/common?person=Ben"
		says(both, "You have no listens yet", `href="/imports"`)
		plays(h, ann, "Air", "1999-11-05", "1999-12-20")
		says(both, "has no listens yet.", "Your listening")
		plays(h, ben, "Björk", "1998-05-05", "1999-12-21")
		says(both, "heard any artist in common yet.", `person=Ben&amp;span=all">`)
		says(both+"&span=year&at=1999-12-01", "any artist in common in this time.", "Look at all time")
		says(both+"&span=month&at=1999-11-01", "One of you didn&#39;t hear anything in this time.", "Look at all time")
	})
}
