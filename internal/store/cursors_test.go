package store

import (
	"context"
	"encoding/base64"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/activity"
	"reprise/internal/delivery"
	"reprise/internal/library"
)

// FuzzCursor asks every list to continue from any text: it does, or says that this is no cursor.
func FuzzCursor(f *testing.F) {
	s, user := setup(f)
	ctx := context.Background()
	intake := library.Intake{User: user, Connection: "spotify", Listens: repeat(5, 5)}
	_, err := s.SaveListens(ctx, intake)
	require.NoError(f, err)
	for n := range 3 {
		started := at(float64(n))
		require.NoError(f, s.SaveRun(ctx, library.Run{User: user, Connection: "spotify", Stream: library.Listens,
			Started: started, Result: "done"}))
	}
	_, next, err := s.Listens(ctx, user, "", 2)
	require.NoError(f, err)
	f.Add(next)
	_, next, err = s.Runs(ctx, user, "spotify", time.Time{}, "", 2)
	require.NoError(f, err)
	f.Add(next)
	for _, text := range []string{
		"1", "-1", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1.5", "\x00", "a", "\xff",
	} {
		f.Add(text)
		f.Add(base64.RawURLEncoding.EncodeToString([]byte(text + "." + text)))
		f.Add(base64.RawURLEncoding.EncodeToString([]byte("1." + text)))
	}
	f.Fuzz(func(t *testing.T, before string) {
		_, _, listens := s.Listens(ctx, user, before, 2)
		_, _, runs := s.Runs(ctx, user, "spotify", time.Time{}, before, 2)
		_, _, log := s.Activity(ctx, activity.Filter{}, before, 2)
		_, _, sent := s.Deliveries(ctx, delivery.Filter{User: user}, before, 2)
		for list, err := range map[string]error{"listens": listens, "runs": runs, "activity": log, "deliveries": sent} {
			require.True(t, err == nil || errors.Is(err, library.ErrBadCursor), "%s from %q: %v", list, before, err)
		}
	})
}
