package doctor

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// keys tries every key and every registration that can be tried without a person, all at once.
func (d *doctor) keys(ctx context.Context) (all []finding) {
	var trials []providers.Trial
	for _, p := range d.Known {
		s := d.c.Providers[p.Name]
		trials = append(trials, p.Trials(s, resilience.Call{Client: d.client}, d.redirectURI(p.Name))...)
		if p.Registration != nil && len(p.Lacks(s, d.c.Contact)) == 0 && s.Secret("client_secret") == "" {
			all = append(all, found(off, "Reprise can't check the client ID of %s without a client secret; "+
				"you'll see whether it works when somebody connects.", p.DisplayName))
		}
	}
	out := make([]finding, len(trials))
	var g errgroup.Group
	for i, t := range trials {
		g.Go(func() error { out[i] = judge(t, t.Try(ctx)); return nil })
	}
	_ = g.Wait() // findings are no errors
	return append(all, out...)
}

// redirectURI returns the address that a provider sends browsers back to.
func (d *doctor) redirectURI(provider string) string {
	return d.c.BaseURL + "/connect/" + provider + "/callback"
}

// judge returns the finding of a trial.
func judge(t providers.Trial, err error) finding {
	v := resilience.VerdictOf(err)
	advice := t.Advice
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && !words.Of(e.Advice()).IsZero() {
		advice = words.Of(e.Advice())
	}
	switch {
	case v.Class == resilience.OK:
		return found(fine, "%s: accepted.", t.What)
	case v.Class == resilience.Fatal && (v.Category == resilience.Auth || v.Category == resilience.Config ||
		v.Category == resilience.Permission):
		return found(problem, "%s: refused. %s", t.What, advice)
	case v.Category == resilience.Quota:
		return found(warn, "%s: accepted, but its quota is used up for now.", t.What)
	case v.Category == resilience.RateLimit:
		return found(warn, "%s: couldn't be checked, because the service is limiting requests. Check again "+
			"later.", t.What)
	case v.Category == resilience.Network:
		return found(warn, "%s: couldn't be checked, because Reprise can't reach the service.", t.What)
	case v.Category == resilience.Upstream:
		return found(warn, "%s: couldn't be checked, because the service isn't responding. Check again later.",
			t.What)
	}
	return found(warn, "%s: couldn't be checked, because Reprise doesn't understand the service's answer (%s). "+
		"Check again later.",
		t.What, fmt.Sprint(v.Category))
}
