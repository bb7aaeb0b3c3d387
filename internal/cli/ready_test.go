package cli

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheFirstAccountsLinksArePrinted(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	links := []string{"http://192.168.1.20:8420", "http://nas:8420", "http://127.0.0.1:8420"}
	Ready{Links: links, SetupCode: "CODE"}.Print(&out)
	require.Equal(t, `
Reprise is ready. Create the first account here:

  http://192.168.1.20:8420/setup?code=CODE
  http://nas:8420/setup?code=CODE
  http://127.0.0.1:8420/setup?code=CODE  (on this machine)

`, out.String())
}

func TestAContainerIsToldWhatToReplace(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	Ready{Links: []string{"http://127.0.0.1:8420"}, Within: true}.Print(&out)
	require.Contains(t, out.String(), "\n  http://127.0.0.1:8420\n")
	require.Contains(t, out.String(), "the machine that runs this container")
}
