package channels

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"sync"

	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

const telegramEndpoint = "POST /bot{token}/sendMessage"

var telegram = Kind{
	Name:     "telegram",
	Label:    "Telegram",
	Help:     words.New("channel.telegram.help"),
	Sent:     words.New("channel.telegram.sent"),
	Endpoint: telegramEndpoint,
	fixed:    true,
	Fields: []providers.Field{
		{Name: "token", Label: words.New("channel.telegram.token"), Kind: "password"},
		{Name: "chats", Label: words.New("channel.telegram.chats"), Kind: "text",
			Help: words.New("channel.telegram.chats_help")},
	},
	schemes: []string{"telegram"},
	parse:   parseTelegram,
	build:   buildTelegram,
	shown: func(u *url.URL) words.Text {
		return words.New("reach.shown.telegram", "Chat", u.Query().Get("chats"))
	},
	send: sendTelegram,
}

func parseTelegram(u *url.URL) (*url.URL, error) {
	secret, _ := u.User.Password()
	chats := cmp.Or(u.Query().Get("chats"), u.Query().Get("channels"))
	if u.Scheme != "telegram" || u.User.Username() == "" || secret == "" || chats == "" {
		return nil, wrong(words.New("reach.telegram.address"))
	}
	return telegramURL(u.User, chats), nil
}

func buildTelegram(f map[string]string) (string, error) {
	id, secret, ok := strings.Cut(f["token"], ":")
	if !ok || id == "" || secret == "" {
		return "", wrong(words.New("reach.telegram.token"))
	}
	return telegramURL(url.UserPassword(id, secret), strings.ReplaceAll(f["chats"], " ", "")).String(), nil
}

func telegramURL(bot *url.Userinfo, chats string) *url.URL {
	return &url.URL{
		Scheme: "telegram", User: bot, Host: "telegram", RawQuery: url.Values{"chats": {chats}}.Encode(),
	}
}

// telegramNoChat is our code for an answer that Telegram describes in words only.
const telegramNoChat = "chat not found"

var telegramNoBot = words.New("reach.telegram.bot")

var telegramRefusals = refusals(words.Plain("Telegram"), providers.Table{
	{Status: 401, Meaning: stops(resilience.Auth, telegramNoBot)},
	{Status: 404, Meaning: stops(resilience.Auth, telegramNoBot)},
	{Status: 403, Meaning: stops(resilience.Permission, words.New("reach.telegram.denied"))},
	{Status: 400, Code: telegramNoChat, Meaning: stops(resilience.Config, words.New("reach.telegram.chat"))},
}, func(e *resilience.AnswerError) {
	var v struct {
		Text       string `json:"description"`
		Parameters struct {
			Wait float64 `json:"retry_after"` // seconds
		} `json:"parameters"`
	}
	if json.Unmarshal(e.Body, &v) == nil {
		e.Message = resilience.Excerpt(v.Text)
		waitFor(e, v.Parameters.Wait)
		for _, words := range []string{telegramNoChat, "blocked"} {
			if strings.Contains(v.Text, words) {
				e.Code = words
				break
			}
		}
	}
})

// sendTelegram sends to each chat. It remembers which chats have got a message until all have, so that a retry after
// one chat failed does not repeat it in the others.
func sendTelegram(ctx context.Context, c *Channels, call resilience.Call, to *url.URL, m notify.Message) error {
	secret, _ := to.User.Password()
	bot := "/bot" + url.PathEscape(to.User.Username()) + ":" + url.PathEscape(secret)
	var sent []string
	for chat := range strings.SplitSeq(to.Query().Get("chats"), ",") {
		key := m.ID + "/" + chat
		if chat == "" {
			continue
		}
		if c.chats.has(key) {
			sent = append(sent, key)
			continue
		}
		err := c.post(ctx, call, request{
			endpoint: telegramEndpoint,
			refusals: telegramRefusals,
			address:  c.telegramURL + bot + "/sendMessage",
			body: map[string]any{
				"chat_id":              chat,
				"text":                 clip(m.Title+"\n"+m.Text+"\n"+m.URL, 4000),
				"disable_notification": m.Severity == notify.Info,
				"link_preview_options": map[string]bool{"is_disabled": true},
			},
		})
		if err != nil {
			c.chats.remember(sent)
			return err
		}
		sent = append(sent, key)
	}
	c.chats.forget(sent)
	return nil
}

// chatMemory holds the messages that only some of their chats have got. It is safe for concurrent use.
type chatMemory struct {
	mu  sync.Mutex
	got map[string]bool // by message and chat
}

// maxChatMemory bounds a chatMemory. When it is full it is emptied: a message may then arrive twice.
const maxChatMemory = 1000

func (r *chatMemory) has(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got[key]
}

func (r *chatMemory) remember(keys []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.got) > maxChatMemory {
		clear(r.got)
	}
	for _, key := range keys {
		r.got[key] = true
	}
}

func (r *chatMemory) forget(keys []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range keys {
		delete(r.got, key)
	}
}
