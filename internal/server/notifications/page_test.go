package notifications

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/server/core"
	"reprise/internal/words"
)

func TestWhatANotificationOffers(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 14, 5, 0, 0, time.UTC)
	open := core.Notification{ID: "7", Severity: "error", CreatedAt: core.Stamp(at),
		Action: &core.Action{Label: "Reconnect", URL: "/connect/spotify"}}
	dismissed, over, replaced := open, open, open
	dismissed.AcknowledgedAt, over.ResolvedAt = core.Moment(at), core.Moment(at)
	replaced.ResolvedAt, replaced.Replaced = core.Moment(at), true
	question := open
	question.Choices = []core.Choice{{URL: "/playlists/1/copies/spotify", Value: "rewrite", Label: "Write it again"}}
	for name, c := range map[string]struct {
		n       core.Notification
		actions []string
		over    string
	}{
		"open":      {open, []string{"Reconnect", "Ausblenden"}, ""},
		"dismissed": {dismissed, []string{"Reconnect"}, ""},
		"over":      {over, nil, "Erledigt"},
		"replaced":  {replaced, nil, "Ersetzt"},
		"asks":      {question, []string{"Write it again", "Reconnect", "Ausblenden"}, ""},
	} {
		v := noteOf(words.With(t.Context(), words.German), c.n)
		var labels []string
		for _, a := range v.Actions {
			labels = append(labels, a.Label)
		}
		require.Equal(t, c.actions, labels, name)
		require.Equal(t, c.over, v.Over, name)
	}
}
