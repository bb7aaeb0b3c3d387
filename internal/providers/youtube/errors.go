package youtube

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// Our codes for refusals that Google distinguishes in other ways.
const (
	perDay           = "limit of the day" // the limit of requests that is reset at midnight
	noChannel        = "no channel"
	invalidPageToken = "invalidPageToken"
)

const (
	fatal     = resilience.Fatal
	retriable = resilience.Retriable
)

var (
	daySpent = resilience.Meaning{Class: retriable, Category: resilience.Quota, Scope: resilience.ScopeKey}
	tooFast  = resilience.Meaning{Class: retriable, Category: resilience.RateLimit, Scope: resilience.ScopeKey}
	badKey   = resilience.Meaning{Class: fatal, Category: resilience.Auth, Scope: resilience.ScopeKey,
		Advice: keyAdvice}
	// shutOut means that the project or key may not use this API.
	shutOut = resilience.Meaning{Class: fatal, Category: resilience.Config, Scope: resilience.ScopeKey,
		Advice: words.New("youtube.shut_out")}
	reconnect = resilience.Meaning{Class: fatal, Category: resilience.Auth, Scope: resilience.ScopeConnection}
	noScope   = resilience.Meaning{Class: fatal, Category: resilience.Auth, Scope: resilience.ScopeConnection,
		Advice: words.New("youtube.scope")}
	closed = resilience.Meaning{Class: fatal, Category: resilience.Auth, Scope: resilience.ScopeConnection,
		Advice: words.New("youtube.closed")}
	noAccount = resilience.Meaning{Class: fatal, Category: resilience.Auth, Scope: resilience.ScopeConnection,
		Advice: words.New("youtube.no_channel")}
	unverified = resilience.Meaning{Class: fatal, Category: resilience.Permission, Scope: resilience.ScopeStream,
		Advice: words.New("youtube.unverified")}
	object = resilience.Meaning{Class: fatal, Category: resilience.Item, Scope: resilience.ScopeItem}
	later  = resilience.Meaning{Class: retriable, Category: resilience.Upstream, Scope: resilience.ScopeStream}
)

// keyAdvice tells an administrator what to do about refused keys.
var keyAdvice = words.New("youtube.key")

// table is the error table of all calls. An answer that it leaves out has the meaning of the general table by status;
// see docs/providers.md.
var table = providers.Table{
	{Code: "quotaExceeded", Meaning: daySpent},
	{Code: "dailyLimitExceeded", Meaning: daySpent},
	{Code: perDay, Meaning: daySpent},
	{Code: "rateLimitExceeded", Meaning: tooFast},
	{Code: "userRateLimitExceeded", Meaning: tooFast},
	{Code: "servingLimitExceeded", Meaning: tooFast},
	{Code: "concurrentLimitExceeded", Meaning: tooFast},
	{Code: "RATE_LIMIT_EXCEEDED", Meaning: tooFast},
	{Code: "RESOURCE_EXHAUSTED", Meaning: tooFast},
	{Code: "keyInvalid", Meaning: badKey},
	{Code: "keyExpired", Meaning: badKey},
	{Code: "API_KEY_INVALID", Meaning: badKey},
	{Code: "accessNotConfigured", Meaning: shutOut},
	{Code: "SERVICE_DISABLED", Meaning: shutOut},
	{Code: "ipRefererBlocked", Meaning: shutOut},
	{Code: "API_KEY_IP_ADDRESS_BLOCKED", Meaning: shutOut},
	{Code: "API_KEY_HTTP_REFERRER_BLOCKED", Meaning: shutOut},
	{Code: "API_KEY_SERVICE_BLOCKED", Meaning: shutOut},
	{Code: "authError", Meaning: reconnect},
	{Code: "youtubeSignupRequired", Meaning: noAccount},
	{Code: "authenticatedUserNotChannel", Meaning: noAccount},
	{Code: noChannel, Meaning: noAccount},
	{Code: "ACCESS_TOKEN_SCOPE_INSUFFICIENT", Meaning: noScope},
	{Code: "insufficientPermissions", Meaning: noScope},
	{Code: "authenticatedUserAccountClosed", Meaning: closed},
	{Code: "authenticatedUserAccountSuspended", Meaning: closed},
	{Code: "channelClosed", Meaning: closed},
	{Code: "channelSuspended", Meaning: closed},
	{Code: "forbidden", Meaning: object},
	{Code: "playlistForbidden", Meaning: object},
	{Code: "playlistItemsNotAccessible", Meaning: object},
	{Code: "videoNotFound", Meaning: object},
	{Code: "videoRatingDisabled", Meaning: object},
	{Code: "videoPurchaseRequired", Meaning: object},
	{Code: "emailNotVerified", Meaning: unverified},
	{Code: invalidPageToken, Meaning: later}, // the listing was already restarted
	{Status: 409, Meaning: later},
	{Code: "backendError", Meaning: later},
}

// rateScope means that the person has not allowed their likes to be changed.
var rateScope = resilience.Meaning{Class: fatal, Category: resilience.Permission, Scope: resilience.ScopeStream,
	Advice: words.New("youtube.love_scope")}

// rateTable is table for calls that change the liked videos.
var rateTable = slices.Concat(providers.Table{
	{Code: "ACCESS_TOKEN_SCOPE_INSUFFICIENT", Meaning: rateScope},
	{Code: "insufficientPermissions", Meaning: rateScope},
}, slices.DeleteFunc(slices.Clone(table), func(r providers.Row) bool {
	return r.Code == "ACCESS_TOKEN_SCOPE_INSUFFICIENT" || r.Code == "insufficientPermissions"
}))

// refusal is the body of Google's errors, in the older and the newer format. An answer has its reason in one of them
// or in both.
type refusal struct {
	Error struct {
		Message string `json:"message"`
		Status  string `json:"status"`
		Errors  []struct {
			Reason string `json:"reason"`
		} `json:"errors"`
		Details []struct {
			Reason   string            `json:"reason"`
			Metadata map[string]string `json:"metadata"`
		} `json:"details"`
	} `json:"error"`
}

var markup = regexp.MustCompile(`<[^>]*>`)

// explain reads Google's message and code from a refusal. The newer format comes first, because it is more specific: a
// blocked key is only "forbidden" in the older one.
func explain(e *resilience.AnswerError) {
	var body refusal
	if json.Unmarshal(e.Body, &body) != nil {
		return
	}
	r := body.Error
	var codes []string
	for _, d := range r.Details {
		codes = append(codes, d.Reason)
	}
	for _, d := range r.Errors {
		codes = append(codes, d.Reason)
	}
	codes = append(codes, r.Status)
	e.Message = resilience.Excerpt(markup.ReplaceAllString(r.Message, ""))
	if i := slices.IndexFunc(codes, listed); i >= 0 {
		e.Code = codes[i]
	} else if i := slices.IndexFunc(codes, func(c string) bool { return c != "" }); i >= 0 {
		e.Code = resilience.Excerpt(codes[i])
	}
	switch e.Code {
	case "rateLimitExceeded", "userRateLimitExceeded", "RATE_LIMIT_EXCEEDED", "RESOURCE_EXHAUSTED":
		if !ofTheDay(body) {
			return
		}
		e.Code = perDay
	case "quotaExceeded", "dailyLimitExceeded":
	default:
		return
	}
	e.NotBefore, e.BadWait = quotaReset(time.Now()), false
}

func listed(code string) bool {
	return code != "" && slices.ContainsFunc(table, func(r providers.Row) bool { return r.Code == code })
}

// ofTheDay reports whether the daily limit was reached and not the one per minute.
func ofTheDay(body refusal) bool {
	for _, d := range body.Error.Details {
		if limit := d.Metadata["quota_limit"]; limit != "" {
			return strings.Contains(strings.ToLower(limit), "perday")
		}
	}
	return strings.Contains(strings.ToLower(body.Error.Message), "per day")
}

// late is how long after midnight a refusal may still concern the day before, because clocks differ.
const late = 5 * time.Minute

// pacific returns the time zone of YouTube's day.
var pacific = sync.OnceValue(func() *time.Location {
	zone, err := time.LoadLocation("America/Los_Angeles")
	if err != nil { // without time zone data: one hour late in summer, never early
		return time.FixedZone("PST", -8*60*60)
	}
	return zone
})

// quotaReset returns the time of the quota's reset: the next midnight in Los Angeles, 23, 24 or 25 hours after the
// last one. A refusal right after midnight may still concern the day before.
func quotaReset(now time.Time) time.Time {
	now = now.In(pacific())
	year, month, day := now.Date()
	if soon := time.Date(year, month, day, 0, 0, 0, 0, pacific()).Add(late); now.Before(soon) {
		return soon.UTC()
	}
	return time.Date(year, month, day+1, 0, 0, 0, 0, pacific()).UTC()
}

// tables returns the error tables for docs/providers.md.
func tables() providers.Tables {
	return providers.Tables{
		Provider: "YouTube",
		Sources: []string{"https://developers.google.com/youtube/v3/docs/errors",
			"https://developers.google.com/youtube/v3/docs/core_errors",
			"https://cloud.google.com/apis/design/errors"},
		Reading: "The code is the first of `error.details[].reason`, `error.errors[].reason` and " +
			"`error.status` that the table lists. A day's quota is back at midnight in Los Angeles. A " +
			"verdict about a key (· key) applies to that key only, and the same request goes out with " +
			"the next one. When all keys are spent, or a key may not see something, Reprise uses the " +
			"person's own permission. In a call with a person's permission, the verdict is about the " +
			"project of the client ID.",
		Own: map[string]string{
			perDay:    "a request limit whose `quota_limit` or message names the day",
			noChannel: "the answer about the person's own channel is empty",
		},
		Of: []providers.NamedTable{{Calls: "reading", Table: table},
			{Calls: "changing the liked videos", Table: rateTable}},
	}
}
