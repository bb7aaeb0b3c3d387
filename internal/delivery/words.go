package delivery

import (
	"errors"

	"reprise/internal/resilience"
	"reprise/internal/words"
)

// reasons are the sentences for failures that the provider's own table has none for.
var reasons = map[resilience.Category]string{
	resilience.Auth:       "The sign-in is not accepted any more. It goes out after a reconnect.",
	resilience.Permission: "This account may not be written to.",
	resilience.Config:     "A setting is not right. It goes out when that is put right.",
	resilience.RateLimit:  "The service is limiting requests.",
	resilience.Quota:      "The service's quota is used up.",
	resilience.Upstream:   "The service has trouble.",
	resilience.Network:    "The service could not be reached.",
	resilience.Contract:   "The service gave an answer that Reprise can't read.",
	resilience.CircuitOpen: "The service has failed several times in a row. Reprise waits for it to come back, which " +
		"uses up no attempt.",
	resilience.Item:    "The service does not take this one.",
	resilience.Unknown: "It failed on this server. Its log has the details.",
}

// explain describes a failed attempt to a person.
func explain(v resilience.Verdict, err error) Failure {
	f := Failure{Category: v.Category.String(), Reason: reasons[v.Category], Answer: resilience.Excerpt(err.Error())}
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && e.Meaning != nil && !e.Meaning.Advice.IsZero() {
		f.Reason = e.Meaning.Advice.String()
	}
	if e, ok := errors.AsType[*resilience.LocalError](err); ok {
		f.Reason = e.Problem
	}
	return f
}

// refuse returns our own refusal of one item, with its reason as a sentence.
func refuse(reason string) error {
	return &resilience.AnswerError{Endpoint: "not sent", Message: reason,
		Meaning: &resilience.Meaning{Class: resilience.Fatal, Category: resilience.Item, Scope: resilience.ScopeItem,
			Advice: words.Plain(reason)}}
}
