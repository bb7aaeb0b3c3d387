package connections

import (
	"slices"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/providers"
	"reprise/internal/providers/lastfm"
	"reprise/internal/providers/navidrome"
	"reprise/internal/providers/spotify"
	"reprise/internal/words"
	"reprise/web/ui"
	"reprise/web/ui/uitest"
)

// offered are three services, of which one asks for a password and two are allowed in the browser.
func offered() []*providers.Provider {
	return []*providers.Provider{{Description: spotify.Describe(), OAuth: &providers.OAuth{}},
		{Description: navidrome.Describe()}, {Description: lastfm.Describe(), OAuth: &providers.OAuth{}}}
}

func TestTheEmptyStartPageOffersOneThing(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]accounts.FirstSteps{"never led": {Ended: true}, "new": {Begun: true}} {
		v := emptyOf(t.Context(), "Ann", f, offered(), true)
		require.Equal(t, "Get started", v.Begin.Label, name)
		require.Equal(t, "/welcome", v.Begin.URL, name)
		require.Empty(t, v.Chosen, name)
		html := uitest.HTML(t, words.English, startPage(statusView{Empty: &v}))
		require.Equal(t, 1, strings.Count(html, `class="button`), html)
		require.NotContains(t, html, "/connect/", "no service yet")
	}
}

func TestPutOffStepsAreTakenUpAgain(t *testing.T) {
	t.Parallel()
	both := []string{"navidrome", "lastfm"}
	for name, one := range map[string]struct {
		far  accounts.FirstSteps
		to   string
		rows []string
	}{
		"after the address": {accounts.FirstSteps{Begun: true, Contact: true}, "/welcome", nil},
		"dismissed":         {accounts.FirstSteps{Begun: true, Ended: true}, "/welcome", nil},
		"with a choice": {accounts.FirstSteps{Begun: true, Chosen: both, LeftOut: []string{"lastfm"}},
			"/welcome", both},
		"each put off": {accounts.FirstSteps{Begun: true, Chosen: both, LeftOut: both},
			"/connect/navidrome?return_to=%2Fwelcome", both},
		"dismissed with a choice": {accounts.FirstSteps{Begun: true, Chosen: both, Ended: true},
			"/connect/navidrome?return_to=%2Fwelcome", both},
	} {
		v := emptyOf(t.Context(), "Ann", one.far, offered(), false)
		require.Equal(t, "Continue setting up", v.Begin.Label, name)
		require.Equal(t, one.to, v.Begin.URL, name)
		var rows []string
		for _, e := range v.Chosen {
			rows = append(rows, e.Provider)
			require.Equal(t, "/connect/"+e.Provider+"?return_to=%2Fwelcome", e.URL, name)
		}
		require.Equal(t, one.rows, rows, name)
		require.Equal(t, len(rows) > 0, slices.ContainsFunc(v.Next, func(n ui.Named) bool {
			return n.URL == "/welcome/services"
		}), name)
		html := uitest.HTML(t, words.English, startPage(statusView{Empty: &v}))
		require.Equal(t, 1, strings.Count(html, `class="button`), html)
		require.Equal(t, len(rows), strings.Count(html, `class="marked"`), html)
	}
}

func TestEmptyStartPageSaysWhatIsNeeded(t *testing.T) {
	t.Parallel()
	far := accounts.FirstSteps{Begun: true, Chosen: []string{"spotify", "navidrome"}}
	said := func(admin, registered bool) (all []string) {
		services := offered()
		if registered {
			services[0].OAuth.ClientID = "id"
		}
		for _, e := range emptyOf(t.Context(), "Ann", far, services, admin).Chosen {
			all = append(all, e.Label+": "+e.Lead)
		}
		return all
	}
	password := "Connect Navidrome: Address of your server · Username · Password or API key"
	require.Equal(t, []string{"Set up Spotify: Reprise shows you how.", password}, said(true, false))
	require.Equal(t, []string{"Connect Spotify: The administrator has to set it up first.", password},
		said(false, false))
	require.Equal(t, []string{"Connect Spotify: You allow access on Spotify's own page.", password}, said(false, true))
}

func TestEmptyStartPageIsSound(t *testing.T) {
	t.Parallel()
	uitest.Sound(t, func(*words.Language) templ.Component {
		return startPage(statusView{Empty: &emptyView{Title: uitest.Hostile, Lead: uitest.Hostile,
			Begin:  ui.Action{ID: "begin", Label: "Go", URL: "/welcome", Main: true},
			Chosen: []ui.Entry{{Label: uitest.Hostile, URL: "/", Lead: uitest.Hostile, Provider: "x"}},
			Next:   []ui.Named{{Text: uitest.Hostile, URL: "/"}}}})
	})
}
