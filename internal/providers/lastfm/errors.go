package lastfm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// table is the error table of all calls, by Last.fm's code. An answer that it leaves out has the meaning of the
// general table by status; see docs/providers.md.
var table = slices.Concat(
	rows(reconnect, "4", "9"),
	rows(consentAgain, "14", "15"),
	rows(resilience.Meaning{
		Class: resilience.Fatal, Category: resilience.Permission, Scope: resilience.ScopeStream,
		Advice: words.New("lastfm.hidden"),
	}, "17"),
	rows(ofTheApp(words.New("lastfm.key")), "10"),
	rows(ofTheApp(words.New("lastfm.secret")), "13"),
	rows(ofTheApp(words.New("lastfm.suspended")), "26"),
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
	Advice: words.New("lastfm.renamed"),
}, "6", "7"), table)

// scrobbleTable is table for sending plays. A refusal without a code concerns the call, not a play, so that no play is
// given up for it.
var scrobbleTable = slices.Concat(rows(resilience.Meaning{
	Class: resilience.Fatal, Category: resilience.Item, Scope: resilience.ScopeItem,
	Advice: words.New("lastfm.play"),
}, "6", "7"), callTable)

// callTable is table for sending, where a refusal without a code is about the call.
var callTable = slices.Concat(table, providers.Table{
	{Status: http.StatusBadRequest, Meaning: unknownCall},
	{Status: http.StatusNotFound, Meaning: unknownCall},
	{Status: http.StatusGone, Meaning: unknownCall},
	{Status: http.StatusUnprocessableEntity, Meaning: unknownCall},
})

// ignoredTable is the error table of single plays, by the code with which Last.fm ignores one.
var ignoredTable = slices.Concat(
	ignored(words.New("lastfm.artist"), "1"),
	ignored(words.New("lastfm.title"), "2"),
	ignored(words.New("lastfm.old"), "3"),
	ignored(words.New("lastfm.future"), "4"),
	rows(resilience.Meaning{
		// Only sending is limited; reading goes on.
		Class: resilience.Retriable, Category: resilience.Quota, Scope: resilience.ScopeStream,
		Advice: words.New("lastfm.daily"),
	}, dailyLimit),
	ignored(words.New("lastfm.ignored"), withoutReason),
)

const (
	dailyLimit = "5"
	// withoutReason is our code for plays that were not accepted although none was ignored.
	withoutReason = "ignored"
)

var (
	reconnect = resilience.Meaning{
		Class: resilience.Fatal, Category: resilience.Auth, Scope: resilience.ScopeConnection,
		Advice: words.New("lastfm.session"),
	}
	consentAgain = resilience.Meaning{
		Class: resilience.Fatal, Category: resilience.Auth, Scope: resilience.ScopeConnection,
		Advice: words.New("lastfm.consent"),
	}
	unknownCall = resilience.Meaning{Class: resilience.Fatal, Category: resilience.Contract,
		Scope: resilience.ScopeStream}
)

func ofTheApp(advice words.Text) resilience.Meaning {
	return resilience.Meaning{Class: resilience.Fatal, Category: resilience.Config, Scope: resilience.ScopeApp,
		Advice: advice}
}

func ignored(advice words.Text, code string) providers.Table {
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
		Error   failure `json:"error"`
		Message text    `json:"message"`
	}
	if json.Unmarshal(e.Body, &body) == nil && body.Error.code > 0 {
		e.Code = strconv.FormatInt(int64(body.Error.code), 10)
		e.Message = resilience.Excerpt(cmp.Or(string(body.Message), string(body.Error.message)))
	}
}

// failure is the code of a refusal; at a GNU FM also with its message in one object.
type failure struct {
	code    number
	message text
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *failure) UnmarshalJSON(b []byte) error {
	var object struct {
		Code number `json:"code"`
	}
	if json.Unmarshal(b, &object) == nil && object.Code > 0 {
		f.code = object.Code
		return json.Unmarshal(b, &f.message)
	}
	return json.Unmarshal(b, &f.code)
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
		Reading: "The code is `error` in the body, which comes with any status, even with 200. For a play " +
			"that Last.fm ignored, it is `ignoredMessage.code`.",
		Own: map[string]string{withoutReason: "Last.fm accepted fewer plays than its list of ignored ones explains"},
		Of: []providers.NamedTable{
			{Calls: "all calls", Table: table},
			{Calls: "calls about the own user", Table: userTable},
			{Calls: "sending plays", Table: scrobbleTable},
			{Calls: "plays that are ignored", Table: ignoredTable},
			{Calls: "a loved track, before all calls", Table: loveTable[:len(loveTable)-len(callTable)]},
		},
	}
}
