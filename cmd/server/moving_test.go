package main

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAMoveOfListensIsTold(t *testing.T) {
	t.Parallel()
	var log, out strings.Builder
	tell := tellMoving(slog.New(slog.NewTextHandler(&log, nil)), &out)
	for i := range int64(100) {
		tell(5000*(i+1), 500_000, time.Duration(i)*100*time.Millisecond)
	}
	require.Equal(t, 1, strings.Count(out.String(), "Reprise is moving your listens"))
	require.Equal(t, 3, strings.Count(log.String(), "moving listens"), "at the start, after five seconds, at the end")
	require.Contains(t, log.String(), "done=500000 all=500000")
}
