package hook

import (
	"bytes"
	"net/http"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// gone is the meaning of an address that takes no calls any more.
var gone = resilience.Meaning{Class: resilience.Fatal, Category: resilience.Config, Scope: resilience.ScopeConnection,
	Advice: words.New("hook.gone")}

// ofProxy reports whether a successful answer is a web page, such as the sign-in page of a proxy. Other bodies are the
// program's own, whatever their type.
func ofProxy(e *resilience.AnswerError) bool {
	begin := bytes.ToLower(bytes.TrimSpace(e.Body[:min(len(e.Body), 100)]))
	e.HTML = bytes.HasPrefix(begin, []byte("<!doctype html")) || bytes.HasPrefix(begin, []byte("<html"))
	return e.HTML
}

// table is the error table of all calls.
var table = providers.Table{
	{Status: http.StatusUnauthorized, Meaning: resilience.Meaning{Class: resilience.Fatal, Category: resilience.Auth,
		Scope: resilience.ScopeConnection, Advice: words.New("hook.refused")}},
	{Status: http.StatusForbidden, Meaning: resilience.Meaning{Class: resilience.Fatal, Category: resilience.Auth,
		Scope: resilience.ScopeConnection, Advice: words.New("hook.refused")}},
	{Status: http.StatusNotFound, Meaning: gone},
	{Status: http.StatusMethodNotAllowed, Meaning: gone},
	{Status: http.StatusGone, Meaning: gone},
}

// unwanted is the meaning of a play that the program refuses, while it may accept others.
var unwanted = resilience.Meaning{Class: resilience.Fatal, Category: resilience.Item, Scope: resilience.ScopeItem,
	Advice: words.New("hook.unwanted")}

// playTable is table for calls about one play.
var playTable = append(providers.Table{
	{Status: http.StatusBadRequest, Meaning: unwanted},
	{Status: http.StatusConflict, Meaning: unwanted},
	{Status: http.StatusRequestEntityTooLarge, Meaning: unwanted},
	{Status: http.StatusUnprocessableEntity, Meaning: unwanted},
}, table...)
