package delivery

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheKeyIdentifiesADelivery(t *testing.T) {
	t.Parallel()
	o := Draft{User: 1, Connection: "lastfm", Kind: Scrobble, Ref: "ref", Listens: []int64{1, 23}}
	require.Equal(t, "6b7639b6951bbdc0c6bbf07438b24cf2ffbcf1e1d61816acc1c946c64f69ea49", o.Key(),
		"it stands in databases")
	same := o
	same.History, same.Due = true, time.Now()
	require.Equal(t, o.Key(), same.Key(), "when it goes out says nothing of what it is")

	seen := map[string]string{o.Key(): "itself"}
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
		key := other.Key()
		require.Empty(t, seen[key], "%s", what)
		seen[key] = what
	}
}

func TestADraftHasAKnownKind(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { Draft{Kind: "none"}.Key() })
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
