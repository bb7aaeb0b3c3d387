package channels

import (
	"context"
	"encoding/json"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

const discordEndpoint = "POST /api/webhooks/{id}/{token}"

var discord = Kind{
	Name:     "discord",
	Label:    "Discord",
	Sent:     words.New("channel.discord.sent"),
	Endpoint: discordEndpoint,
	fixed:    true,
	Fields: []providers.Field{
		{Name: "webhook", Label: words.New("channel.discord.webhook"), Kind: "password",
			Help: words.New("channel.discord.webhook_help")},
	},
	schemes:   []string{"discord"},
	recognise: isDiscord,
	parse:     parseDiscord,
	build:     pasted("webhook"),
	shown:     func(u *url.URL) words.Text { return words.Plain("discord.com/" + lastFour(u.User.Username())) },
	send:      sendDiscord,
}

var (
	discordHost = regexp.MustCompile(`^(?:(?:canary|ptb)\.)?discord(?:app)?\.com$`)
	discordPath = regexp.MustCompile(`^/api/(?:v\d+/)?webhooks/(\d+)/([-_A-Za-z0-9]+)/?$`)
)

// isDiscord reports whether u is the web address of a webhook at Discord. Other services use the same paths.
func isDiscord(u *url.URL) bool {
	return u.Scheme == "https" && discordHost.MatchString(u.Host) && discordPath.MatchString(u.Path)
}

func parseDiscord(u *url.URL) (*url.URL, error) {
	if isDiscord(u) {
		m := discordPath.FindStringSubmatch(u.Path)
		return &url.URL{Scheme: "discord", User: url.User(m[2]), Host: m[1]}, nil
	}
	if u.Scheme != "discord" || u.User.Username() == "" || strings.Trim(u.Host, "0123456789") != "" {
		return nil, wrong(words.New("reach.discord.address"))
	}
	return &url.URL{Scheme: "discord", User: url.User(u.User.Username()), Host: u.Host}, nil
}

var discordColour = map[notify.Severity]int{
	notify.Info: 0x5b6b7b, notify.Success: 0x2e7d4f, notify.Warning: 0xb7791f, notify.Error: 0xc0392b,
}

var discordRefused = words.New("reach.discord.rejected")

var discordRefusals = refusals(words.Plain("Discord"), providers.Table{
	{Status: 404, Meaning: stops(resilience.Config, words.New("reach.discord.gone"))},
	{Status: 401, Meaning: stops(resilience.Config, discordRefused)},
	{Status: 403, Meaning: stops(resilience.Config, discordRefused)},
}, func(e *resilience.AnswerError) {
	var v struct {
		Code    int     `json:"code"`
		Message string  `json:"message"`
		Wait    float64 `json:"retry_after"` // seconds
	}
	if json.Unmarshal(e.Body, &v) == nil {
		e.Message = resilience.Excerpt(v.Message)
		if v.Code != 0 {
			e.Code = strconv.Itoa(v.Code)
		}
		waitFor(e, v.Wait)
	}
})

func sendDiscord(ctx context.Context, c *Channels, call resilience.Call, to *url.URL, m notify.Message) error {
	embed := map[string]any{
		"title":       clip(m.Title, 250),
		"description": clip(m.Text, 3900),
		"color":       discordColour[m.Severity],
	}
	if strings.HasPrefix(m.URL, "http") {
		embed["url"] = m.URL
	}
	path := "/api/webhooks/" + url.PathEscape(to.Host) + "/" + url.PathEscape(to.User.Username())
	return c.post(ctx, call, request{
		endpoint: discordEndpoint,
		refusals: discordRefusals,
		address:  c.discordURL + path + "?wait=true",
		body: map[string]any{
			"username":         "Reprise",
			"embeds":           []any{embed},
			"allowed_mentions": map[string]any{"parse": []string{}},
		},
	})
}
