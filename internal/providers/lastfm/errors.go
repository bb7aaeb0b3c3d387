package lastfm

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// table is the error table of all calls, by Last.fm's code. An answer that it leaves out has the meaning of the
// general table by status; see docs/providers.md.
var table = slices.Concat(
	rows(reconnect, "4", "9"),
	rows(consentAgain, "14", "15"),
	rows(resilience.Meaning{
		Class: resilience.Fatal, Category: resilience.Permission, Scope: resilience.ScopeStream,
		Advice: "Your recent listening is hidden there. Open https://www.last.fm/settings/privacy, switch off " +
			"\"Hide recent listening information\", and press Try again.",
	}, "17"),
	rows(ofTheApp("Last.fm does not know the API key in providers.lastfm.client_id. It stands at "+
		"https://www.last.fm/api/accounts."), "10"),
	rows(ofTheApp("The shared secret in providers.lastfm.client_secret does not belong to the API key. Both stand at "+
		"https://www.last.fm/api/accounts."), "13"),
	rows(ofTheApp("Last.fm has suspended the API key of this installation. Ask Last.fm why, or create another at "+
		"https://www.last.fm/api/account/create and put it in the settings."), "26"),
	rows(resilience.Meaning{Class: resilience.Retriable, Category: resilience.Upstream, Scope: resilience.ScopeStream},
		"8", "11", "16"),
	rows(resilience.Meaning{
		Class: resilience.Retriable, Category: resilience.RateLimit, Scope: resilience.ScopeApp, Hold: 5 * time.Minute,
		HoldMax: time.Hour,
	}, "29"),
	rows(unknownCall, "2", "3", "5", "27"),
	providers.Table{{Status: http.StatusUnauthorized, Meaning: reconnect}},
)

// userTable is table for calls about the connection's own user.
var userTable = slices.Concat(rows(resilience.Meaning{
	Class: resilience.Fatal, Category: resilience.Auth, Scope: resilience.ScopeConnection,
	Advice: "Last.fm no longer knows this user name: the account was renamed or deleted. Reconnect with the " +
		"account as it is now.",
}, "6", "7"), table)

// scrobbleTable is table for sending plays. A refusal without a code concerns the call, not a play, so that no play is
// given up for it.
var scrobbleTable = slices.Concat(rows(resilience.Meaning{
	Class: resilience.Fatal, Category: resilience.Item, Scope: resilience.ScopeItem,
	Advice: "Last.fm does not take a play that is named like this one.",
}, "6", "7"), table, providers.Table{
	{Status: http.StatusBadRequest, Meaning: unknownCall},
	{Status: http.StatusNotFound, Meaning: unknownCall},
	{Status: http.StatusGone, Meaning: unknownCall},
	{Status: http.StatusUnprocessableEntity, Meaning: unknownCall},
})

// ignoredTable is the error table of single plays, by the code with which Last.fm ignores one.
var ignoredTable = slices.Concat(
	ignored("Last.fm does not take plays of an artist with this name.", "1"),
	ignored("Last.fm does not take a track with this title.", "2"),
	ignored("Last.fm takes a play only within two weeks, and this one is older.", "3"),
	ignored("This play lies in the future. The clock of the device on which it was played may be wrong.", "4"),
	rows(resilience.Meaning{
		// Only sending is limited; reading goes on.
		Class: resilience.Retriable, Category: resilience.Quota, Scope: resilience.ScopeStream,
		Advice: "Last.fm takes only so many plays of one person a day. The others go out after midnight UTC.",
	}, dailyLimit),
	ignored("Last.fm ignores this play and does not say why.", withoutReason),
)

const (
	dailyLimit = "5"
	// withoutReason is our code for plays that were not accepted although none was ignored.
	withoutReason = "ignored"
)

var (
	reconnect = resilience.Meaning{
		Class: resilience.Fatal, Category: resilience.Auth, Scope: resilience.ScopeConnection,
		Advice: "Last.fm does not accept the permission any more. It may have been taken back at " +
			"https://www.last.fm/settings/applications.",
	}
	consentAgain = resilience.Meaning{
		Class: resilience.Fatal, Category: resilience.Auth, Scope: resilience.ScopeConnection,
		Advice: "Last.fm did not let us in: the permission was not given there, or too long ago. Please connect " +
			"once more.",
	}
	unknownCall = resilience.Meaning{Class: resilience.Fatal, Category: resilience.Contract,
		Scope: resilience.ScopeStream}
)

func ofTheApp(advice string) resilience.Meaning {
	return resilience.Meaning{Class: resilience.Fatal, Category: resilience.Config, Scope: resilience.ScopeApp,
		Advice: advice}
}

func ignored(advice, code string) providers.Table {
	return rows(resilience.Meaning{Class: resilience.Fatal, Category: resilience.Item, Scope: resilience.ScopeItem,
		Advice: advice}, code)
}

// rows returns a row per code, all with the same meaning.
func rows(m resilience.Meaning, codes ...string) providers.Table {
	t := make(providers.Table, len(codes))
	for i, code := range codes {
		t[i] = providers.Row{Code: code, Meaning: m}
	}
	return t
}

// explain reads Last.fm's code and message from an answer that may be a refusal.
func explain(e *resilience.AnswerError) {
	var body struct {
		Error   number `json:"error"`
		Message text   `json:"message"`
	}
	if json.Unmarshal(e.Body, &body) == nil && body.Error > 0 {
		e.Code, e.Message = strconv.FormatInt(int64(body.Error), 10), resilience.Excerpt(string(body.Message))
	}
}

// refusedInSuccess is explain for answers with status 200.
func refusedInSuccess(e *resilience.AnswerError) bool {
	explain(e)
	return e.Code != ""
}

// number and text decode values that Last.fm sends in several forms: numbers also as strings, names also as objects.
// Anything else decodes as 0 or "".
type (
	number int64
	text   string
)

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(b []byte) error {
	*n = 0
	if v, err := strconv.ParseInt(string(bytes.Trim(b, `"`)), 10, 64); err == nil {
		*n = number(v)
	}
	return nil
}

// count is a number of things, which Last.fm also sends as a string. Anything else breaks the contract: read as 0, it
// would look like the end of a listing.
type count int64

// UnmarshalJSON implements json.Unmarshaler.
func (c *count) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseInt(string(bytes.Trim(b, `"`)), 10, 64)
	if err != nil || v < 0 {
		return &json.UnmarshalTypeError{Value: "value that is no count", Type: reflect.TypeFor[int64]()}
	}
	*c = count(v)
	return nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(b []byte) error {
	*t = ""
	switch b[0] {
	case '"':
		var s string
		if json.Unmarshal(b, &s) == nil {
			*t = text(s)
		}
	case '{':
		var named struct {
			Text string `json:"#text"`
			Name string `json:"name"`
		}
		if json.Unmarshal(b, &named) == nil {
			*t = text(named.Text)
			if *t == "" {
				*t = text(named.Name)
			}
		}
	}
	return nil
}

// tables returns the error tables for docs/providers.md.
func tables() providers.Tables {
	return providers.Tables{
		Provider: "Last.fm",
		Sources:  []string{"https://www.last.fm/api/errorcodes", "https://www.last.fm/api/show/track.scrobble"},
		Reading: "The code is `error` of the body, which comes with any status, also with 200. That of a play " +
			"that was ignored is `ignoredMessage.code`.",
		Own: map[string]string{withoutReason: "fewer plays were accepted than named as ignored"},
		Of: []providers.NamedTable{
			{Calls: "all calls", Table: table},
			{Calls: "calls about the own user", Table: userTable},
			{Calls: "sending plays", Table: scrobbleTable},
			{Calls: "plays that are ignored", Table: ignoredTable},
		},
	}
}
