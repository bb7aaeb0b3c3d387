package words

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyRealZonesAreTaken(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Europe/Berlin", "America/Argentina/ComodRivadavia", "Etc/GMT+12", "UTC"} {
		zone, ok := ZoneNamed(name)
		require.True(t, ok, name)
		require.Equal(t, name, zone.String())
	}
	for _, name := range []string{"", "Local", "Mars/Olympus", "../../etc/passwd", "/etc/localtime", "Europe/../UTC",
		"Europe\\Berlin", "Europe/Berlin\x00", "Europe/Berlin\n", "<script>", strings.Repeat("Europe/Berlin", 10_000)} {
		_, ok := ZoneNamed(name)
		require.False(t, ok, "%.40q", name)
	}
}
