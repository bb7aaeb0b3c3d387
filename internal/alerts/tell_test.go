package alerts

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/words"
)

func TestWhoIsToldWhat(t *testing.T) {
	t.Parallel()
	type told struct {
		to       audience
		cause    string
		severity notify.Severity
	}
	for name, c := range map[string]struct {
		kind     backoff.ChangeKind
		category resilience.Category
		scope    resilience.Scope
		forAdmin bool
		newHold  bool
		want     *told // nil for nothing
	}{
		"a sign-in ended": {kind: backoff.BecameFatal, category: resilience.Auth, scope: resilience.ScopeConnection,
			want: &told{toPerson, "auth", notify.Error}},
		"an unreadable answer": {kind: backoff.BecameFatal, category: resilience.Contract,
			scope: resilience.ScopeStream, want: &told{toAdmins, "contract:listens of user 7", notify.Error}},
		"a person who is not let in": {kind: backoff.BecameFatal, category: resilience.Permission, forAdmin: true,
			scope: resilience.ScopeConnection,
			want:  &told{toAdminsAboutPerson, "permission of user 7", notify.Error}},
		"a refused client id": {kind: backoff.BecameFatal, category: resilience.Config, scope: resilience.ScopeApp,
			want: &told{toAdmins, "config:app", notify.Error}},
		"another server at a person's address": {kind: backoff.WentAstray, category: resilience.Upstream,
			scope: resilience.ScopeConnection, want: &told{toPerson, "config", notify.Error}},
		"another server at an address of the settings": {kind: backoff.WentAstray, category: resilience.Upstream,
			scope: resilience.ScopeConnection, forAdmin: true, want: &told{toAdmins, "config:app", notify.Error}},
		"a day of failures": {kind: backoff.StillFailing, category: resilience.Upstream, scope: resilience.ScopeStream,
			want: &told{toPerson, notify.CauseStill, notify.Warning}},
		"a quota that all share": {kind: backoff.Began, category: resilience.Quota, scope: resilience.ScopeApp,
			newHold: true, want: &told{toAdmins, notify.CauseQuota, notify.Warning}},
		"a refusal that all share": {kind: backoff.Began, category: resilience.Permission, scope: resilience.ScopeApp,
			newHold: true, want: &told{toAdmins, "permission:app", notify.Warning}},
		"a quota of one person": {kind: backoff.Began, category: resilience.Quota, scope: resilience.ScopeConnection,
			newHold: true},
		"a dictated wait": {kind: backoff.Began, category: resilience.RateLimit, scope: resilience.ScopeApp,
			newHold: true},
		"one failure":            {kind: backoff.Began, category: resilience.Upstream, scope: resilience.ScopeStream},
		"the same quota as said": {kind: backoff.Began, category: resilience.Quota, scope: resilience.ScopeApp},
	} {
		state := backoff.State{Kind: backoff.Waiting, Category: c.category, Scope: c.scope, ForAdmin: c.forAdmin,
			Astray: c.kind == backoff.WentAstray, Mendable: c.kind == backoff.WentAstray}
		if c.kind == backoff.BecameFatal {
			state.Kind = backoff.Stopped
		}
		s := providers.OfConnection(library.Connection{User: 7, ID: "spotify"}, library.Listens)
		s.Provider = &providers.Provider{Description: registry.Describe("spotify")}
		v := find(s, backoff.Change{Kind: c.kind, Fault: state, NewHold: c.newHold,
			Verdict: resilience.Verdict{Category: c.category, Scope: c.scope}}, errors.New("refused"))
		al, tell := alertOf(v, words.Text{})
		require.Equal(t, c.want != nil, tell, name)
		if tell {
			require.Equal(t, *c.want, told{al.to, al.cause, al.severity}, name)
		}
	}
}
