package sync

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
)

// counted is a store that knows one play of each track, an hour ago.
type counted struct {
	Store
	before time.Time
}

func (s counted) PlayCounts(
	_ context.Context, _ int64, _ library.ConnectionID, tracks []string,
) (map[string]library.Counted, error) {
	known := map[string]library.Counted{}
	for _, id := range tracks {
		known[id] = library.Counted{PlayedAt: s.before, Plays: 1}
	}
	return known, nil
}

func (counted) Evidence(_ context.Context, _ library.Connection, songs []library.Grown) ([]library.Evidence, error) {
	return make([]library.Evidence, len(songs)), nil
}

// TestABillionPlaysAreNotBelieved: a server may say any number, and each hidden play would be a listen.
func TestABillionPlaysAreNotBelieved(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, c := range []struct{ plays, tracks, want int }{
		{3, 1, 1}, {1_000_000_000, 1, 360}, {1_000_000_000, 1000, maxHidden}, {1, 1, 0}, {0, 1, 0},
	} {
		var page []library.Listen
		for range c.tracks {
			page = append(page, library.Listen{Track: library.Track{SourceID: "1"}, PlayedAt: now, PlayCount: c.plays})
		}
		r := listenRun{rd: &reader{store: counted{before: now.Add(-time.Hour)}}}
		hidden, err := r.hidden(t.Context(), page)
		require.NoError(t, err)
		require.Len(t, hidden, c.want, "%+v", c)
	}
}

// TestWhatExplainsAGrownCount: a song of three minutes had been played 10 times, the last time at 0:00, when sending
// number 100 was the last; now it has been played more often, the last time at 2:00.
func TestWhatExplainsAGrownCount(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	at := func(minute int) time.Time { return start.Add(time.Duration(minute) * time.Minute) }
	sent := func(listen int64, minute int, ended int64) library.Sending {
		return library.Sending{Listen: listen, PlayedAt: at(minute), Ended: ended}
	}
	held := func(listen int64, minute int) library.Held { return library.Held{Listen: listen, PlayedAt: at(minute)} }
	there := func(h library.Held) library.Held { h.There = true; return h }
	waiting := func(h library.Held) library.Held { h.Waiting = true; return h }
	type sendings = []library.Sending
	type listens = []library.Held
	for name, c := range map[string]struct {
		plays int
		sent  sendings
		held  listens
		want  int
	}{
		"nothing is known":            {plays: 15, want: 4},
		"all were sent":               {12, sendings{sent(1, 60, 101), sent(2, 120, 102)}, nil, 0},
		"one more was played between": {13, sendings{sent(1, 60, 101), sent(2, 120, 102)}, nil, 1},
		"one more was the last":       {13, sendings{sent(1, 60, 101), sent(2, 90, 102)}, nil, 0},
		"sent long after it was played": {13, sendings{sent(1, -9000, 101), sent(2, -9100, 101)}, nil,
			0},
		"sent, and counted before":        {12, sendings{sent(1, -5, 100)}, nil, 1},
		"its outcome was unknown then":    {12, sendings{sent(1, -5, 101)}, nil, 0},
		"its outcome is unknown":          {12, sendings{sent(1, -5, 0)}, nil, 0},
		"it may have arrived twice":       {13, sendings{sent(1, 60, 0), sent(1, 60, 105)}, nil, 0},
		"sent and held":                   {13, sendings{sent(1, 60, 101)}, listens{held(1, 60)}, 1},
		"held, whoever has sent them":     {13, nil, listens{held(1, 60), held(2, 119)}, 1},
		"held at the end of the play":     {12, nil, listens{held(1, 123), held(2, 60)}, 0},
		"held, sent and counted before":   {12, sendings{sent(1, 60, 100)}, listens{there(held(1, 60))}, 1},
		"held just before, and counted":   {12, nil, listens{there(held(1, -1))}, 1},
		"held just before, from others":   {12, nil, listens{held(1, -1)}, 0},
		"reported between by the account": {12, nil, listens{there(held(1, 60))}, 0},
		"still to be sent":                {12, nil, listens{waiting(held(1, 60))}, 1},
		"more are known than counted":     {12, nil, listens{held(1, 1), held(2, 2), held(3, 3), held(4, 4)}, 0},
		"the count was reset":             {2, nil, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := library.Listen{Track: library.Track{Duration: 3 * time.Minute}, PlayedAt: at(120),
				PlayCount: c.plays}
			before := library.Counted{Plays: 10, PlayedAt: start, Looked: 100}
			require.Equal(t, c.want, surplus(before, now, library.Evidence{Sent: c.sent, Held: c.held}))
		})
	}
}
