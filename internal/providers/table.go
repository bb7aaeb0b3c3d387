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

// Refusals is how a provider refuses a call. The transport reads it, so that the attempt gets the right meaning.
type Refusals struct {
	Table Table
	// Explain reads the provider's code and words from the body of a failed answer, before the table gives them their
	// meaning; nil when there are none.
	Explain func(*resilience.AnswerError)
	// InSuccess does the same with an answer whose status is a success, and says whether it is a refusal; nil when the
	// provider does not refuse so.
	InSuccess func(*resilience.AnswerError) bool
}

// Call sends req and returns the answer. An upstream that refuses makes it a *resilience.AnswerError.
func (r Refusals) Call(client *http.Client, req *http.Request, endpoint string) (*resilience.Answer, error) {
	reader := resilience.Reader{Explain: func(e *resilience.AnswerError) {
		if r.Explain != nil {
			r.Explain(e)
		}
		r.Table.Apply(e)
	}}
	if r.InSuccess != nil {
		reader.Refused = func(e *resilience.AnswerError) bool {
			refused := r.InSuccess(e)
			if refused {
				r.Table.Apply(e)
			}
			return refused
		}
	}
	return resilience.Send(client, req.WithContext(resilience.WithReader(req.Context(), reader)), endpoint)
}

// Call is the call of a provider that refuses with a status of its own.
func Call(client *http.Client, req *http.Request, endpoint string, t Table,
	explain func(*resilience.AnswerError)) (*resilience.Answer, error) {
	return Refusals{Table: t, Explain: explain}.Call(client, req, endpoint)
}
