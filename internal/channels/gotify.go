package channels

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

const gotifyEndpoint = "POST /message"

var gotify = Kind{
	Name:     "gotify",
	Label:    "Gotify",
	Help:     "A push message by your own Gotify server.",
	Sent:     "Sent. Look at your phone.",
	Endpoint: gotifyEndpoint,
	Fields: []providers.Field{
		{Name: "server", Label: "Server", Kind: "url", Help: "A server at home without TLS needs http:// in front."},
		{Name: "token", Label: "Token of an application", Kind: "password", Help: "Made in Gotify under Apps."},
	},
	schemes: []string{"gotify"},
	parse:   parseGotify,
	build:   buildGotify,
	shown: func(u *url.URL) string {
		_, token := lastSegment(u.Path)
		return u.Host + "/" + lastFour(token)
	},
	send: sendGotify,
}

func parseGotify(u *url.URL) (*url.URL, error) {
	if _, token := lastSegment(u.Path); u.Scheme != "gotify" || token == "" {
		return nil, wrong("The address of Gotify is gotify://, its server, and after a / the token of an application.")
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

var gotifyPriority = map[notify.Severity]int{notify.Info: 2, notify.Success: 4, notify.Warning: 5, notify.Error: 8}

var gotifyRefusals = refusals("Gotify", providers.Table{
	{Status: 400, Meaning: drops("Gotify did not take a message.")},
}, func(e *resilience.AnswerError) {
	var v struct {
		Text string `json:"errorDescription"`
	}
	if json.Unmarshal(e.Body, &v) == nil {
		e.Message = resilience.Excerpt(v.Text)
	}
})

func sendGotify(ctx context.Context, c *Channels, to *url.URL, m notify.Message) error {
	path, token := lastSegment(to.Path)
	click := map[string]any{"click": map[string]string{"url": m.URL}}
	return c.post(ctx, request{
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
