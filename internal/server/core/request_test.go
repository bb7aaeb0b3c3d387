package core

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLocalPath(t *testing.T) {
	for path, want := range map[string]string{
		"/listens?before=x": "/listens?before=x", "/": "/", "": "/", "listens": "/", "//evil.example": "/",
		`/\evil.example`:        "/",
		"https://evil.example/": "/", "/\tx": "/", "javascript:alert(1)": "/", "/%zz": "/",
	} {
		require.Equal(t, want, LocalPath(path), "%q", path)
	}
}
