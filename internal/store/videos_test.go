package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
)

func TestAVideoIsGoneTwiceInAPlaylist(t *testing.T) {
	s, _ := setup(t)
	require.NoError(t, s.VideosGone(t.Context(), []string{"a", "a"}, library.VideoDeleted, time.Now()))
}
