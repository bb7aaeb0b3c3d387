package main

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/cluster"
	"reprise/internal/config"
	"reprise/internal/datadir"
	"reprise/internal/resilience"
	"reprise/internal/storetest"
)

// A database server that is away comes back at any moment: a server that wants to lead asks every two seconds.
func TestItLeadsSoonAfterTheDatabaseIsBack(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close()) // nobody answers there
	dir := datadir.Dir{Path: t.TempDir(), SecretKey: storetest.Secret,
		DatabaseURL: resilience.Secret("postgres://reprise:secret@" + l.Addr().String() + "/reprise")}
	synctest.Test(t, func(t *testing.T) {
		var said buffer
		log := slog.New(slog.NewTextHandler(&said, nil))
		in := inCluster{process: &process{dir: dir, log: log}, member: cluster.NewMember(cluster.Server{}, nil, log)}
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		in.leadAgain(ctx, config.Config{})
		require.Equal(t, 3, strings.Count(said.String(), "this server can't lead"), said.String())
	})
}
