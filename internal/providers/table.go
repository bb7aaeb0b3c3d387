package providers

import (
	"encoding/json"
	"errors"
	"net/http"

	"reprise/internal/resilience"
)

// Row is one row of a provider's error table: an answer with this status and code has this meaning. A zero Status and
// an empty Code match any.
type Row struct {
	Status  int
	Code    string
	Meaning resilience.Meaning
}

// Table is a provider's error table. The first row that matches counts; without one the general table by status does.
type Table []Row

// Apply notes on e what the table says about it and returns e.
func (t Table) Apply(e *resilience.AnswerError) *resilience.AnswerError {
	for i := range t {
		if r := &t[i]; (r.Status == 0 || r.Status == e.Status) && (r.Code == "" || r.Code == e.Code) {
			e.Meaning = &r.Meaning
			break
		}
	}
	return e
}

// DecodeJSON reads a successful answer into v; a body of another shape is a broken contract.
func DecodeJSON(a *resilience.Answer, v any) error {
	if err := json.Unmarshal(a.Body, v); err != nil {
		what := "not valid JSON"
		if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			what = "a " + e.Value + " in " + e.Field
		}
		return &resilience.ContractError{Endpoint: a.Endpoint, What: what}
	}
	return nil
}

// Call sends req and, when the upstream refuses, lets explain read the provider's code and words from the body before
// the table gives them their meaning. explain may be nil.
func Call(client *http.Client, req *http.Request, endpoint string, t Table, explain func(*resilience.AnswerError)) (*resilience.Answer, error) {
	a, err := resilience.Send(client, req, endpoint)
	// What has its meaning already does not speak about this call: the client could not renew the access token.
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && e.Meaning == nil {
		if explain != nil && !e.HTML {
			explain(e)
		}
		return nil, t.Apply(e)
	}
	return a, err
}
