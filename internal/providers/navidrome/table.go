package navidrome

import (
	"errors"
	"net/http"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// The codes of the Subsonic API that the adapter itself acts on.
const (
	codeGeneric   = "0"
	codeMissing   = "10" // parameter missing; also for an unsupported token
	codeNoToken   = "41"
	codeNoWay     = "42"
	codeWaysClash = "43"
	codeNotFound  = "70"
)

var (
	wrongPassword = resilience.Meaning{Class: resilience.Fatal, Category: resilience.Auth,
		Scope: resilience.ScopeConnection}
	ourMistake = resilience.Meaning{Class: resilience.Fatal, Category: resilience.Contract,
		Scope: resilience.ScopeStream}
	noWayLeft = resilience.Meaning{Class: resilience.Fatal, Category: resilience.Config,
		Scope: resilience.ScopeConnection}
	trialOver = resilience.Meaning{Class: resilience.Fatal, Category: resilience.Config,
		Scope:  resilience.ScopeConnection,
		Advice: words.New("navidrome.trial")}
	generic = resilience.Meaning{Class: resilience.Retriable, Category: resilience.Upstream,
		Scope: resilience.ScopeStream, FatalAfter: 10}
)

// subsonic is the error table of the Subsonic and OpenSubsonic API. Overload and outages come first, because the
// status is more specific than the code, which is 0 then. A 404 without a known code comes from a proxy whose server
// is restarting (Traefik does this) and does not mean that the object is missing.
var subsonic = providers.Table{
	{Status: http.StatusTooManyRequests, Meaning: resilience.StatusMeaning(http.StatusTooManyRequests)},
	{Code: "40", Meaning: wrongPassword},
	{Code: "44", Meaning: wrongPassword},
	{Code: codeNoToken, Meaning: noWayLeft},
	{Code: codeNoWay, Meaning: noWayLeft},
	{Code: codeWaysClash, Meaning: noWayLeft},
	{Code: "50", Meaning: resilience.Meaning{Class: resilience.Fatal, Category: resilience.Permission,
		Scope: resilience.ScopeStream}},
	{Code: "60", Meaning: trialOver},
	{Code: codeNotFound, Meaning: resilience.Meaning{Class: resilience.Fatal, Category: resilience.Item,
		Scope: resilience.ScopeItem}},
	{Code: codeMissing, Meaning: ourMistake},
	{Code: "20", Meaning: ourMistake},
	{Code: "30", Meaning: ourMistake},
	{Status: http.StatusOK, Meaning: generic},
	{Status: http.StatusNotFound, Meaning: generic},
}

// ownAPI is the error table of Navidrome's own API; all other answers follow the general table by status. A missing
// song and the missing list of plays of an older Navidrome are 404 too, but not failures.
var ownAPI = providers.Table{
	{Status: http.StatusUnauthorized, Meaning: wrongPassword},
	{Status: http.StatusNotFound, Meaning: generic},
}

// answered reports whether err is the server's own answer with this HTTP status.
func answered(err error, status int) bool {
	e, ok := errors.AsType[*resilience.AnswerError](err)
	return ok && e.Status == status && !e.HTML
}

// switchedOff reports whether the server answers that the feature is disabled.
func switchedOff(err error) bool { return answered(err, http.StatusNotImplemented) }

// notThere reports whether the server answers that the object does not exist.
func notThere(err error) bool { return answered(err, http.StatusNotFound) }

// refusesRequest reports whether an answer refuses the request itself.
func refusesRequest(e *resilience.AnswerError) bool {
	return e.Status >= http.StatusBadRequest && !resilience.ServerFault(e.Status)
}

// tables returns the error tables for docs/providers.md.
func tables() providers.Tables {
	return providers.Tables{
		Provider: "Navidrome and other Subsonic servers",
		Sources: []string{"https://opensubsonic.netlify.app/docs/responses/error/",
			"https://www.subsonic.org/pages/api.jsp"},
		Reading: "The code is `subsonic-response.error.code` in the body, which comes with 200 or another " +
			"status; from 500, only the status counts. The table's meaning of 41, 42 and 43 applies " +
			"when there is no other way left to sign in. 501 says that a feature is switched off " +
			"there, which is no failure. A 404 without a code comes from a proxy whose server is " +
			"briefly gone. In Navidrome's own API a 404 is no failure if its JSON says that one song " +
			"is gone, or if an older Navidrome has no list of plays. When Reprise writes something, a " +
			"refusal by status alone is about the call (fatal · contract · stream), never about one " +
			"play or playlist.",
		Of: []providers.NamedTable{
			{Calls: "the Subsonic API", Table: subsonic},
			{Calls: "Navidrome's own API", Table: ownAPI},
		},
	}
}
