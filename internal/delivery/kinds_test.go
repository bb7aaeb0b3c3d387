package delivery

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"
)

func TestTheKeyIdentifiesADelivery(t *testing.T) {
	t.Parallel()
	o := Draft{User: 1, Connection: "lastfm", Kind: Scrobble, Ref: "ref", Listens: []int64{1, 23}}
	require.Equal(t, "6b7639b6951bbdc0c6bbf07438b24cf2ffbcf1e1d61816acc1c946c64f69ea49", o.key(),
		"it stands in databases")
	same := o
	same.History, same.Due = true, time.Now()
	require.Equal(t, o.key(), same.key(), "when it goes out says nothing of what it is")

	seen := map[string]string{o.key(): "itself"}
	for what, change := range map[string]func(*Draft){
		"user":               func(o *Draft) { o.User = 2 },
		"provider":           func(o *Draft) { o.Connection = "listenbrainz" },
		"kind":               func(o *Draft) { o.Kind = SubmitListens },
		"ref":                func(o *Draft) { o.Ref = "other" },
		"no ref":             func(o *Draft) { o.Ref = "" },
		"other listens":      func(o *Draft) { o.Listens = []int64{1, 24} },
		"listens run in one": func(o *Draft) { o.Listens = []int64{123} },
		"divided otherwise":  func(o *Draft) { o.Listens = []int64{12, 3} },
		"another order":      func(o *Draft) { o.Listens = []int64{23, 1} },
		"fewer listens":      func(o *Draft) { o.Listens = []int64{1} },
		"no listens":         func(o *Draft) { o.Listens = nil },
	} {
		other := o
		change(&other)
		key := other.key()
		require.Empty(t, seen[key], "%s", what)
		seen[key] = what
	}
}

func TestTheQueueHoldsAPayloadOfThisVersion(t *testing.T) {
	t.Parallel()
	due := time.Now().Add(time.Hour)
	for _, kind := range []string{SubmitListens, Scrobble, WritePlaylist, Archive} {
		o := Draft{User: 7, Connection: "some.thing", Kind: kind, Ref: "2026-11", Listens: []int64{1, 2}, Due: due}
		args, opts := o.Job(9)
		require.Equal(t, kind, args.Kind())
		b, err := json.Marshal(args)
		require.NoError(t, err)
		require.JSONEq(t,
			`{"schema_version": 1, "user_id": 7, "provider": "some.thing", "ref": "2026-11", "idempotency_key": "`+
				o.key()+`"}`, string(b))
		p, err := payloadOf(b)
		require.NoError(t, err)
		require.Equal(t, Payload{Schema: payloadSchema, User: 7, Connection: "some.thing", Ref: "2026-11",
			Key: o.key()}, p)
		require.Equal(t, 9, opts.MaxAttempts)
		require.Equal(t, due, opts.ScheduledAt)
		require.Equal(t, QueueOf("some.thing", o.User), opts.Queue)
		require.Equal(t, !Copies(kind), slices.Contains(opts.UniqueOpts.ByState, rivertype.JobStateCompleted), kind)
		for _, state := range []rivertype.JobState{rivertype.JobStateAvailable, rivertype.JobStateScheduled,
			rivertype.JobStateRetryable, rivertype.JobStateRunning,
			rivertype.JobStateCancelled, rivertype.JobStateDiscarded} {
			require.True(t, slices.Contains(opts.UniqueOpts.ByState, state), "%s: %s", kind, state)
		}
		o.History = true
		_, later := o.Job(9)
		require.Greater(t, later.Priority, opts.Priority)
	}
	require.Panics(t, func() { Draft{Kind: "none"}.Job(1) })
	require.Equal(t, []int{1, 1, 3}, []int{Draft{}.Items(), Draft{Listens: []int64{5}}.Items(),
		Draft{Listens: []int64{5, 6, 7}}.Items()})
}

func TestWaitingInWords(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]Waiting{
		"":                                       {},
		"1 listen":                               {Listens: 1},
		"2 listens":                              {Listens: 2, Parked: 1},
		"37 listens and 1 playlist":              {Listens: 37, Playlists: 1},
		"3 playlists and 1 month of the archive": {Playlists: 3, Months: 1},
		"1 listen, 2 playlists and 12 months of the archive":   {Listens: 1, Playlists: 2, Months: 12},
		"100 months of the archive":                            {Months: 100},
		"5,000 listens, 1 playlist and 1 month of the archive": {Listens: 5000, Playlists: 1, Months: 1},
	} {
		require.Equal(t, want, o.Counts().String())
	}
}

func TestAMonthIsThatOfUTC(t *testing.T) {
	t.Parallel()
	east, west := time.FixedZone("", 14*3600), time.FixedZone("", -12*3600)
	for want, at := range map[string]time.Time{
		"2026-02": time.Date(2026, 3, 1, 13, 59, 59, 999_999_999, east),
		"2026-03": time.Date(2026, 2, 28, 12, 0, 0, 0, west),
		"2025-12": time.Date(2025, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
		"2026-01": time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		"2024-02": time.Date(2024, 2, 29, 23, 0, 0, 0, time.UTC),
	} {
		require.Equal(t, want, MonthOf(at))
	}
}

func TestEachConnectionHasAQueue(t *testing.T) {
	t.Parallel()
	queues := map[string]bool{}
	for id := range int64(100) {
		queues[QueueOf(ChannelName(id), 1)] = true
		queues[QueueOf("lastfm", id)] = true
		queues[QueueOf("navidrome-2", id)] = true
	}
	require.Len(t, queues, 300, "nobody waits for another one's deliveries")
}
