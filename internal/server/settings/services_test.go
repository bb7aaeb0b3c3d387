package settings

import (
	"strings"
	"testing"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"reprise/internal/providers"
	"reprise/internal/server/connections"
	"reprise/internal/words"
	"reprise/web/ui"
	"reprise/web/ui/uitest"
)

// household returns the services of a person with three connections, where YouTube is not set up and S3 is free.
func household(admin bool) servicesView {
	p := func(name, called string, oauth *providers.OAuth) *providers.Provider {
		return &providers.Provider{Description: providers.Description{Name: name, DisplayName: called}, OAuth: oauth}
	}
	return servicesView{Admin: admin, All: []*providers.Provider{
		p("spotify", "Spotify", &providers.OAuth{ClientID: "id"}), p("lastfm", "Last.fm", nil),
		p("youtube", "YouTube", &providers.OAuth{}), p("s3", "S3 archive", nil)},
		Connected: []connections.Connection{
			{ID: "lastfm", Provider: "lastfm", DisplayName: "Last.fm", State: "needs_admin"},
			{ID: "spotify", Provider: "spotify", DisplayName: "Spotify", Account: "ann", State: "healthy"},
			{ID: "spotify-2", Provider: "spotify", DisplayName: "Spotify 2", State: "needs_reconnect"}}}
}

// said is a row in a line: what it is, how it does, and what can be done; the main thing with a star.
func said(all []serviceRow) (lines []string) {
	for _, r := range all {
		line := []string{r.Name}
		if r.State != nil {
			line = append(line, r.State.Word)
		}
		for _, a := range r.Actions {
			if a.Main {
				a.Label += "*"
			}
			line = append(line, a.Label)
		}
		lines = append(lines, strings.Join(append(line, r.Note), " | "))
	}
	return lines
}

// Each service has a line in the order of the registry, with its connections or with what it takes to connect it.
func TestServicesSayWhatCanBeDone(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		"Spotify | Up to date | Details | Reconnect | ",
		"Spotify 2 | Needs you | Details | Reconnect* | ",
		"Last.fm | Needs you | Details | Reconnect | ",
		"YouTube | Set up | Needs to be set up once.",
		"S3 archive | Connect | ",
	}, said(household(true).rows(t.Context())))
	member := said(household(false).rows(words.With(t.Context(), words.German)))
	require.Equal(t, "Last.fm | Braucht den Administrator | Details | Neu verbinden | ", member[2])
	require.Equal(t, "YouTube | Anfragen | Der Administrator muss das erst einrichten.", member[3])
}

func TestServicesPageIsSound(t *testing.T) {
	t.Parallel()
	v := household(false)
	v.Connected[1].Account = uitest.Hostile
	uitest.Sound(t, func(l *words.Language) templ.Component {
		return services(v.rows(words.With(t.Context(), l)), []ui.Entry{{Label: "More", URL: "/x", Lead: "There"}})
	})
	html := uitest.HTML(t, words.English, services(v.rows(t.Context()), nil))
	require.Contains(t, html, `<form method="post" action="/ask/youtube"`)
	require.Contains(t, html, `name="return_to" value="/settings/services"`)
}
