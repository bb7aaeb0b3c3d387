package sync

import (
	"context"

	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience/backoff"
)

// StateForAll returns what keeps the installation's own calls of a provider from going out now, and its words; no
// words if nothing does.
func (g *Guard) StateForAll(p *providers.Provider) (backoff.State, notify.Words) {
	c := library.Connection{ID: library.ConnectionID(p.Name)}
	for _, stream := range p.Guarded() {
		if s := g.state(c, stream); s.Kind != backoff.Ready {
			return s, notify.ExplainForAll(p, s, g.opt.Alerts.Advice(c))
		}
	}
	return backoff.State{}, notify.Words{}
}

// RetryForAll is an administrator's "Try again": it lifts a stop or a backoff of the installation's own calls. If the
// provider dictated a wait, that stays, and is returned with true.
func (g *Guard) RetryForAll(ctx context.Context, p *providers.Provider) (backoff.State, bool) {
	if err := g.readmit(ctx, p); err != nil {
		g.opt.Log.Error("refused keys cannot be taken back for good", "provider", p.Name, "err", err)
	}
	g.opt.Alerts.Acted(ctx, activity.Entry{Action: activity.Retried, Connection: library.ConnectionID(p.Name)})
	c := library.Connection{ID: library.ConnectionID(p.Name)}
	g.hurry(p, c)
	return g.opt.Backoff.Retry(providers.AppKey(c))
}
