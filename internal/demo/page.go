package demo

import (
	_ "embed"
	"html/template"
	"net/http"
	"strings"
)

// about is a mode in the words of the page: what it does, and what one should then see in Reprise.
type about struct{ Label, Shape, Does, See string }

var modeText = map[Mode]about{
	Normal:       {"Normal", "●", "Answers as it should.", "The connection is healthy, and plays arrive."},
	Unavailable:  {"Out of order", "▲", "Answers every call with 503.", "The connection waits and tries again, later and later. Nobody has to act, no alert appears."},
	RateLimited:  {"Rate limited", "◆", "Answers every call with 429 and says how long to wait.", "The connection is held until exactly that time. “Sync now” is refused with the time."},
	Revoked:      {"Revoked", "✕", "Has ended what was authorized, for good.", "One alert with one button. Nothing is called until you have connected anew, which also sets this back to normal."},
	ReadOnly:     {"Writing refused", "◐", "Reading works, submitting is answered with 401.", "Plays arrive; what is to be sent is parked, and one alert asks for a new token."},
	WrongAccount: {"Other account", "◇", "The browser is signed in as Bob.", "After connecting as Bob, Reprise names both accounts and asks before anything changes."},
	Hidden:       {"Listens hidden", "◌", "Does not let recent listens be read.", "One alert says which privacy setting to change. After “Try again” it goes on."},
	DailyLimit:   {"Daily limit", "◒", "Takes no more plays today.", "Plays arrive; what is to be sent waits until midnight UTC, and nothing is lost."},
	KeySpent:     {"First key spent", "◓", "Has no quota left for the first API key.", "Nothing changes: the same request goes out with the second key. The settings page shows that the first cools until midnight Pacific time."},
	KeysSpent:    {"All keys spent", "◉", "Has no quota left for any API key.", "The connection is held until midnight Pacific time, also after you set this back, and the administrator is told once."},
	KeyInvalid:   {"Last key refused", "⊗", "Does not know the last API key.", "Nothing changes: the other keys are used. The settings page shows which one is refused."},
	Suspended:    {"Key suspended", "⊘", "Refuses the API key of this installation.", "One alert for the administrator; everyone else reads that the administrator must fix it."},
	Portal:       {"Captive portal", "▢", "Answers 200 with a web page that is not from the service.", "The connection waits, as in an outage."},
	Hang:         {"Hanging", "…", "Accepts every call and never answers.", "A sync ends at its time limit, and the connection waits."},
	Slow:         {"Slow", "◔", "Answers after a few seconds.", "Everything works, only later."},
	Cut:          {"Cut off", "✂", "Breaks the connection in the middle of every answer.", "The connection waits. What had arrived before is kept, nothing is counted as read."},
}

// factsText is modeText for the services that are asked for facts about music, on behalf of the installation, where
// something else is to be seen.
var factsText = map[Mode]about{
	Normal:      {"Normal", "●", "Answers as it should.", "Artists, albums and tracks get their facts and pictures, one after the other."},
	Unavailable: {"Out of order", "▲", "Answers every call with 503.", "The queue waits and goes on later. Nobody has to act, no alert appears."},
	RateLimited: {"Rate limited", "◆", "Answers every call with 429 and says how long to wait.", "The queue waits until exactly that time."},
	KeySpent:    {"First key limited", "◓", "Answers the first API key with 429.", "Nothing changes: the same request goes out with the second key. The settings page shows until when the first cools."},
	Portal:      {"Captive portal", "▢", "Answers 200 with a web page that is not from the service.", "The queue waits, as in an outage."},
	Hang:        {"Hanging", "…", "Accepts every call and never answers.", "A call ends at its time limit, and the queue waits."},
	Cut:         {"Cut off", "✂", "Breaks the connection in the middle of every answer.", "The queue waits. Nothing is counted as known."},
}

// digestText is modeText for the language model, where something else is to be seen. A digest is called for when it is
// due, or asked for on its page.
var digestText = map[Mode]about{
	Normal:      {"Normal", "●", "Answers as it should.", "The last week's digest stands on its page. Delete it there to have it written once more."},
	Unavailable: {"Out of order", "▲", "Answers every call with 503.", "A digest that is asked for waits, and comes later. Nobody has to act, no alert appears."},
	RateLimited: {"Rate limited", "◆", "Answers every call with 429 and says how long to wait.", "A digest that is asked for waits until exactly that time."},
	KeySpent:    {"First key spent", "◓", "Has no credit left for the first API key.", "Nothing changes: the same request goes out with the second key. The settings page shows that the first cools for a day."},
	KeysSpent:   {"All keys spent", "◉", "Has no credit left for any API key.", "A digest that is asked for is held for a day, also after you set this back, and the administrator is told once."},
	Portal:      {"Captive portal", "▢", "Answers 200 with a web page that is not from the service.", "A digest that is asked for waits, as in an outage."},
	Hang:        {"Hanging", "…", "Accepts every call and never answers.", "The call ends after 30 seconds, and the digest waits."},
	Cut:         {"Cut off", "✂", "Breaks the connection in the middle of every answer.", "A digest that is asked for waits."},
}

// textOf is what the page says of a mode of an upstream.
func textOf(provider string, m Mode) about {
	switch {
	case provider == MusicBrainz && m == Unavailable:
		return about{"Throttling", "▲", "Answers every call with 503, which there means too many calls, and says how long to wait.", "The queue waits until exactly that time."}
	case provider == MusicBrainz, provider == FanartTV:
		if text, ok := factsText[m]; ok {
			return text
		}
	case provider == OpenAI:
		if text, ok := digestText[m]; ok {
			return text
		}
	}
	return modeText[m]
}

//go:embed page.html
var pageHTML string

var page = template.Must(template.New("page").Parse(pageHTML))

var displayNames = map[string]string{Spotify: "Spotify", LastFM: "Last.fm", ListenBrainz: "ListenBrainz", Navidrome: "Navidrome", YouTube: "YouTube",
	MusicBrainz: "MusicBrainz", FanartTV: "Fanart.tv", OpenAI: "Language model"}

// Handler returns the page with the switches, for the main program to serve below prefix ("/demo"), behind its own
// checks of origin and session. It answers GET prefix, POST prefix/switch (provider, mode), POST prefix/play (home=1 for
// Navidrome, phone=1 for Last.fm, like=1 for a like on YouTube), each of the two with a redirect to the page, and GET prefix/state, the same as JSON for tests of the built
// program.
func (w *World) Handler(prefix string) http.Handler {
	prefix = strings.TrimSuffix(prefix, "/")
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+prefix, func(rw http.ResponseWriter, _ *http.Request) { w.page(rw, prefix) })
	mux.HandleFunc("GET "+prefix+"/{$}", func(rw http.ResponseWriter, _ *http.Request) { w.page(rw, prefix) })
	mux.HandleFunc("GET "+prefix+"/state", w.state)
	mux.HandleFunc("POST "+prefix+"/switch", func(rw http.ResponseWriter, r *http.Request) {
		if err := w.Switch(r.PostFormValue("provider"), Mode(r.PostFormValue("mode"))); err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		http.Redirect(rw, r, prefix+"#"+r.PostFormValue("provider"), http.StatusSeeOther)
	})
	mux.HandleFunc("POST "+prefix+"/play", func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case r.PostFormValue("home") == "1":
			w.PlayAtHome()
		case r.PostFormValue("phone") == "1":
			w.PlayOnPhone()
		case r.PostFormValue("like") == "1":
			w.Like()
		default:
			w.Play()
		}
		http.Redirect(rw, r, prefix+"#play", http.StatusSeeOther)
	})
	return mux
}

func (w *World) page(rw http.ResponseWriter, prefix string) {
	type button struct {
		Mode    Mode
		Pressed bool
		about
	}
	type upstream struct {
		Name, Display, URL string
		Now                about
		Connects           bool
		Calls              int
		Buttons            []button
	}
	var data struct {
		Prefix            string
		Upstreams         []upstream
		Modes             []about
		Passwords, Tokens map[string]string
		Messages          []Message
	}
	data.Prefix, data.Messages = prefix, w.Mailbox.Messages()
	for _, name := range names {
		g := w.gates[name]
		mode, _ := g.current()
		u := upstream{Name: name, Display: displayNames[name], URL: w.url(name), Now: textOf(name, mode), Connects: name != MusicBrainz && name != FanartTV && name != OpenAI, Calls: g.count()}
		for _, m := range g.modes {
			u.Buttons = append(u.Buttons, button{m, m == mode, textOf(name, m)})
		}
		data.Upstreams = append(data.Upstreams, u)
	}
	for _, m := range []Mode{Normal, Unavailable, RateLimited, Revoked, WrongAccount, ReadOnly, Hidden, DailyLimit, Suspended, KeySpent, KeysSpent, KeyInvalid, Portal, Hang, Slow, Cut} {
		data.Modes = append(data.Modes, modeText[m])
	}
	data.Passwords, data.Tokens = map[string]string{}, map[string]string{}
	for _, name := range []string{Alice, Bob} {
		data.Passwords[name], data.Tokens[name] = w.Navidrome.Password(name), w.ListenBrainz.Token(name)
	}
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	rw.Header().Set("Cache-Control", "no-store")
	_ = page.Execute(rw, data) // an error: the client went first
}

func (w *World) url(provider string) string {
	return map[string]string{Spotify: w.Spotify.URL, LastFM: w.LastFM.URL, ListenBrainz: w.ListenBrainz.URL, Navidrome: w.Navidrome.URL, YouTube: w.YouTube.URL,
		MusicBrainz: w.MusicBrainz.URL, FanartTV: w.FanartTV.URL, OpenAI: w.OpenAI.URL}[provider]
}

func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.total
}

// state is the page for programs.
func (w *World) state(rw http.ResponseWriter, _ *http.Request) {
	o := object{}
	for _, name := range names {
		m, _ := w.gates[name].current()
		o[name] = object{"mode": m, "url": w.url(name), "calls": w.gates[name].count()}
	}
	o[Spotify].(object)["auth_url"], o[Spotify].(object)["token_url"] = w.Spotify.AuthURL, w.Spotify.TokenURL
	o[Spotify].(object)["client_id"] = w.Spotify.ClientID
	o[LastFM].(object)["auth_url"], o[LastFM].(object)["client_id"] = w.LastFM.AuthURL, w.LastFM.ClientID
	o[LastFM].(object)["client_secret"] = w.LastFM.ClientSecret
	o[YouTube].(object)["auth_url"], o[YouTube].(object)["token_url"] = w.YouTube.AuthURL, w.YouTube.TokenURL
	o[YouTube].(object)["client_id"], o[YouTube].(object)["client_secret"] = w.YouTube.ClientID, w.YouTube.ClientSecret
	o[YouTube].(object)["keys"], o[YouTube].(object)["key_calls"] = w.YouTube.Keys, w.YouTube.KeyCalls()
	o[FanartTV].(object)["keys"], o[FanartTV].(object)["key_calls"] = w.FanartTV.Keys, w.FanartTV.KeyCalls()
	o[OpenAI].(object)["keys"], o[OpenAI].(object)["model"] = w.OpenAI.Keys, w.OpenAI.Model
	o[ListenBrainz].(object)["tokens"] = object{Alice: w.ListenBrainz.Token(Alice), Bob: w.ListenBrainz.Token(Bob)}
	o[Navidrome].(object)["passwords"] = object{Alice: w.Navidrome.Password(Alice), Bob: w.Navidrome.Password(Bob)}
	o["messages"] = w.Mailbox.Messages()
	writeJSON(rw, http.StatusOK, o)
}
