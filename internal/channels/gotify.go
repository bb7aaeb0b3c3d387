package channels

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

const gotifyEndpoint = "POST /message"

var gotify = Kind{
	Name:     "gotify",
	Label:    "Gotify",
	Sent:     words.New("channel.ntfy.sent"),
	Endpoint: gotifyEndpoint,
	Fields: []providers.Field{
		{Name: "server", Label: words.New("channel.gotify.server"), Kind: "url",
			Help: words.New("channel.gotify.server_help")},
		{Name: "token", Label: words.New("channel.gotify.token"), Kind: "password",
			Help: words.New("channel.gotify.token_help")},
	},
	schemes: []string{"gotify"},
	parse:   parseGotify,
	build:   buildGotify,
	shown: func(u *url.URL) words.Text {
		_, token := lastSegment(u.Path)
		return words.Plain(u.Host + "/" + lastFour(token))
	},
	send: sendGotify,
}

func parseGotify(u *url.URL) (*url.URL, error) {
	if _, token := lastSegment(u.Path); u.Scheme != "gotify" || token == "" {
		return nil, wrong(words.New("reach.gotify.address"))
	}
	return keepPlain(url.URL{Scheme: "gotify", Host: u.Host, Path: u.Path}, plainHTTP(u)), nil
}

func buildGotify(f map[string]string) (string, error) {
	u, plain, err := server(f["server"], "gotify")
	if err != nil {
		return "", err
	}
	u.Path += "/" + f["token"]
	return keepPlain(*u, plain).String(), nil
}

var gotifyPriority = map[notify.Severity]int{notify.Info: 4, notify.Success: 4, notify.Warning: 5, notify.Error: 8}

var gotifyRefusals = refusals(words.Plain("Gotify"), providers.Table{
	{Status: 400, Meaning: drops(words.New("reach.gotify.rejected"))},
}, func(e *resilience.AnswerError) {
	var v struct {
		Text string `json:"errorDescription"`
	}
	if json.Unmarshal(e.Body, &v) == nil {
		e.Message = resilience.Excerpt(v.Text)
	}
})

func sendGotify(ctx context.Context, c *Channels, call resilience.Call, to *url.URL, m notify.Message) error {
	path, token := lastSegment(to.Path)
	click := map[string]any{"click": map[string]string{"url": m.URL}}
	return c.post(ctx, call, request{
		endpoint: gotifyEndpoint,
		refusals: gotifyRefusals,
		address:  web(to, path+"/message"),
		header:   http.Header{"X-Gotify-Key": {token}},
		body: map[string]any{
			"title":    clip(m.Title, 250),
			"message":  clip(m.Text, 4000),
			"priority": gotifyPriority[m.Severity],
			"extras":   map[string]any{"client::notification": click},
		},
	})
}
