package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/library"
)

// TestSendingsAreNumberedWithTheirEnds: a reading can tell what is in its counts for sure.
func TestSendingsAreNumberedWithTheirEnds(t *testing.T) {
	t.Parallel()
	s, alice := setup(t)
	bob := addUser(t, s, "Bob", accounts.Member)
	one := library.Connection{User: alice, ID: "navidrome", AccountID: "https://music#us"}
	other := library.Connection{User: bob, ID: "navidrome-2", AccountID: "https://music#US"}
	elsewhere := library.Connection{User: alice, ID: "navidrome-3", AccountID: "https://nas#us"}
	play := func(id int64) library.StoredListen {
		l := library.StoredListen{ID: id, Listen: listen(float64(id))}
		l.Track.SourceID = "song"
		return l
	}
	songs := []library.Grown{{Track: library.Track{SourceID: "song"}}}
	ended := func(c library.Connection) map[int64]int64 {
		all, err := s.Evidence(t.Context(), c, songs)
		require.NoError(t, err)
		by := map[int64]int64{}
		for _, v := range all[0].Sent {
			by[v.Listen] = v.Ended
		}
		return by
	}
	n, err := s.LastSending(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
	first, err := s.Sending(t.Context(), one, []library.StoredListen{play(1), play(2), play(3)})
	require.NoError(t, err)
	_, err = s.Sending(t.Context(), elsewhere, []library.StoredListen{play(1)})
	require.NoError(t, err)
	require.Equal(t, map[int64]int64{1: 0, 2: 0, 3: 0}, ended(other), "whoever sends them to the account")
	before, err := s.LastSending(t.Context())
	require.NoError(t, err)

	require.NoError(t, s.Sent(t.Context(), one, first, []int64{1}, []int64{2}))
	known := ended(one)
	require.Len(t, known, 2, "what did not arrive is forgotten")
	require.Greater(t, known[1], before, "a reading that began before its end may have missed it")
	require.Zero(t, known[3])
	unsure, err := s.Unsure(t.Context(), other)
	require.NoError(t, err)
	require.Len(t, unsure, 1)
	require.Equal(t, int64(3), unsure[0].Listen)
	require.Equal(t, map[int64]int64{1: 0}, ended(elsewhere))

	_, err = s.Sending(t.Context(), one, []library.StoredListen{play(3)})
	require.NoError(t, err)
	require.NoError(t, s.Sent(t.Context(), one, first, []int64{3}, nil))
	require.NotZero(t, ended(one)[3], "both attempts are over")
}

// TestSendingsAreKeptUntilTheyAreCounted: a reading that is yet to come compares with a count from before them.
func TestSendingsAreKeptUntilTheyAreCounted(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	c := connect(t, s, user, "navidrome")
	l := listen(1)
	l.Track.SourceID, l.PlayCount = "counted", 3
	save(t, s, user, "navidrome", l)
	var plays []library.StoredListen
	for i, song := range []string{"counted", "new"} {
		p := library.StoredListen{ID: int64(10 + i), Listen: listen(2)}
		p.Track.SourceID = song
		plays = append(plays, p)
	}
	_, err := s.Sending(t.Context(), c, plays)
	require.NoError(t, err)
	rows := func() int { return number(t, s, "SELECT count(*) FROM sent_plays") }
	require.NoError(t, s.Tidy(t.Context()))
	require.Equal(t, 2, rows(), "their outcome may still come")
	require.NoError(t, s.ForgetSendings(t.Context(), time.Now().Add(time.Minute)))
	require.Equal(t, 1, rows(), "the song was not counted before")

	looked, err := s.LastSending(t.Context())
	require.NoError(t, err)
	l = listen(3)
	l.Track.SourceID, l.PlayCount = "counted", 5
	_, err = s.SaveListens(t.Context(), library.Intake{User: user, Connection: "navidrome",
		Listens: []library.Listen{l}, Looked: looked})
	require.NoError(t, err)
	require.NoError(t, s.ForgetSendings(t.Context(), time.Now().Add(time.Minute)))
	require.Zero(t, rows())
}
