package listening_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/playrules"
	"reprise/internal/server/servertest"
)

// mainOf returns what a page shows between its header and its footer.
func mainOf(h *servertest.Household, path string) string {
	h.T.Helper()
	_, page, ok := strings.Cut(h.Page(path), "<main")
	require.True(h.T, ok)
	page, _, _ = strings.Cut(page, "</main>")
	return page
}

var (
	addresses = regexp.MustCompile(`(?:href|src|action)="([^"]*)"`)
	figures   = regexp.MustCompile(`<ul class="figures">.*?</ul>`)
	tagged    = regexp.MustCompile(`<[^>]*>`)
)

// knownPlays stores listens from two sources for the present person, also of somebody who nobody else has heard, and
// returns that artist.
func knownPlays(h *servertest.Household) uint32 {
	h.T.Helper()
	h.Heard("Glósóli", "Glósóli", "Hoppípolla")
	track := library.Track{Title: "Secret", Artist: "Nobody Else", Album: "Hidden", Duration: time.Minute}
	for _, from := range []library.ConnectionID{"spotify", "lastfm"} {
		for day := range 5 {
			at := time.Now().AddDate(0, 0, -day).Add(-time.Hour)
			_, err := h.DB.SaveListens(h.T.Context(), library.Intake{User: h.User, Connection: from,
				Listens: []library.Listen{{Track: track, SourceID: fmt.Sprint(at.Unix()), PlayedAt: at,
					Player: "The phone of Ann"}}})
			require.NoError(h.T, err)
		}
	}
	links, err := h.DB.Links(h.T.Context(), []library.Track{track})
	require.NoError(h.T, err)
	return uint32(links[0].Artist)
}

// Who wants to lets the household see their page of numbers. Others open its address and see the same, with filters,
// and nothing that leads further, until it is taken back.
func TestListeningIsSharedInTheHousehold(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		artist := knownPlays(h)
		h.Submit("/connections/spotify/name", http.StatusSeeOther, "name", "Do not tell")
		require.NotContains(t, mainOf(h, "/listening"), "/settings/account", "nobody else is here")
		ann, ben := h.User, h.Other("Ben")
		require.Regexp(t, `Only you can see this page\. <a href="/settings/account#sharing">`, mainOf(h, "/listening"))
		const shared = "/listening?person=Ann&span=all"
		refused := func() {
			t.Helper()
			h.As(ben)
			require.NotContains(t, mainOf(h, "/listening"), "Ann")
			require.Empty(t, h.Call(http.MethodGet, "/stats/people", "", http.StatusOK)["people"])
			for _, path := range []string{"/listening?person=%s", "/listening?person=%s&span=all",
				"/listening?person=%s&artist=x", "/listening/common?person=%s", "/listening/common?person=%s&at=x"} {
				one := h.Do(http.MethodGet, fmt.Sprintf(path, "Ann"), "", "")
				none := h.Do(http.MethodGet, fmt.Sprintf(path, "Zoe"), "", "")
				require.Equal(t, http.StatusNotFound, one.Code)
				same := strings.NewReplacer("Zoe", "Ann")
				require.Equal(t, servertest.Text(none), servertest.Text(one),
					"nor whether there is somebody of that name")
				require.Equal(t, same.Replace(none.Body.String()), one.Body.String())
			}
			for _, call := range []string{"summary", "top/artists", "days", "hours", "common"} {
				h.Call(http.MethodGet, "/stats/"+call+"?person=Ann", "", http.StatusNotFound)
			}
		}
		refused()

		h.As(ann)
		require.Contains(t, h.Page("/settings/account"), "Only you can see your Listening page.")
		h.Submit("/settings/account/sharing", http.StatusSeeOther, "on", "yes")
		require.Contains(t, h.Page("/settings/account"), "Stop sharing")
		require.Contains(t, h.Page("/activity"), "Ann shared their Listening page with the household.")
		own := mainOf(h, "/listening?span=all&artist="+fmt.Sprint(artist))
		require.Contains(t, own, `id="share-address">http://127.0.0.1:8420/listening?artist=`+fmt.Sprint(artist)+
			"&amp;at=2000-01-01&amp;person=Ann&amp;span=all<")
		require.Equal(t, mainOf(h, "/listening?span=all"), mainOf(h, shared),
			"one's own address leads to one's own page")
		numbers := mainOf(h, "/listening?span=all")
		answers := map[string]any{}
		for _, call := range []string{"summary", "top/artists", "top/albums", "top/tracks", "days", "hours"} {
			answers[call] = h.Call(http.MethodGet, "/stats/"+call+"?span=all", "", http.StatusOK)
		}

		h.As(ben)
		require.Contains(t, mainOf(h, "/listening"),
			`Also: <a href="/listening?at=2000-01-01&amp;person=Ann&amp;span=month">`)
		require.Equal(t, []any{map[string]any{"name": "Ann"}},
			h.Call(http.MethodGet, "/stats/people", "", http.StatusOK)["people"])
		page := mainOf(h, shared)
		require.Regexp(t, "<h1>.?Ann.?&#39;s listening</h1>", page)
		require.Equal(t, plain(figures.FindString(numbers)), plain(figures.FindString(page)))
		require.Contains(t, page, `person=Ann&amp;source=spotify&amp;span=all">Spotify</a>`)
		require.NotContains(t, page, "Do not tell", "what its owner calls it")
		require.NotContains(t, page, "The phone of Ann")
		require.Equal(t, http.StatusNotFound, h.Do(http.MethodGet, shared+"&player=The+phone+of+Ann", "", "").Code)
		require.NotContains(t, page, "You&#39;ve")
		require.Contains(t, page, "has listened 6 days in a row.")
		for call, want := range answers {
			got := h.Call(http.MethodGet, "/stats/"+call+"?span=all&person=ann", "", http.StatusOK)
			if call == "summary" {
				require.NotEmpty(t, want.(map[string]any)["players"])
				want.(map[string]any)["players"] = []any{}
			}
			require.Equal(t, want, got, call)
		}
		leadsNowherePrivate(h, shared)
		filtered := mainOf(h, fmt.Sprint(shared, "&artist=", artist))
		require.Contains(t, filtered, "Nobody Else")
		require.Contains(t, plain(figures.FindString(filtered)), " 5 listens ")
		for _, path := range []string{"/listening?span=all&artist=%d", "/listens?artist=%d", "/music/artist/%d",
			"/api/v1/artists/%d", "/listening/years/2000?artist=%d&person=Ann"} {
			w := h.Do(http.MethodGet, fmt.Sprintf(path, artist), "", "")
			require.NotContains(t, w.Body.String(), "Nobody Else", path)
			require.NotContains(t, w.Body.String(), "Secret", path)
		}
		h.Call(http.MethodGet, "/export/stats/artists.csv?span=all&person=Ann", "", http.StatusBadRequest)

		h.As(ann)
		require.Equal(t, false, h.Call(http.MethodPatch, "/account", `{"shares_listening":false}`,
			http.StatusOK)["shares_listening"])
		refused()
		h.As(ann)
		require.Equal(t, true, h.Call(http.MethodPatch, "/account", `{"shares_listening":true}`,
			http.StatusOK)["shares_listening"])
		require.Equal(t, true, h.Call(http.MethodGet, "/account", "", http.StatusOK)["shares_listening"])
	})
}

// plain returns what is read of a part of a page.
func plain(part string) string {
	return servertest.Spaces.ReplaceAllString(tagged.ReplaceAllString(part, " "), " ")
}

// leadsNowherePrivate follows the addresses of somebody's shared page, one of each kind: all lead to that page with
// other filters, to the reader's own, to what both have in common, or to a picture.
func leadsNowherePrivate(h *servertest.Household, start string) {
	h.T.Helper()
	seen := map[string]bool{}
	for queue := []string{start}; len(queue) > 0; queue = queue[1:] {
		page := mainOf(h, queue[0])
		require.Regexp(h.T, "<h1>.?Ann.?&#39;s listening</h1>", page, queue[0])
		require.Contains(h.T, page, `<input type="hidden" name="person" value="Ann">`)
		for _, found := range addresses.FindAllStringSubmatch(page, -1) {
			at, err := url.Parse(strings.ReplaceAll(found[1], "&amp;", "&"))
			require.NoError(h.T, err)
			at.Fragment = "" // which no browser sends
			if at.Path == "" || strings.HasPrefix(at.Path, "/art/") || at.Path == "/listening/common" {
				continue
			}
			require.Equal(h.T, "/listening", at.Path, "on %s", queue[0])
			q := at.Query()
			names := slices.Sorted(maps.Keys(q))
			kind := fmt.Sprint(names)
			if len(names) == 3 {
				kind += q.Get("span")
			}
			switch {
			case len(q) == 0 || seen[kind]: // without a query it is that of the form, which keeps the person in a field
			case q.Has("person"):
				require.Equal(h.T, "Ann", q.Get("person"))
				seen[kind] = true
				if len(names) < 5 {
					queue = append(queue, at.String())
				}
			default:
				require.Equal(h.T, []string{"at", "span"}, names, "the reader's own, without filters")
			}
		}
	}
	require.Greater(h.T, len(seen), 10)
}

// Promise: What a person's rules keep from being sent anywhere is not in the numbers that they share with others.
func TestSharedNumbersLeaveOutWhatIsWithheld(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		ann, ben := h.User, shares(h, "Ben")
		_, err := h.DB.SavePlayRule(t.Context(), playrules.Rule{User: ben, Name: "Private", Kind: playrules.Withhold,
			Artist: "Guilty"})
		require.NoError(t, err)
		plays(h, ben, "Air", "1999-12-20", "1999-12-21")
		plays(h, ben, "Guilty", "1999-12-22", "1999-12-23", "1999-12-24")
		links, err := h.DB.Links(t.Context(), []library.Track{{Title: "Song of Guilty", Artist: "Guilty"}})
		require.NoError(t, err)
		h.As(ben)
		require.Contains(t, mainOf(h, "/listening?span=all"), "Guilty")
		h.As(ann)
		require.NotContains(t, mainOf(h, "/listening?span=all&person=Ben"), "Guilty")
		v := h.Call(http.MethodGet, "/stats/summary?span=all&person=Ben", "", http.StatusOK)
		require.EqualValues(t, 2, v["totals"].(map[string]any)["listens"])
		for _, name := range []string{"artist", "highlight"} {
			path := fmt.Sprintf("/listening?span=all&person=Ben&%s=%d", name, links[0].Artist)
			w := h.Do(http.MethodGet, path, "", "")
			require.Equal(t, http.StatusNotFound, w.Code, name)
		}
	})
}

// Whose account is being removed shares nothing any more, from the first moment on.
func TestARemovedPersonSharesNothing(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		ann, eve := h.User, h.Other("Eve")
		h.User = eve
		knownPlays(h)
		h.As(eve)
		h.Submit("/settings/account/sharing", http.StatusSeeOther, "on", "yes")
		h.As(ann)
		require.Contains(t, mainOf(h, "/listening?person=eve&span=all"), "Nobody Else")
		h.Call(http.MethodDelete, "/admin/users/Eve", "", http.StatusAccepted)
		gone := func() {
			require.Equal(t, http.StatusNotFound, h.Do(http.MethodGet, "/listening?person=Eve", "", "").Code)
			h.Call(http.MethodGet, "/stats/summary?person=Eve", "", http.StatusNotFound)
			require.NotContains(t, mainOf(h, "/listening"), "Eve")
		}
		gone()
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { assert.NoError(t, h.Gone.Run(ctx)) })
		time.Sleep(time.Minute)
		synctest.Wait()
		cancel()
		running.Wait()
		gone()
		h.Other("Eve") // another one
		gone()
	})
}
