package musicbrainz

import (
	"encoding/json"
	"net/http"
	"time"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

var contactAdvice = words.New("musicbrainz.contact")

var (
	throttled = resilience.Meaning{Class: resilience.Retriable, Category: resilience.RateLimit,
		Scope: resilience.ScopeApp, Hold: 10 * time.Second, HoldMax: 10 * time.Minute}
	blocked = resilience.Meaning{Class: resilience.Fatal, Category: resilience.Config, Scope: resilience.ScopeApp,
		Advice: contactAdvice}
	object = resilience.Meaning{Class: resilience.Fatal, Category: resilience.Item, Scope: resilience.ScopeItem}
)

// table is the error table of all calls. An answer that it leaves out has the meaning of the general table by status;
// see docs/providers.md.
var table = providers.Table{
	{Status: http.StatusServiceUnavailable, Meaning: throttled},
	{Status: http.StatusUnauthorized, Meaning: blocked},
	{Status: http.StatusForbidden, Meaning: blocked},
	{Status: http.StatusNotFound, Meaning: object},
	{Status: http.StatusBadRequest, Meaning: object},
}

// explain reads MusicBrainz' message from a refusal. MusicBrainz sends "Retry-After: 0" when all its clients together
// exceed its capacity. That is neither a wait nor malformed.
func explain(e *resilience.AnswerError) {
	var body struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(e.Body, &body) == nil {
		e.Message = resilience.Excerpt(body.Error)
	}
	if e.Status == http.StatusServiceUnavailable && e.Header.Get("Retry-After") == "0" {
		e.BadWait = false
	}
}

// tables returns the error tables for docs/providers.md.
func tables() providers.Tables {
	return providers.Tables{
		Provider: "MusicBrainz",
		Sources: []string{"https://musicbrainz.org/doc/MusicBrainz_API",
			"https://musicbrainz.org/doc/MusicBrainz_API/Rate_Limiting"},
		Reading: "MusicBrainz has no codes besides the status. The wait of a 503 is its `Retry-After`, " +
			"unless that is 0: then MusicBrainz has too many callers altogether.",
		Of: []providers.NamedTable{{Calls: "all calls", Table: table}},
	}
}
