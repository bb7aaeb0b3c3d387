package main

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/cli"
	"reprise/internal/config"
)

// Whoever reads the log must not be able to create the first account.
func TestTheSetupCodeIsPrintedAndNotLogged(t *testing.T) {
	t.Parallel()
	var out, logged bytes.Buffer
	p := process{console: cli.Console{Out: &out}, log: slog.New(slog.NewJSONHandler(&logged, nil))}
	p.announce(config.Config{Contact: "me@example.org"},
		cli.Ready{Links: []string{"http://nas:8420", "http://127.0.0.1:8420"}, SetupCode: "CODE"})
	require.Contains(t, out.String(), "http://nas:8420/setup?code=CODE")
	require.Contains(t, logged.String(), `"links":["http://nas:8420","http://127.0.0.1:8420"]`)
	require.NotContains(t, logged.String(), "CODE")
}
