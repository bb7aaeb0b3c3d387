package main

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/soak"
	"reprise/internal/upkeep"
)

// Between two ticks, while nothing is due, a disk may sleep: nothing reads or writes the database.
func TestNothingIsAskedBetweenTicks(t *testing.T) {
	seldom := map[string]string{"sync.listens_every": "24h", "sync.playlists_every": "24h"}
	inBubbleWith(t, demo.Options{Plays: 30}, seldom, func(t *testing.T, i *installation) {
		i.run(upkeep.Options{Store: i.store, Traffic: i.store.Traffic(), Forget: i.endpoints.Breakers.Forget,
			Log: slog.New(i.log)}.Run)
		i.people(soak.Count(t, 20, 3)) // each with five connections
		i.deliver()
		time.Sleep(15 * time.Minute) // until the history is read and its music is looked up
		statements, transactions := i.store.Traffic().Statements(), i.store.Traffic().Transactions()
		time.Sleep(35 * time.Minute) // what comes every hour comes in the first minutes of it
		require.Equal(t, statements, i.store.Traffic().Statements())
		require.Equal(t, transactions, i.store.Traffic().Transactions())
		for _, user := range i.users {
			listens, err := i.store.CountListens(context.Background(), user)
			require.NoError(t, err)
			require.NotZero(t, listens, "it has worked")
		}
	})
}
