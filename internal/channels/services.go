package channels

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// ntfySpent is the code of ntfy for a day's messages that are used up.
const ntfySpent = "42908"

var ntfyRefusals = refusals("ntfy", providers.Table{
	{Code: ntfySpent, Meaning: resilience.Meaning{Class: resilience.Retriable, Category: resilience.Quota, Scope: resilience.ScopeConnection, Hold: time.Hour, Advice: "ntfy takes no more messages today."}},
}, func(e *resilience.AnswerError) {
	var v struct {
		Code  int    `json:"code"`
		Error string `json:"error"`
	}
	if json.Unmarshal(e.Body, &v) == nil && v.Code != 0 {
		e.Code, e.Message = strconv.Itoa(v.Code), resilience.Excerpt(v.Error)
	}
})

// How loudly a message comes, and the little picture in front of it.
var (
	ntfyPriority   = map[notify.Severity]int{notify.Info: 2, notify.Success: 3, notify.Warning: 3, notify.Error: 4}
	ntfyTag        = map[notify.Severity]string{notify.Info: "information_source", notify.Success: "white_check_mark", notify.Warning: "warning", notify.Error: "rotating_light"}
	gotifyPriority = map[notify.Severity]int{notify.Info: 2, notify.Success: 4, notify.Warning: 5, notify.Error: 8}
	discordColour  = map[notify.Severity]int{notify.Info: 0x5b6b7b, notify.Success: 0x2e7d4f, notify.Warning: 0xb7791f, notify.Error: 0xc0392b}
)

// ntfy publishes as JSON, whose texts may hold any character. The sequence id makes what is sent again the same message,
// from version 2.16 of ntfy on (https://docs.ntfy.sh/publish/); older ones pass over it.
func (s *Channels) ntfy(ctx context.Context, text string, m notify.Message) error {
	u, err := url.Parse(text)
	if err != nil {
		return wrong("The address of this channel cannot be read.")
	}
	header := http.Header{"X-Sequence-Id": {m.ID}}
	if u.User != nil {
		password, _ := u.User.Password()
		switch name := u.User.Username(); {
		case name == "":
			header.Set("Authorization", "Bearer "+password)
		case password == "":
			header.Set("Authorization", "Bearer "+name)
		default:
			req := http.Request{Header: header}
			req.SetBasicAuth(name, password)
		}
	}
	_, err = s.post(ctx, ntfyRefusals, web(u, "/"), ntfyEndpoint, header, map[string]any{"topic": strings.Trim(u.Path, "/"), "title": clip(m.Title, 250), "message": clip(m.Text, 3500),
		"priority": ntfyPriority[m.Severity], "tags": []string{ntfyTag[m.Severity]}, "click": m.URL})
	return err
}

var gotifyRefusals = refusals("Gotify", providers.Table{
	{Status: 400, Meaning: resilience.Meaning{Class: resilience.Fatal, Category: resilience.Item, Scope: resilience.ScopeItem, Advice: "Gotify did not take a message."}},
}, func(e *resilience.AnswerError) {
	var v struct {
		Text string `json:"errorDescription"`
	}
	if json.Unmarshal(e.Body, &v) == nil {
		e.Message = resilience.Excerpt(v.Text)
	}
})

func (s *Channels) gotify(ctx context.Context, text string, m notify.Message) error {
	u, err := url.Parse(text)
	if err != nil {
		return wrong("The address of this channel cannot be read.")
	}
	cut := strings.LastIndexByte(u.Path, '/')
	extras := map[string]any{"client::notification": map[string]any{"click": map[string]string{"url": m.URL}}}
	_, err = s.post(ctx, gotifyRefusals, web(u, u.Path[:cut]+"/message"), gotifyEndpoint, http.Header{"X-Gotify-Key": {u.Path[cut+1:]}},
		map[string]any{"title": clip(m.Title, 250), "message": clip(m.Text, 4000), "priority": gotifyPriority[m.Severity], "extras": extras})
	return err
}

var discordRefusals = refusals("Discord", providers.Table{
	{Status: 404, Meaning: resilience.Meaning{Class: resilience.Fatal, Category: resilience.Config, Scope: resilience.ScopeConnection, Advice: "Discord does not know this webhook any more. Make a new one there, and enter its address here."}},
	{Status: 401, Meaning: resilience.Meaning{Class: resilience.Fatal, Category: resilience.Config, Scope: resilience.ScopeConnection, Advice: "Discord does not accept this webhook. Copy its address once more."}},
	{Status: 403, Meaning: resilience.Meaning{Class: resilience.Fatal, Category: resilience.Config, Scope: resilience.ScopeConnection, Advice: "Discord does not accept this webhook. Copy its address once more."}},
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

func (s *Channels) discord(ctx context.Context, text string, m notify.Message) error {
	u, err := url.Parse(text)
	if err != nil {
		return wrong("The address of this channel cannot be read.")
	}
	address := s.DiscordURL + "/api/webhooks/" + url.PathEscape(u.Host) + "/" + url.PathEscape(u.User.Username()) + "?wait=true"
	embed := map[string]any{"title": clip(m.Title, 250), "description": clip(m.Text, 3900), "color": discordColour[m.Severity]}
	if strings.HasPrefix(m.URL, "http") {
		embed["url"] = m.URL
	}
	_, err = s.post(ctx, discordRefusals, address, discordEndpoint, nil,
		map[string]any{"username": "Reprise", "embeds": []any{embed}, "allowed_mentions": map[string]any{"parse": []string{}}})
	return err
}

// The codes that we give to Telegram's words, which come without any.
const (
	telegramNoChat = "chat not found"
	telegramShut   = "blocked"
)

var telegramRefusals = refusals("Telegram", providers.Table{
	{Status: 401, Meaning: resilience.Meaning{Class: resilience.Fatal, Category: resilience.Auth, Scope: resilience.ScopeConnection, Advice: "Telegram does not know this bot. Check its token, or ask @BotFather for a new one."}},
	{Status: 404, Meaning: resilience.Meaning{Class: resilience.Fatal, Category: resilience.Auth, Scope: resilience.ScopeConnection, Advice: "Telegram does not know this bot. Check its token, or ask @BotFather for a new one."}},
	{Status: 403, Meaning: resilience.Meaning{Class: resilience.Fatal, Category: resilience.Permission, Scope: resilience.ScopeConnection, Advice: "The bot may not write to this chat. Write to the bot once, or add it to the group, and take care that it is not blocked."}},
	{Status: 400, Code: telegramNoChat, Meaning: resilience.Meaning{Class: resilience.Fatal, Category: resilience.Config, Scope: resilience.ScopeConnection, Advice: "The bot does not know this chat. Check its number, and write to the bot once."}},
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
		switch {
		case strings.Contains(v.Text, "chat not found"):
			e.Code = telegramNoChat
		case strings.Contains(v.Text, "blocked"):
			e.Code = telegramShut
		}
	}
})

// telegram sends to each chat. Which have got a message is remembered until all have, so that those that have got it do
// not get it twice when another one could not be reached.
func (s *Channels) telegram(ctx context.Context, text string, m notify.Message) error {
	u, err := url.Parse(text)
	if err != nil {
		return wrong("The address of this channel cannot be read.")
	}
	secret, _ := u.User.Password()
	address := s.TelegramURL + "/bot" + url.PathEscape(u.User.Username()) + ":" + url.PathEscape(secret) + "/sendMessage"
	var got []string
	for chat := range strings.SplitSeq(u.Query().Get("chats"), ",") {
		key := m.ID + "/" + chat
		if chat == "" || s.hasGot(key) {
			continue
		}
		_, err := s.post(ctx, telegramRefusals, address, telegramEndpoint, nil, map[string]any{"chat_id": chat,
			"text": clip(m.Title+"\n"+m.Text+"\n"+m.URL, 4000), "disable_notification": m.Severity == notify.Info, "link_preview_options": map[string]bool{"is_disabled": true}})
		if err != nil {
			s.note(got, true)
			return err
		}
		got = append(got, key)
	}
	s.note(got, false)
	return nil
}

func (s *Channels) hasGot(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.told[key]
}

// mostRemembered bounds what is remembered of messages that some have got.
const mostRemembered = 1000

func (s *Channels) note(keys []string, some bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.told) > mostRemembered {
		clear(s.told)
	}
	for _, key := range keys {
		if some {
			s.told[key] = true
		} else {
			delete(s.told, key)
		}
	}
}

var webhookRefusals = refusals("The webhook", nil, nil)

// event is what a webhook gets.
type event struct {
	ID         string  `json:"id"`
	Event      string  `json:"event"`
	Severity   string  `json:"severity"`
	Title      string  `json:"title"`
	Message    string  `json:"message"`
	Provider   string  `json:"provider"`
	Category   string  `json:"category"`
	CreatedAt  *string `json:"created_at"`
	ResolvedAt *string `json:"resolved_at"`
	URL        string  `json:"url,omitempty"`
	Items      []event `json:"items,omitempty"`
}

func moment(at time.Time) *string {
	if at.IsZero() {
		return nil
	}
	text := library.Stamp(at)
	return &text
}

// webhook calls a program of the person's. It need not answer with data: what it says to a call that it takes counts for
// nothing.
func (s *Channels) webhook(ctx context.Context, text string, m notify.Message) error {
	u, err := url.Parse(text)
	if err != nil {
		return wrong("The address of this channel cannot be read.")
	}
	header := http.Header{"Idempotency-Key": {m.ID}}
	if u.User != nil {
		password, _ := u.User.Password()
		(&http.Request{Header: header}).SetBasicAuth(u.User.Username(), password)
		u.User = nil
	}
	v := event{ID: m.ID, Event: string(m.Event), Severity: string(m.Severity), Title: m.Title, Message: m.Text, Provider: m.Provider, Category: m.Category,
		CreatedAt: moment(m.CreatedAt), ResolvedAt: moment(m.ResolvedAt), URL: m.URL}
	for _, i := range m.Items {
		v.Items = append(v.Items, event{Event: string(i.Event), Severity: string(i.Severity), Title: i.Title, Message: i.Text, Provider: i.Provider, Category: i.Category,
			CreatedAt: moment(i.CreatedAt), ResolvedAt: moment(i.ResolvedAt)})
	}
	_, err = s.post(resilience.WithPages(ctx), webhookRefusals, u.String(), webhookEndpoint, header, v)
	return err
}
