package providertest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// Enrichment is a source of facts under test, asked about one entity.
type Enrichment struct {
	New    func(*http.Client) providers.Enricher
	Entity library.Entity
	// Nothing holds the bodies of successful answers that mean that the source has nothing.
	Nothing []string
	Secrets []string // see Suite
	Capability
}

// notForAll lists the promises about calls for a person and about several pages. Other promises cover their statuses.
var notForAll = []string{"takes a refused credential for fatal", "keeps the wait of a rate limit",
	"stops at the request that fails", "can be left early", "takes a wrong count for a broken contract"}

// RunEnrichment runs those checks of the conformance suite that apply to calls for the installation.
// [library.ErrNotThere] is not a failure.
func RunEnrichment(t *testing.T, e Enrichment) {
	t.Helper()
	s := &Suite{Provider: &providers.Provider{
		Open: func(call resilience.Call, _ library.Credentials) providers.Adapter {
			return enriching{e.New(call.Client)}
		},
	}}
	c := &capability{name: "Enrich", Capability: e.Capability, suite: s, secrets: e.Secrets, nothing: e.Nothing,
		read: func(ctx context.Context, _ *testing.T, a providers.Adapter) ([]any, error) {
			facts, err := a.(enriching).Enrich(ctx, resilience.Call{}, e.Entity)
			switch {
			case errors.Is(err, library.ErrNotThere):
				return nil, nil
			case err != nil:
				return nil, err
			}
			return []any{facts}, nil
		}}
	for _, p := range promises {
		if slices.Contains(notForAll, p.name) {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { p.check(t, c) })
		})
	}
}

// enriching makes an adapter of a source of facts.
type enriching struct{ providers.Enricher }

func (enriching) Prove(context.Context) (providers.Account, error) { return providers.Account{}, nil }
