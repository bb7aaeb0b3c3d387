package delivery

import (
	"errors"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// reasons are the sentences for failures that the provider's own table has none for.
var reasons = map[resilience.Category]words.Text{
	resilience.Auth:        words.New("delivery.auth"),
	resilience.Permission:  words.New("delivery.permission"),
	resilience.Config:      words.New("delivery.config"),
	resilience.RateLimit:   words.New("delivery.limited"),
	resilience.Quota:       words.New("delivery.quota"),
	resilience.Upstream:    words.New("delivery.upstream"),
	resilience.Network:     words.New("delivery.network"),
	resilience.Contract:    words.New("delivery.contract"),
	resilience.CircuitOpen: words.New("delivery.circuit"),
	resilience.Item:        words.New("delivery.item"),
	resilience.Unknown:     words.New("delivery.unknown"),
}

// explain describes a failed attempt to a person.
func explain(v resilience.Verdict, err error) Failure {
	f := Failure{Category: v.Category.String(), Reason: reasons[v.Category], Answer: resilience.Excerpt(err.Error())}
	e, ok := errors.AsType[*resilience.AnswerError](err)
	if ok && !providers.Advice(e).IsZero() {
		f.Reason = providers.Advice(e)
	}
	if ok && e.Endpoint == notSent { // no service has answered, and the reason says all
		f.Answer = ""
	}
	if e, local := errors.AsType[*resilience.LocalError](err); local {
		f.Reason = words.Of(e.Problem)
	}
	return f
}

// notSent is the endpoint of our own refusals.
const notSent = "not sent"

// refuse returns our own refusal of one item, with its reason as a sentence.
func refuse(reason words.Text) error {
	return &resilience.AnswerError{Endpoint: notSent, Message: reason.String(),
		Meaning: &resilience.Meaning{Class: resilience.Fatal, Category: resilience.Item, Scope: resilience.ScopeItem,
			Advice: reason}}
}
