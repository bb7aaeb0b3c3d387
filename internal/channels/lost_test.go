package channels

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The address of a channel is "lost:" after its secret key was lost. Pages still show the channel.
func TestALostAddressCanBeShown(t *testing.T) {
	t.Parallel()
	for _, k := range Kinds() {
		require.NotContains(t, Shown(k.Name, "lost:").String(), "lost:", k.Name)
		require.Empty(t, PushAddress(k.Name, "lost:"), k.Name)
	}
}
