package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/notify"
	"reprise/internal/store/db"
)

func TestAnAddressFromTheSettingsIsNotStored(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	named := notify.Channel{Kind: "email", Name: "E-mail", URL: "smtp://ann:guess@mail.example.org/",
		Wishes: notify.DefaultWishes()}
	for range 2 { // a second one with the same address is ignored, also after a restart
		adopted, err := s.AdoptChannels(t.Context(), []notify.Channel{named, named})
		require.NoError(t, err)
		require.True(t, adopted)
		all, err := s.Channels(t.Context(), user)
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.EqualValues(t, 1, all[0].ID)
		require.True(t, all[0].FromSettings)
	}
	require.Zero(t, number(t, s, "SELECT count(*) FROM channels WHERE setting = $1",
		db.Fingerprint("email "+string(named.URL))), "a short password could be guessed from it")
	require.Zero(t, number(t, s, "SELECT count(*) FROM channels WHERE url LIKE '%guess%' OR setting LIKE '%guess%'"))
}
