package registry_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/providers/providertest"
	"reprise/internal/providers/registry"
)

func TestDescriptionsAreComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, d := range registry.Descriptions() {
		require.False(t, seen[d.Name], "%s is listed twice", d.Name)
		seen[d.Name] = true
		t.Run(d.Name, func(t *testing.T) { providertest.Describes(t, d) })
		if e := d.Enriches; e != nil && e.Needs != "" {
			require.NotNil(t, registry.Describe(e.Needs).Enriches, "%s needs a source that there is", d.Name)
		}
	}
}

func TestTheExampleIsNotOffered(t *testing.T) {
	t.Parallel()
	require.Empty(t, registry.Describe("example").Name)
}
