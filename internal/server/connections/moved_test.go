package connections

import (
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
)

func TestTheFormHasTheAddressOfARedirect(t *testing.T) {
	t.Parallel()
	p := &providers.Provider{Description: providers.Description{Fields: []providers.Field{
		{Name: "url", Kind: "url"}, {Name: "username", Kind: "text"}}}}
	const old, moved = "http://music.local:4533/nd", "https://music.example.org"
	for name, c := range map[string]struct {
		state backoff.State
		want  string
	}{
		"moved":               {backoff.State{Mendable: true}, moved + "/nd"},
		"for the first time":  {backoff.State{}, old},
		"one of the settings": {backoff.State{Mendable: true, ForAdmin: true}, old},
	} {
		f := filled{provider: p, values: typed{"url": old, "username": "ada"}}
		f.moved(syncer.Status{Sending: &syncer.Line{State: c.state, MovedTo: moved}})
		require.Equal(t, typed{"url": c.want, "username": "ada"}, f.values, name)
		require.Equal(t, c.want != old, f.movedTo != "", name)
	}
}

func TestARefusalNamesTheServerThatRefused(t *testing.T) {
	t.Parallel()
	subsonic := &providers.Provider{Description: providers.Description{Name: "navidrome", DisplayName: "Navidrome",
		Owner: providers.OwnServer, Fields: []providers.Field{{Name: "url", Kind: "url"}, {Name: "password"}}}}
	listenbrainz := *subsonic
	listenbrainz.DisplayName, listenbrainz.Owner = "ListenBrainz", "metabrainz"
	wrong := resilience.Meaning{Class: resilience.Fatal, Category: resilience.Auth, Scope: resilience.ScopeConnection}
	for _, c := range []struct {
		p                  *providers.Provider
		host, tells, typed string
		want               string
	}{
		{subsonic, "m.example.org", "gonic", "At home", "gonic doesn't"},
		{subsonic, "m.example.org", "Navidrome", "", "Navidrome doesn't"},
		{subsonic, "m.example.org", "", "At home", "At home doesn't"},
		{subsonic, "m.example.org", "", "", "Your server doesn't"},
		{&listenbrainz, "koito.example.org", "", "", "koito.example.org doesn't"},
		{&listenbrainz, "", "", "", "ListenBrainz doesn't"},
	} {
		err := &resilience.AnswerError{Status: 200, Code: "40", Server: c.tells, Meaning: &wrong}
		var said *core.Refusal
		require.ErrorAs(t, refused(calledAs(c.p, c.host, c.typed, err), err), &said)
		require.Contains(t, said.Detail.String(), c.want)
		require.Contains(t, said.Title.String(), c.want[:3])
	}
}
