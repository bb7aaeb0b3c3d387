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
)

// Enrichment is a source of facts under test, asked about one entity.
type Enrichment struct {
	New    func(*http.Client) providers.Enricher
	Entity library.Entity
	// Nothing are bodies of a successful answer that say that the source has nothing.
	Nothing []string
	Secrets []string // see Suite
	Capability
}

// notForAll are the promises about calls in a person's name, and about several pages. What the source makes of the
// statuses that they speak of is among the rest.
var notForAll = []string{"takes a refused credential for fatal", "keeps the wait of a rate limit",
	"stops at the request that fails", "can be left early"}

// RunEnrichment shows that the source keeps what every capability of every adapter promises, as far as it is about
// calls on behalf of the installation. [library.ErrNotThere] counts as no failure.
func RunEnrichment(t *testing.T, e Enrichment) {
	t.Helper()
	s := &Suite{Provider: &providers.Provider{
		Open: func(client *http.Client, _ library.Credentials) providers.Adapter { return enriching{e.New(client)} },
	}}
	c := &capability{name: "Enrich", Capability: e.Capability, suite: s, secrets: e.Secrets, nothing: e.Nothing,
		read: func(ctx context.Context, _ *testing.T, a providers.Adapter) ([]any, error) {
			facts, err := a.(enriching).Enrich(ctx, e.Entity)
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

// enriching stands in for an adapter, which a source of facts is not.
type enriching struct{ providers.Enricher }

func (enriching) Prove(context.Context) (providers.Account, error) { return providers.Account{}, nil }
