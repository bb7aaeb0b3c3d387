package channels

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

const ntfyEndpoint = "POST /"

var ntfy = Kind{
	Name:     "ntfy",
	Label:    "ntfy",
	Help:     words.New("channel.ntfy.help"),
	Sent:     words.New("channel.ntfy.sent"),
	Endpoint: ntfyEndpoint,
	Fields: []providers.Field{
		{Name: "server", Label: words.New("channel.ntfy.server"), Kind: "url", Optional: true,
			Help: words.New("channel.ntfy.server_help")},
		{Name: "topic", Label: words.New("channel.ntfy.topic"), Kind: "text"},
		{Name: "token", Label: words.New("channel.ntfy.token"), Kind: "password", Optional: true,
			Help: words.New("channel.ntfy.token_help")},
	},
	schemes:   []string{"ntfy"},
	recognise: func(u *url.URL) bool { return u.Host == "ntfy.sh" },
	parse:     parseNtfy,
	build:     buildNtfy,
	shown:     func(u *url.URL) words.Text { return words.Plain(u.Host + "/" + lastFour(strings.Trim(u.Path, "/"))) },
	send:      sendNtfy,
}

var ntfyTopic = regexp.MustCompile(`^[-_A-Za-z0-9]{1,64}$`)

func parseNtfy(u *url.URL) (*url.URL, error) {
	topic := strings.Trim(u.Path, "/")
	if !ntfyTopic.MatchString(topic) {
		return nil, wrong(words.New("reach.ntfy.address"))
	}
	kept := url.URL{Scheme: "ntfy", User: u.User, Host: u.Host, Path: "/" + topic}
	return keepPlain(kept, u.Scheme == "http" || plainHTTP(u)), nil
}

func buildNtfy(f map[string]string) (string, error) {
	u, plain, err := server(cmp.Or(f["server"], "https://ntfy.sh"), "ntfy")
	if err != nil {
		return "", err
	}
	if u.Path != "" {
		return "", wrong(words.New("reach.ntfy.server"))
	}
	if !ntfyTopic.MatchString(f["topic"]) {
		return "", wrong(words.New("reach.ntfy.topic"))
	}
	u.Path = "/" + f["topic"]
	if f["token"] != "" {
		u.User = url.UserPassword("", f["token"])
	}
	return keepPlain(*u, plain).String(), nil
}

var (
	ntfyPriority = map[notify.Severity]int{notify.Info: 3, notify.Success: 3, notify.Warning: 3, notify.Error: 4}
	ntfyTag      = map[notify.Severity]string{
		notify.Info:    "information_source",
		notify.Success: "white_check_mark",
		notify.Warning: "warning",
		notify.Error:   "rotating_light",
	}
)

// ntfySpent is ntfy's code for a daily quota that is used up.
const ntfySpent = "42908"

var ntfyRefusals = refusals(words.Plain("ntfy"), providers.Table{
	{Code: ntfySpent, Meaning: resilience.Meaning{
		Class: resilience.Retriable, Category: resilience.Quota, Scope: resilience.ScopeConnection,
		Hold: time.Hour, Advice: words.New("message.ntfy_spent"),
	}},
}, func(e *resilience.AnswerError) {
	var v struct {
		Code  int    `json:"code"`
		Error string `json:"error"`
	}
	if json.Unmarshal(e.Body, &v) == nil && v.Code != 0 {
		e.Code, e.Message = strconv.Itoa(v.Code), resilience.Excerpt(v.Error)
	}
})

// sendNtfy publishes as JSON, whose texts may hold any character. The sequence id makes a message that is sent again
// replace the first; ntfy knows it since version 2.16 (https://docs.ntfy.sh/publish/) and ignores it before.
func sendNtfy(ctx context.Context, c *Channels, call resilience.Call, to *url.URL, m notify.Message) error {
	header := http.Header{"X-Sequence-Id": {m.ID}}
	if to.User != nil {
		name := to.User.Username()
		password, _ := to.User.Password()
		if name != "" && password != "" {
			signIn(header, to.User)
		} else {
			header.Set("Authorization", "Bearer "+cmp.Or(name, password))
		}
	}
	return c.post(ctx, call, request{
		endpoint: ntfyEndpoint,
		refusals: ntfyRefusals,
		address:  web(to, "/"),
		header:   header,
		body: map[string]any{
			"topic":    strings.Trim(to.Path, "/"),
			"title":    clip(m.Title, 250),
			"message":  clip(m.Text, 3500),
			"priority": ntfyPriority[m.Severity],
			"tags":     []string{ntfyTag[m.Severity]},
			"click":    m.URL,
		},
	})
}
