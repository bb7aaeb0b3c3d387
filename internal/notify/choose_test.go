package notify

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhichAlertIsShown(t *testing.T) {
	t.Parallel()
	at := func(hour int) time.Time { return time.Date(2026, 3, 1, hour, 0, 0, 0, time.UTC) }
	now := at(20)
	alert := func(id int64, cause string, change ...func(*Notification)) Notification {
		n := notice(alice, cause)
		n.ID, n.CreatedAt = id, at(int(id))
		for _, f := range change {
			f(&n)
		}
		return n
	}
	warning := func(n *Notification) { n.Severity = Warning }
	info := func(n *Notification) { n.Severity = Info }
	waits := func(n *Notification) { n.Waits = true }
	replaced := func(n *Notification) { n.Waits, n.ReplacedAt = true, now }
	since := func(hour int) func(*Notification) { return func(n *Notification) { n.CreatedAt = at(hour) } }
	also := func(streams ...string) func(*Notification) { return func(n *Notification) { n.Also = streams } }
	read := func(n *Notification) { n.SeenAt, n.AcknowledgedAt = at(9), at(9) }
	over := func(n *Notification) { n.ResolvedAt = now }
	shown := func(n Notification) *Notification { return &n }
	for _, c := range []struct {
		name string
		n    Notification
		open []Notification
		want Choice
	}{
		{"nothing is left", alert(1, "auth", over), nil, Choice{}},
		{"the only one, just opened", alert(1, "auth"), []Notification{alert(1, "auth", waits)},
			Choice{Shown: shown(alert(1, "auth")), Announce: true}},
		{"shown as it is", alert(2, "auth", over), []Notification{alert(1, "auth", read)}, Choice{}},
		{"a newer one of the same weight", alert(2, "permission"),
			[]Notification{alert(1, "auth", read), alert(2, "permission", waits)},
			Choice{Replaced: []Notification{alert(1, "auth", read, replaced)}, Shown: shown(alert(2, "permission")),
				Announce: true}},
		{"a less important one waits", alert(2, CauseEnds30, info),
			[]Notification{alert(1, "auth"), alert(2, CauseEnds30, info, waits)}, Choice{}},
		{"what needs the administrator before a warning", alert(2, CauseStill, warning),
			[]Notification{alert(1, "config:app", warning), alert(2, CauseStill, warning, waits)}, Choice{}},
		{"a question before a warning", alert(2, CauseStill, warning),
			[]Notification{alert(1, "copy of playlist 7", warning), alert(2, CauseStill, warning, waits)}, Choice{}},
		{"back as it was, without being announced again", alert(2, "permission", over),
			[]Notification{alert(1, "auth", read, replaced)}, Choice{Shown: shown(alert(1, "auth", read))}},
		{"never shown, so announced now", alert(2, "auth", over),
			[]Notification{alert(1, CauseStill, warning, waits)},
			Choice{Shown: shown(alert(1, CauseStill, warning, since(20))), Announce: true}},
		{"one more stream has stopped", alert(1, "permission:listens"),
			[]Notification{alert(1, "permission:listens", waits), alert(2, "permission:deliveries", read)},
			Choice{Shown: shown(alert(2, "permission:deliveries", since(20), also("listens"))), Announce: true}},
		{"one stream fewer is no news", alert(1, "permission:listens", over),
			[]Notification{alert(2, "permission:deliveries", read, also("listens"))},
			Choice{Shown: shown(alert(2, "permission:deliveries", read, also()))}},
		{"another person's connection is another", alert(3, "auth", over),
			[]Notification{alert(1, Of("contract", bob), waits), alert(2, "import 7", waits)}, Choice{}},
	} {
		require.Equal(t, c.want, Choose(c.n, c.open, now), c.name)
	}
}
