package channels

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"
	"unicode/utf8"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// stops is the meaning of an answer after which a person must change the channel.
func stops(category resilience.Category, advice words.Text) resilience.Meaning {
	return resilience.Meaning{
		Class: resilience.Fatal, Category: category, Scope: resilience.ScopeConnection, Advice: advice,
	}
}

// drops is the meaning of an answer that refuses one message only.
func drops(advice words.Text) resilience.Meaning {
	return resilience.Meaning{
		Class: resilience.Fatal, Category: resilience.Item, Scope: resilience.ScopeItem, Advice: advice,
	}
}

// refusals returns how a service refuses: the rows of its own, then those that hold for every kind. explain reads the
// service's code and words from an answer; nil when it has none.
func refusals(name words.Text, own providers.Table, explain func(*resilience.AnswerError)) providers.Refusals {
	say := func(id string) words.Text { return words.Each("reach.http.", id, "Channel", name) }
	table := append(own[:len(own):len(own)], providers.Table{
		{Status: 401, Meaning: stops(resilience.Auth, say("sign_in"))},
		{Status: 403, Meaning: stops(resilience.Auth, say("denied"))},
		{Status: 404, Meaning: stops(resilience.Config, say("missing"))},
		{Status: 405, Meaning: stops(resilience.Config, say("method"))},
		{Status: 410, Meaning: stops(resilience.Config, say("gone"))},
		{Status: 413, Meaning: drops(say("long"))},
		{Status: 429, Meaning: resilience.Meaning{
			Class: resilience.Retriable, Category: resilience.RateLimit, Scope: resilience.ScopeApp,
			Advice: words.New("message.limited", "Channel", name),
		}},
	}...)
	return providers.Refusals{Table: table, Explain: explain}
}

// request is one message to a service over HTTP.
type request struct {
	endpoint string // in logs and metrics
	refusals providers.Refusals
	address  string
	header   http.Header
	body     any // sent as JSON
}

// post sends a request of the call.
func (c *Channels) post(ctx context.Context, call resilience.Call, r request) error {
	body, err := json.Marshal(r.body)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.address, bytes.NewReader(body))
	if err != nil {
		return wrong(words.New("reach.uncallable"))
	}
	if r.header != nil {
		req.Header = r.header
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	_, err = r.refusals.Send(call, req, r.endpoint)
	return err
}

// signIn adds the name and password of a URL to a header.
func signIn(header http.Header, user *url.Userinfo) {
	password, _ := user.Password()
	(&http.Request{Header: header}).SetBasicAuth(user.Username(), password)
}

// clip shortens a text to at most that many bytes.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = text[:most-len("…")]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text + "…"
}

// waitFor notes the wait in seconds that the body of an answer asks for, unless its header named one.
func waitFor(e *resilience.AnswerError, seconds float64) {
	if e.NotBefore.IsZero() && seconds > 0 && seconds < 48*3600 {
		e.NotBefore, e.BadWait = time.Now().Add(time.Duration(seconds*float64(time.Second))), false
	}
}
