package channels

import (
	"cmp"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"reprise/internal/providers"
)

// Kind is a kind of channel as a person chooses it.
type Kind struct {
	Name   string
	Label  string
	Help   string
	Fields []providers.Field
	parse  func(*url.URL) (*url.URL, error)
	build  func(map[string]string) (string, error)
	shown  func(*url.URL) string
}

// Kinds are all that a person can fill in, in the order in which they see them. A browser adds itself.
var Kinds = []Kind{
	{Name: Ntfy, Label: "ntfy", Help: "A push message on your phone, by the app ntfy. Choose a topic that nobody guesses, and subscribe to it in the app.", Fields: []providers.Field{
		{Name: "server", Label: "Server", Kind: "url", Optional: true, Help: "Empty for https://ntfy.sh. A server at home without TLS needs http:// in front."},
		{Name: "topic", Label: "Topic", Kind: "text"},
		{Name: "token", Label: "Access token", Kind: "password", Optional: true, Help: "Only when the topic is protected."}},
		parse: parseNtfy, build: buildNtfy, shown: func(u *url.URL) string { return u.Host + "/" + lastFour(strings.Trim(u.Path, "/")) }},
	{Name: Gotify, Label: "Gotify", Help: "A push message by your own Gotify server.", Fields: []providers.Field{
		{Name: "server", Label: "Server", Kind: "url", Help: "A server at home without TLS needs http:// in front."},
		{Name: "token", Label: "Token of an application", Kind: "password", Help: "Made in Gotify under Apps."}},
		parse: parseGotify, build: buildGotify, shown: func(u *url.URL) string { return u.Host + "/" + lastFour(u.Path[strings.LastIndexByte(u.Path, '/')+1:]) }},
	{Name: Discord, Label: "Discord", Help: "A message in a Discord channel of yours.", Fields: []providers.Field{
		{Name: "webhook", Label: "Webhook address", Kind: "password", Help: "In Discord: the settings of a channel, Integrations, Webhooks, Copy Webhook URL."}},
		parse: parseDiscord, build: pasted("webhook"), shown: func(u *url.URL) string { return "discord.com/" + lastFour(u.User.Username()) }},
	{Name: Telegram, Label: "Telegram", Help: "A message from a bot of yours. Make one with @BotFather, and write to it once.", Fields: []providers.Field{
		{Name: "token", Label: "Token of the bot", Kind: "password"},
		{Name: "chats", Label: "Chat", Kind: "text", Help: "The number of your chat, or the @name of a channel; several with commas between."}},
		parse: parseTelegram, build: buildTelegram, shown: func(u *url.URL) string { return "Telegram, chat " + u.Query().Get("chats") }},
	{Name: Email, Label: "E-mail", Help: "A mail, sent by a mail server at which you have an account.", Fields: []providers.Field{
		{Name: "to", Label: "To", Kind: "text"},
		{Name: "from", Label: "From", Kind: "text"},
		{Name: "server", Label: "Mail server", Kind: "text", Help: "With its port, such as mail.example.org:587 or mail.example.org:465."},
		{Name: "username", Label: "Name at the mail server", Kind: "text", Optional: true},
		{Name: "password", Label: "Password at the mail server", Kind: "password", Optional: true}},
		parse: parseEmail, build: buildEmail, shown: func(u *url.URL) string { return u.Query().Get("to") + " by " + u.Hostname() }},
	{Name: Webhook, Label: "Webhook", Help: "A call of your own program, with JSON.", Fields: []providers.Field{
		{Name: "url", Label: "Address", Kind: "url"}},
		parse: parseWebhook, build: pasted("url"), shown: func(u *url.URL) string { return u.Host + "/" + lastFour(u.Path+u.RawQuery) }},
}

var webPush = Kind{Name: WebPush, Label: "Browser", parse: func(u *url.URL) (*url.URL, error) { return u, nil }, shown: shownPush}

// KindOf returns a kind by its name.
func KindOf(name string) (Kind, bool) {
	i := slices.IndexFunc(Kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return webPush, name == WebPush
	}
	return Kinds[i], true
}

var schemes = map[string]string{"ntfy": Ntfy, "gotify": Gotify, "discord": Discord, "telegram": Telegram, "smtp": Email, "smtps": Email,
	"generic": Webhook, "generic+http": Webhook, "generic+https": Webhook}

const beginnings = "It begins with ntfy://, gotify://, discord://, telegram://, smtp:// or smtps://, or with https:// for a webhook."

// Parse reads the URL of a channel and returns its kind and the form in which it is kept. kind says what an address that
// begins with http:// or https:// means; empty: what it looks like. Its errors repeat nothing of the URL.
func Parse(text, kind string) (string, string, error) {
	text = strings.TrimSpace(text)
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return "", "", wrong("This is not the address of a channel. " + beginnings)
	}
	own, known := schemes[strings.ToLower(u.Scheme)]
	switch {
	case known && kind != "" && kind != own:
		return "", "", wrong("This is the address of another kind of channel than the one that you have chosen.")
	case known:
		kind = own
	case u.Scheme != "http" && u.Scheme != "https":
		return "", "", wrong("Reprise does not know this kind of address. " + beginnings)
	case kind == "":
		kind = guess(u)
	}
	k, ok := KindOf(kind)
	if !ok || kind == WebPush {
		return "", "", wrong("There is no such kind of channel.")
	}
	u, err = k.parse(u)
	if err != nil {
		return "", "", err
	}
	return k.Name, u.String(), nil
}

// guess is the kind of a web address by what it looks like.
func guess(u *url.URL) string {
	switch {
	case isDiscord(u):
		return Discord
	case u.Host == "ntfy.sh":
		return Ntfy
	}
	return Webhook
}

// Build makes the URL of a channel from what was filled in.
func Build(kind string, fields map[string]string) (string, string, error) {
	k, ok := KindOf(kind)
	if !ok || k.build == nil {
		return "", "", wrong("There is no such kind of channel.")
	}
	for name, value := range fields {
		fields[name] = strings.TrimSpace(value)
	}
	for _, f := range k.Fields {
		if !f.Optional && fields[f.Name] == "" {
			return "", "", wrong("Fill in: " + f.Label + ".")
		}
	}
	text, err := k.build(fields)
	if err != nil {
		return "", "", err
	}
	return Parse(text, kind)
}

// Shown is what may be shown of a channel's URL.
func Shown(kind, text string) string {
	u, err := url.Parse(text)
	k, ok := KindOf(kind)
	if err != nil || !ok {
		return kind
	}
	return k.shown(u)
}

func pasted(field string) func(map[string]string) (string, error) {
	return func(f map[string]string) (string, error) { return f[field], nil }
}

// server reads the address of a server as people type it, and says whether its connection is not protected.
func server(text, scheme string) (*url.URL, bool, error) {
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, false, wrong("The server is not an address such as https://push.example.org.")
	}
	return &url.URL{Scheme: scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/")}, u.Scheme == "http", nil
}

// plainHTTP says whether a channel's URL asks for an unprotected connection, in one of the ways that are in use.
func plainHTTP(u *url.URL) bool {
	q := u.Query()
	for name := range q {
		if strings.EqualFold(name, "disabletls") && strings.EqualFold(q.Get(name), "yes") {
			return true
		}
	}
	return strings.EqualFold(q.Get("scheme"), "http")
}

// web is the address at which a channel's server is called.
func web(u *url.URL, path string) string {
	scheme := "https"
	if plainHTTP(u) {
		scheme = "http"
	}
	return (&url.URL{Scheme: scheme, Host: u.Host, Path: path}).String()
}

// kept is a URL as it is kept: with no more than what counts.
func kept(scheme string, user *url.Userinfo, host, path string, plain bool) *url.URL {
	u := &url.URL{Scheme: scheme, User: user, Host: host, Path: path}
	if plain {
		u.RawQuery = "scheme=http"
	}
	return u
}

var topicForm = regexp.MustCompile(`^[-_A-Za-z0-9]{1,64}$`)

func parseNtfy(u *url.URL) (*url.URL, error) {
	topic := strings.Trim(u.Path, "/")
	if !topicForm.MatchString(topic) {
		return nil, wrong("The address of an ntfy topic ends in its name: letters, digits, - and _, at most 64 of them.")
	}
	return kept("ntfy", u.User, u.Host, "/"+topic, u.Scheme == "http" || plainHTTP(u)), nil
}

func buildNtfy(f map[string]string) (string, error) {
	u, plain, err := server(cmp.Or(f["server"], "https://ntfy.sh"), "ntfy")
	if err != nil {
		return "", err
	}
	if u.Path != "" {
		return "", wrong("The server of ntfy is an address without a path, such as https://ntfy.example.org.")
	}
	var user *url.Userinfo
	if f["token"] != "" {
		user = url.UserPassword("", f["token"])
	}
	if !topicForm.MatchString(f["topic"]) {
		return "", wrong("A topic of ntfy is made of letters, digits, - and _, at most 64 of them.")
	}
	return kept("ntfy", user, u.Host, "/"+f["topic"], plain).String(), nil
}

func parseGotify(u *url.URL) (*url.URL, error) {
	token := u.Path[strings.LastIndexByte(u.Path, '/')+1:]
	if u.Scheme != "gotify" || token == "" {
		return nil, wrong("The address of Gotify is gotify://, its server, and after a / the token of an application.")
	}
	return kept("gotify", nil, u.Host, u.Path, plainHTTP(u)), nil
}

func buildGotify(f map[string]string) (string, error) {
	u, plain, err := server(f["server"], "gotify")
	if err != nil {
		return "", err
	}
	return kept("gotify", nil, u.Host, u.Path+"/"+f["token"], plain).String(), nil
}

var (
	discordHost = regexp.MustCompile(`^(?:(?:canary|ptb)\.)?discord(?:app)?\.com$`)
	discordPath = regexp.MustCompile(`^/api/(?:v\d+/)?webhooks/(\d+)/([-_A-Za-z0-9]+)/?$`)
)

// isDiscord says whether this is the web address of a webhook at Discord. Others have addresses of that form, too.
func isDiscord(u *url.URL) bool {
	return u.Scheme == "https" && discordHost.MatchString(u.Host) && discordPath.MatchString(u.Path)
}

func parseDiscord(u *url.URL) (*url.URL, error) {
	if isDiscord(u) {
		m := discordPath.FindStringSubmatch(u.Path)
		return &url.URL{Scheme: "discord", User: url.User(m[2]), Host: m[1]}, nil
	}
	if u.Scheme != "discord" || u.User.Username() == "" || strings.Trim(u.Host, "0123456789") != "" {
		return nil, wrong("The address of a Discord webhook begins with https://discord.com/api/webhooks/, or is discord://TOKEN@NUMBER.")
	}
	return &url.URL{Scheme: "discord", User: url.User(u.User.Username()), Host: u.Host}, nil
}

func parseTelegram(u *url.URL) (*url.URL, error) {
	secret, _ := u.User.Password()
	chats := cmp.Or(u.Query().Get("chats"), u.Query().Get("channels"))
	if u.Scheme != "telegram" || u.User.Username() == "" || secret == "" || chats == "" {
		return nil, wrong("The address of Telegram is telegram://TOKEN@telegram?chats=NUMBER.")
	}
	return &url.URL{Scheme: "telegram", User: u.User, Host: "telegram", RawQuery: url.Values{"chats": {chats}}.Encode()}, nil
}

func buildTelegram(f map[string]string) (string, error) {
	id, secret, ok := strings.Cut(f["token"], ":")
	if !ok || id == "" || secret == "" {
		return "", wrong("The token of a bot is a number, a colon and a long word, as @BotFather has given it.")
	}
	u := url.URL{Scheme: "telegram", User: url.UserPassword(id, secret), Host: "telegram", RawQuery: url.Values{"chats": {strings.ReplaceAll(f["chats"], " ", "")}}.Encode()}
	return u.String(), nil
}

func parseWebhook(u *url.URL) (*url.URL, error) {
	scheme, _ := strings.CutPrefix(strings.ToLower(u.Scheme), "generic+")
	to := *u
	to.Scheme, to.Fragment = scheme, ""
	if scheme == "generic" {
		to.Scheme = "https"
		q := to.Query()
		if plainHTTP(u) {
			to.Scheme = "http"
		}
		maps.DeleteFunc(q, func(name string, _ []string) bool { return strings.EqualFold(name, "disabletls") })
		to.RawQuery = q.Encode()
	}
	return &to, nil
}
