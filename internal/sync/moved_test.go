package sync_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/enginetest"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/providertest"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
)

// ownServer is a person's own server, which takes every spelling of a name.
type ownServer struct{ c library.Credentials }

func (s ownServer) Prove(context.Context) (providers.Account, error) {
	name := s.c["username"]
	return providers.Account{ID: s.c["url"] + "#" + name, Name: name, AnyCase: true}, nil
}

// ownServers lets a person connect servers of their own, and returns what does so.
func ownServers(e *enginetest.Engine, user int64) func(id library.ConnectionID, url, name string) error {
	p := providertest.New(registry.Describe("navidrome"))
	p.Streams = nil
	p.Open = func(_ resilience.Call, c library.Credentials) providers.Adapter { return ownServer{c} }
	e.Registry.Replace(p)
	return func(id library.ConnectionID, url, name string) error {
		_, err := e.Connections.Connect(context.Background(), p, library.Connection{User: user, ID: id,
			Credentials: library.Credentials{"url": url, "username": name, "password": "x"}})
		return err
	}
}

func TestAMovedServerKeepsEverything(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, _ *enginetest.Upstreams, user int64) {
		connect, ctx := ownServers(e, user), context.Background()
		require.NoError(t, connect("navidrome", "https://old.example.org", "carol"))
		require.NoError(t, e.Store.SavePosition(ctx, user, "navidrome", "listens", `{"done":7}`, words.Text{}))

		err := connect("navidrome", "https://new.example.org", "carol")
		var other *syncer.OtherAccountError
		require.ErrorAs(t, err, &other)
		require.Equal(t, syncer.OtherAccountError{Old: "carol (https://old.example.org)",
			New: "carol (https://new.example.org)", Moved: true}, *other)
		c, err := e.Connections.Choose(ctx, user, "navidrome", syncer.Moved)
		require.NoError(t, err)
		require.Equal(t, "https://new.example.org#carol", c.AccountID)
		position, err := e.Store.Position(ctx, user, "navidrome", "listens")
		require.NoError(t, err)
		require.Equal(t, `{"done":7}`, position, "reading goes on where it was")

		require.ErrorAs(t, connect("navidrome", "https://new.example.org", "dave"), &other)
		require.False(t, other.Moved, "another person's account is no moved server")
		require.Error(t, connect("navidrome", "https://third.example.org", "carol"))
		_, err = e.Connections.Choose(ctx, user, "navidrome", syncer.Replace)
		require.NoError(t, err)
		position, err = e.Store.Position(ctx, user, "navidrome", "listens")
		require.NoError(t, err)
		require.Empty(t, position, "another server is read from its beginning")
	})
}

func TestAnotherCaseIsTheSameAccount(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, _ *enginetest.Upstreams, user int64) {
		connect, ctx := ownServers(e, user), context.Background()
		one := library.Connection{ID: "navidrome", AccountID: "https://m.example.org#CAROL"}
		two := library.Connection{ID: "navidrome-2", AccountID: "https://m.example.org#carol"}
		require.True(t, one.SameAccount(two), "nothing goes round in circles")
		require.NoError(t, connect("navidrome", "https://m.example.org", "CAROL"))
		require.NoError(t, e.Store.SavePosition(ctx, user, "navidrome", "listens", `{"done":7}`, words.Text{}))
		time.Sleep(time.Second)
		require.NoError(t, connect("navidrome", "https://m.example.org", "carol"))
		position, err := e.Store.Position(ctx, user, "navidrome", "listens")
		require.NoError(t, err)
		require.Equal(t, `{"done":7}`, position)
		require.True(t, strings.HasSuffix(e.Status(user, "navidrome").Connection.AccountID, "#carol"))
	})
}
