package fanarttv

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// noArt is our code for an answer without pictures.
const noArt = "no art"

// keyAdvice tells an administrator what to do about refused keys.
var keyAdvice = words.New("fanarttv.key")

var (
	badKey = resilience.Meaning{Class: resilience.Fatal, Category: resilience.Auth, Scope: resilience.ScopeKey,
		Advice: keyAdvice}
	tooFast = resilience.Meaning{Class: resilience.Retriable, Category: resilience.RateLimit,
		Scope: resilience.ScopeKey}
	nothing = resilience.Meaning{Class: resilience.OK} // an answer like any other
)

// table is the error table of all calls. An answer that it leaves out has the meaning of the general table by status;
// see docs/providers.md.
var table = providers.Table{
	{Code: noArt, Meaning: nothing},
	{Status: http.StatusUnauthorized, Meaning: badKey},
	{Status: http.StatusTooManyRequests, Meaning: tooFast},
}

var refusals = providers.Refusals{Table: table, Explain: explain, InSuccess: refusedInSuccess}

// refusal is the body of Fanart.tv's errors.
type refusal struct {
	Status  string `json:"status"`
	Message string `json:"error message"`
}

// explain reads Fanart.tv's message from a refusal. A 404 without a JSON object comes from a proxy.
func explain(e *resilience.AnswerError) {
	var body refusal
	object := json.Unmarshal(e.Body, &body) == nil
	if object {
		e.Message = resilience.Excerpt(body.Message)
	}
	if e.Status == http.StatusNotFound && (object || len(e.Body) == 0) {
		e.Code = noArt
	}
}

// refusedInSuccess reads an answer with status 200, which may be a refusal. An empty one means that there are no
// pictures, like a 404.
func refusedInSuccess(e *resilience.AnswerError) bool {
	if text := string(bytes.TrimSpace(e.Body)); text == "{}" || text == "[]" {
		e.Code = noArt
		return true
	}
	var body refusal
	if json.Unmarshal(e.Body, &body) != nil || body.Status != "error" {
		return false
	}
	e.Message = resilience.Excerpt(body.Message)
	if strings.EqualFold(body.Message, "Not found") {
		e.Code = noArt
	}
	return true
}

// tables returns the error tables for docs/providers.md.
func tables() providers.Tables {
	return providers.Tables{
		Provider: "Fanart.tv",
		Sources:  []string{"https://api.fanart.tv/"},
		Reading: "Fanart.tv has no codes besides the status; a refusal may come with 200, as an object " +
			"whose `status` is `error`. An answer without art is a success, and Reprise remembers it. " +
			"A verdict about a key (· key) applies to that key only, and the same request goes out " +
			"with the next one.",
		Own: map[string]string{noArt: "a 404 with an object or without a body, a refusal in the words \"Not " +
			"found\", or an empty object or list"},
		Of: []providers.NamedTable{{Calls: "all calls", Table: table}},
	}
}
