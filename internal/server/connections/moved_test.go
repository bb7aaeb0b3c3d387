package connections

import (
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	syncer "reprise/internal/sync"
)

func TestTheFormHasTheAddressOfARedirect(t *testing.T) {
	t.Parallel()
	p := &providers.Provider{Description: providers.Description{Fields: []providers.Field{
		{Name: "url", Kind: "url"}, {Name: "username", Kind: "text"}}}}
	const old, moved = "http://music.local:4533/nd", "https://music.example.org"
	for name, c := range map[string]struct {
		state resilience.State
		want  string
	}{
		"moved":               {resilience.State{Mendable: true}, moved + "/nd"},
		"for the first time":  {resilience.State{}, old},
		"one of the settings": {resilience.State{Mendable: true, ForAdmin: true}, old},
	} {
		f := filled{provider: p, values: typed{"url": old, "username": "ada"}}
		f.moved(syncer.Status{Sending: &syncer.Line{State: c.state, MovedTo: moved}})
		require.Equal(t, typed{"url": c.want, "username": "ada"}, f.values, name)
		require.Equal(t, c.want != old, f.movedTo != "", name)
	}
}
