package core

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/notify"
)

func TestWhereANotificationIsShown(t *testing.T) {
	t.Parallel()
	at := time.Now()
	of := func(s notify.Severity, change func(*notify.Notification)) notify.Notification {
		n := notify.Notification{Severity: s, SeenAt: at}
		change(&n)
		return n
	}
	for name, c := range map[string]struct {
		n    notify.Notification
		want Place
	}{
		"news":                 {notify.Notification{Severity: notify.Error}, Toast},
		"good news":            {notify.Notification{Severity: notify.Success}, Toast},
		"it needs the person":  {notify.Notification{Severity: notify.Error, SeenAt: at}, Banner},
		"it needs nobody":      {notify.Notification{Severity: notify.Warning, SeenAt: at}, Card},
		"dismissed":            {of(notify.Error, func(n *notify.Notification) { n.AcknowledgedAt = at }), Small},
		"dismissed unseen":     {notify.Notification{AcknowledgedAt: at}, Small},
		"replaced":             {of(notify.Error, func(n *notify.Notification) { n.ReplacedAt = at }), Nowhere},
		"waits behind another": {of(notify.Error, func(n *notify.Notification) { n.Waits = true }), Nowhere},
		"over":                 {of(notify.Error, func(n *notify.Notification) { n.ResolvedAt = at }), Nowhere},
	} {
		require.Equal(t, c.want, PlaceOf(c.n), name)
	}
}
