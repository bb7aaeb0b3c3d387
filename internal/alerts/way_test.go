package alerts

import (
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// An administrator's alert leads to the page on which its cause is mended.
func TestAdministratorsAreLedToWhatTheyMend(t *testing.T) {
	t.Parallel()
	spotify := &providers.Provider{Description: providers.Description{Name: "spotify",
		Registration: &providers.Registration{}}}
	youtube := &providers.Provider{Description: providers.Description{Name: "youtube",
		Registration: &providers.Registration{}, Pool: &providers.Pool{}}}
	for name, c := range map[string]struct {
		provider *providers.Provider
		stream   string
		category resilience.Category
		want     string
	}{
		"a refused client id":   {spotify, library.Listens, resilience.Config, "/setup/spotify"},
		"spent keys":            {youtube, library.Listens, resilience.Quota, "/settings/server#keys"},
		"a refused permission":  {youtube, library.Listens, resilience.Permission, "/setup/youtube"},
		"an answer of another":  {spotify, library.Listens, resilience.Contract, "/settings"},
		"the weekly digest":     {youtube, library.Digest, resilience.Config, "/digest"},
		"covers and other data": {youtube, library.Enrichment, resilience.Quota, "/settings/server#enrichment"},
	} {
		s := providers.Subject{Provider: c.provider, Stream: c.stream}
		al := alert{finding: finding{subject: s}, category: c.category}
		require.Equal(t, c.want, al.adminAction().URL, name)
	}
}
