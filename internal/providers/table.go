package providers

import (
	"encoding/json"
	"errors"
	"net/http"

	"reprise/internal/resilience"
	"reprise/internal/words"
)

// Row is one row of a provider's error table: an answer with this status and code has this meaning. A zero Status and
// an empty Code match any.
type Row struct {
	Status  int
	Code    string
	Meaning resilience.Meaning
}

// Table is a provider's error table. The first matching row applies, or else the general table by status.
type Table []Row

// Apply sets the meaning of e from the table and returns e.
func (t Table) Apply(e *resilience.AnswerError) *resilience.AnswerError {
	for i := range t {
		if r := &t[i]; (r.Status == 0 || r.Status == e.Status) && (r.Code == "" || r.Code == e.Code) {
			e.Means(&r.Meaning)
			break
		}
	}
	return e
}

// Advice returns what a person should know or do about an answer; empty if the usual words for its category will do.
func Advice(e *resilience.AnswerError) words.Text {
	switch {
	case !words.Of(e.Advice()).IsZero():
		return words.Of(e.Advice())
	case e.MovedTo != "":
		return words.New("astray.moved", "Address", e.MovedTo)
	case e.Astray():
		return words.New("astray.page")
	}
	return words.Text{}
}

// DecodeJSON decodes a successful answer into v. A body of another shape is a contract error. What it may hold was
// bounded when it was read; see [transport.Transport].
func DecodeJSON(a *resilience.Answer, v any) error {
	if err := json.Unmarshal(a.Body, v); err != nil {
		what := "not valid JSON"
		if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			what = resilience.Excerpt("a " + e.Value + " in " + e.Field)
		}
		return Broken(a.Endpoint, what)
	}
	return nil
}

// Broken returns the error for an answer that breaks what the provider documents: what names the part.
func Broken(endpoint, what string) error {
	return &resilience.ContractError{Endpoint: endpoint, What: what}
}

// Refusals describes how a provider refuses calls. The transport uses it, so that the attempt gets the right meaning.
type Refusals struct {
	Table Table
	// Explain reads the provider's code and message from the body of a failed answer, before the table is applied; nil
	// when there are none.
	Explain func(*resilience.AnswerError)
	// InSuccess does the same for an answer with a successful status and reports whether it is a refusal; nil when the
	// provider never does that.
	InSuccess func(*resilience.AnswerError) bool
	Pages     bool // see resilience.Endpoint
}

// Send sends a request of the call and returns the answer. A refusal is a *resilience.AnswerError.
func (r Refusals) Send(call resilience.Call, req *http.Request, endpoint string) (*resilience.Answer, error) {
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
	return call.Send(req, resilience.Endpoint{Name: endpoint, Reader: reader, Pages: r.Pages})
}

// Send is Refusals.Send for a provider that refuses with an HTTP status.
func Send(call resilience.Call, req *http.Request, endpoint string, t Table,
	explain func(*resilience.AnswerError)) (*resilience.Answer, error) {
	return Refusals{Table: t, Explain: explain}.Send(call, req, endpoint)
}

// Tables describes a provider's error tables for docs/providers.md.
type Tables struct {
	Provider string
	Sources  []string // URLs of the provider's documentation of its errors
	// Reading says where the code is in an answer, and what the tables leave out, in full sentences.
	Reading string
	// Own explains the codes that Reprise adds to the provider's.
	Own map[string]string
	Of  []NamedTable
}

// NamedTable is one of a provider's tables.
type NamedTable struct {
	Calls string // the calls that it applies to: "all calls"
	Table Table
}
