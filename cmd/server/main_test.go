package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"reprise/internal/cli"
)

func TestCommandsRefuseWrongSettings(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"frobnicate":                     `there is no command "frobnicate"`,
		"rotate-key -listen nonsense":    `“nonsense” is not an address`,
		"backup x -config /no/such/file": "The configuration file cannot be read",
	} {
		var out bytes.Buffer
		err := run(t.Context(), strings.Fields(line), nil, cli.Console{In: strings.NewReader(""), Out: &out, Err: &out})
		require.ErrorContains(t, err, want, line)
		require.Empty(t, out.String())
	}
}
