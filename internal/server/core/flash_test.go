package core

import (
	"testing"

	"github.com/alexedwards/scs/v2"
	"github.com/alexedwards/scs/v2/memstore"
	"github.com/stretchr/testify/require"

	"reprise/internal/words"
)

func TestAFlashIsReadInTheReadersLanguage(t *testing.T) {
	t.Parallel()
	s := &Sessions{manager: &scs.SessionManager{Store: memstore.NewWithCleanupInterval(0), Codec: scs.GobCodec{}}}
	ctx, err := s.manager.Load(t.Context(), "")
	require.NoError(t, err)
	s.Flash(ctx, words.New("frame.failed", "Count", 2))
	require.Equal(t, "2 Einträge konnten nicht gesendet werden", s.popFlash(ctx).In(words.German))
	require.Zero(t, s.popFlash(ctx), "it is shown once")
	s.manager.Put(ctx, flashKey, "Kept by an earlier version.")
	require.Equal(t, "Kept by an earlier version.", s.popFlash(ctx).In(words.German))
}
