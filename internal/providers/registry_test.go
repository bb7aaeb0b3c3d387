package providers_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/providers"
)

func named(name, display string) *providers.Provider {
	return &providers.Provider{Description: providers.Description{Name: name, DisplayName: display}}
}

func TestAReplacedProviderKeepsItsPlace(t *testing.T) {
	t.Parallel()
	a, b := named("a", "A"), named("b", "B")
	r := providers.NewRegistry(a, b)
	before := r.All()
	newer := named("a", "Newer")
	r.Replace(newer)
	require.Same(t, newer, r.Get("a"))
	require.Equal(t, []*providers.Provider{newer, b}, r.All())
	require.Equal(t, []*providers.Provider{a, b}, before, "an old slice stays unchanged")
	c := named("c", "C")
	r.Replace(c)
	require.Equal(t, []*providers.Provider{newer, b, c}, r.All())
	require.Nil(t, r.Get("d"))
	require.Nil(t, (*providers.Registry)(nil).Get("a"))
}

// TestARegistryIsSafeForConcurrentUse relies on the race detector.
func TestARegistryIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	r := providers.NewRegistry(named("a", ""), named("b", ""))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 200 {
				r.Replace(named("a", fmt.Sprint(i, n)))
			}
		})
		wg.Go(func() {
			for range 200 {
				require.NotNil(t, r.Get("a"))
				require.Len(t, r.All(), 2)
			}
		})
	}
	wg.Wait()
}

func TestReadListsEveryProblem(t *testing.T) {
	t.Parallel()
	d := providers.Description{Name: "radio", Settings: []providers.Setting{
		{Name: "api_url", Kind: providers.BaseURL, Default: "https://radio.example.org/"},
		{Name: "rate", Kind: providers.Rate, Default: "2"},
		{Name: "price_in", Kind: providers.Price, With: "price_out"}, {Name: "price_out", Kind: providers.Price},
	}}
	s, err := d.Read(map[string]string{"api_url": " "})
	require.NoError(t, err)
	require.Equal(t, "https://radio.example.org", s.Text("api_url"), "an empty address is the default")
	require.Equal(t, 2.0, s.Rate())
	_, err = d.Read(map[string]string{"api_url": "nowhere", "rate": "often", "price_in": "1", "volume": "11"})
	for _, part := range []string{
		"providers.radio.api_url", "providers.radio.rate", "providers.radio.volume", "belong together",
	} {
		require.ErrorContains(t, err, part)
	}
}
