package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestThePublishedDescriptionIsUpToDate(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "openapi.yaml")
	require.NoError(t, write(file))
	made, err := os.ReadFile(file)
	require.NoError(t, err)
	published, err := os.ReadFile("../../../web/openapi.yaml")
	require.NoError(t, err)
	require.Equal(t, string(published), string(made), "run go generate ./web")
}
