package openai

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// Our codes for refusals that servers express in other ways.
const (
	spentOut = "limit exceeded" // any code that ends like this, except the rate limit
	tooLong  = "context_length_exceeded"
	tooFast  = "rate_limit_exceeded"
	refused  = "refusal" // inside a success: the model refuses the topic
	unsaid   = "length"  // inside a success: a length limit was reached before the first word
)

const (
	fatal     = resilience.Fatal
	retriable = resilience.Retriable
)

// keyAdvice tells an administrator what to do about refused keys.
var keyAdvice = words.New("openai.key")

// spentAdvice tells an administrator what to do about used-up keys.
var spentAdvice = words.New("openai.spent")

var (
	spent = resilience.Meaning{Class: retriable, Category: resilience.Quota, Scope: resilience.ScopeKey,
		Hold: 24 * time.Hour, Advice: spentAdvice}
	limited = resilience.Meaning{Class: retriable, Category: resilience.RateLimit, Scope: resilience.ScopeKey}
	badKey  = resilience.Meaning{Class: fatal, Category: resilience.Auth, Scope: resilience.ScopeKey, Advice: keyAdvice}
	// notServed means that the server does not serve the region or the account.
	notServed = resilience.Meaning{Class: fatal, Category: resilience.Config, Scope: resilience.ScopeApp,
		Advice: words.New("openai.region")}
	noModel = resilience.Meaning{Class: fatal, Category: resilience.Config, Scope: resilience.ScopeApp,
		Advice: words.New("openai.model")}
	object = resilience.Meaning{Class: fatal, Category: resilience.Item, Scope: resilience.ScopeItem}
	// speechless means that reasoning used up the length limit. A shorter prompt may succeed.
	speechless = resilience.Meaning{Class: fatal, Category: resilience.Item, Scope: resilience.ScopeItem,
		Advice: words.New("openai.length")}
	// notTaken means that the server rejects the form of our requests, so that all others would fail too.
	notTaken = resilience.Meaning{Class: fatal, Category: resilience.Contract, Scope: resilience.ScopeStream,
		Advice: words.New("openai.chat")}
)

// table is the error table of all calls. An answer that it leaves out has the meaning of the general table by status;
// see docs/providers.md.
var table = providers.Table{
	{Code: tooLong, Meaning: object},
	{Status: http.StatusRequestEntityTooLarge, Meaning: object},
	{Code: "content_filter", Meaning: object},
	{Code: "content_policy_violation", Meaning: object},
	{Status: http.StatusOK, Code: refused, Meaning: object},
	{Status: http.StatusOK, Code: unsaid, Meaning: speechless},
	{Code: "insufficient_quota", Meaning: spent},
	{Code: "credit_balance_exhausted", Meaning: spent},
	{Code: "billing_hard_limit_reached", Meaning: spent},
	{Code: spentOut, Meaning: spent},
	{Status: http.StatusPaymentRequired, Meaning: spent},
	{Code: tooFast, Meaning: limited},
	{Status: http.StatusTooManyRequests, Meaning: limited},
	{Status: http.StatusUnauthorized, Meaning: badKey},
	{Status: http.StatusForbidden, Meaning: notServed},
	{Status: http.StatusNotFound, Meaning: noModel},
	{Status: http.StatusBadRequest, Meaning: notTaken},
	{Status: http.StatusUnprocessableEntity, Meaning: notTaken},
	{Status: http.StatusGone, Meaning: notTaken},
}

// tables returns the error tables for docs/providers.md.
func tables() providers.Tables {
	return providers.Tables{
		Provider: "OpenAI, or any compatible server",
		Sources: []string{"https://platform.openai.com/docs/guides/error-codes",
			"https://platform.openai.com/docs/guides/rate-limits"},
		Reading: "The code is `error.code`, or `error.type` if that is empty; vLLM has them at the top " +
			"level. `exceed_context_size_error` (llama.cpp), and words about a maximum context length " +
			"(vLLM), count as `context_length_exceeded`. The wait for a limit is its `Retry-After`, " +
			"or else the `x-ratelimit-reset-*` of the limit that is used up; for a spent account, the " +
			"table's wait always counts. An error inside a 200 is read in the same way.",
		Own: map[string]string{
			spentOut: "any other code that ends in `_limit_exceeded`",
			refused:  "the model declines to write, or a filter removed its words",
			unsaid:   "an answer without words that ended at a length limit",
		},
		Of: []providers.NamedTable{{Calls: "all calls", Table: table}},
	}
}

var refusals = providers.Refusals{Table: table, Explain: explain, InSuccess: refusedInside}

// refusal is the body of an error. Most servers put it where OpenAI does; vLLM has it at the top.
type refusal struct {
	Error json.RawMessage `json:"error"`
	fault
}

type fault struct {
	Message string          `json:"message"`
	Type    string          `json:"type"`
	Code    json.RawMessage `json:"code"` // a text, a number, or null
}

// faultOf reads the body of an error in all known forms.
func faultOf(body []byte) fault {
	var r refusal
	if json.Unmarshal(body, &r) != nil {
		return fault{}
	}
	f := r.fault
	if text := ""; json.Unmarshal(r.Error, &text) == nil && text != "" {
		f.Message = text
	} else {
		_ = json.Unmarshal(r.Error, &f) // keep what could be decoded
	}
	return f
}

// explain reads the code, the message and the wait from a refusal.
func explain(e *resilience.AnswerError) {
	f := faultOf(e.Body)
	code := ""
	_ = json.Unmarshal(f.Code, &code) // a number or null is not a code
	if code == "" {
		code = f.Type
	}
	e.Message, e.Code = resilience.Excerpt(f.Message), codeOf(code, f.Message)
	if spends(e) { // a used-up quota does not come back soon, whatever the answer says
		e.NotBefore, e.BadWait = time.Time{}, false
		return
	}
	if e.Code == tooFast || e.Status == http.StatusTooManyRequests && e.NotBefore.IsZero() {
		noteReset(e)
	}
}

func spends(e *resilience.AnswerError) bool {
	i := slices.IndexFunc(table, func(r providers.Row) bool {
		return (r.Status == 0 || r.Status == e.Status) && (r.Code == "" || r.Code == e.Code)
	})
	return i >= 0 && table[i].Meaning.Category == resilience.Quota
}

// codeOf maps the variants of servers to the codes of the table.
func codeOf(code, message string) string {
	switch {
	case code == "exceed_context_size_error", strings.Contains(message, "maximum context length"): // llama.cpp; vLLM
		return tooLong
	case slices.ContainsFunc(table, func(r providers.Row) bool { return r.Code == code && code != "" }):
		return code
	case strings.HasSuffix(code, "_limit_exceeded"):
		return spentOut
	}
	return resilience.Excerpt(code)
}

// noteReset reads the end of a limit when there is no Retry-After: the reset of the limit that is used up, else the
// later reset of both.
func noteReset(e *resilience.AnswerError) {
	if !e.NotBefore.IsZero() || e.Header.Get("Retry-After") != "" {
		return
	}
	var longest time.Duration
	for _, of := range []string{"requests", "tokens"} {
		wait, ok := parseReset(e.Header.Get("x-ratelimit-reset-" + of))
		switch {
		case !ok:
		case strings.TrimSpace(e.Header.Get("x-ratelimit-remaining-"+of)) == "0":
			longest = max(longest, wait)
		case e.Header.Get("x-ratelimit-remaining-requests") != "0" &&
			e.Header.Get("x-ratelimit-remaining-tokens") != "0":
			longest = max(longest, wait)
		}
	}
	if longest > 0 {
		e.NotBefore, e.BadWait = resilience.After(longest.Seconds(), time.Now())
	}
}

// parseReset reads a wait such as "1s", "6m0s", "20ms" or "1d2h"; a plain number is in seconds.
func parseReset(text string) (time.Duration, bool) {
	text = strings.TrimSpace(text)
	var days time.Duration
	if d, rest, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.Atoi(d)
		if err != nil || n < 0 || n > 365 {
			return 0, false
		}
		if days, text = time.Duration(n)*24*time.Hour, rest; text == "" {
			return days, true
		}
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		text = strconv.FormatFloat(seconds, 'f', -1, 64) + "s"
	}
	wait, err := time.ParseDuration(text)
	return days + wait, err == nil && wait >= 0
}

// refusedInside reads a refusal from an answer with status 200: an error (some servers send all errors like this), a
// refusal by the model, or a length limit before the first word.
func refusedInside(e *resilience.AnswerError) bool {
	if f := faultOf(e.Body); f.Type != "" || f.Message != "" {
		explain(e)
		return true
	}
	var a struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
				Refusal string `json:"refusal"`
			} `json:"message"`
			FinishReason string `json:"finish_reason"`
		} `json:"choices"`
	}
	if json.Unmarshal(e.Body, &a) != nil || len(a.Choices) == 0 {
		return false
	}
	first := a.Choices[0]
	switch {
	case written(first.Message.Content) != "":
		return false
	case first.Message.Refusal != "" || first.FinishReason == "content_filter":
		e.Code, e.Message = refused, resilience.Excerpt(first.Message.Refusal)
	case first.FinishReason == "length":
		e.Code = unsaid
	default:
		return false
	}
	return true
}
