package export_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/server"
	"reprise/internal/server/servertest"
)

// forgetful is a store whose playlists cannot be read.
type forgetful struct{ server.Store }

func (forgetful) PlaylistsPart(context.Context, int64, int, int) ([]library.StoredPlaylist, error) {
	return nil, errors.New("the disk is gone")
}

// A browser that gets half of an export must not take it for all of it.
func TestABrokenExportIsNotComplete(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	h.Heard("One", "Two")
	h.Store = forgetful{h.DB}
	h.Restart()
	real := httptest.NewServer(h)
	defer real.Close()
	resp, err := http.Get(real.URL + "/settings/account/export")
	if err == nil { // the answer may break off before its first byte
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode == http.StatusInternalServerError { // nothing had been sent yet
			return
		}
	}
	require.Error(t, err)
}
