package demo

import (
	_ "embed"
	"html/template"
	"net/http"
	"strings"
)

//go:embed page.html
var pageHTML string

var page = template.Must(template.New("page").Parse(pageHTML))

var displayNames = map[string]string{
	Spotify:      "Spotify",
	LastFM:       "Last.fm",
	ListenBrainz: "ListenBrainz",
	Navidrome:    "Navidrome",
	YouTube:      "YouTube",
	MusicBrainz:  "MusicBrainz",
	FanartTV:     "Fanart.tv",
	OpenAI:       "Language model",
}

// Handler returns the page with the switches, for the main program to serve below prefix ("/demo"), behind its own
// checks of origin and session. It answers GET prefix, POST prefix/switch (provider, mode), POST prefix/play (home=1
// for Navidrome, phone=1 for Last.fm, like=1 for a like on YouTube) and POST prefix/reset, each of the three with a
// redirect to the page, and GET prefix/state, the same as JSON for tests of the built program.
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
	if w.opts.Reset != nil {
		mux.HandleFunc("POST "+prefix+"/reset", func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, prefix+"/", http.StatusSeeOther)
			w.opts.Reset()
		})
	}
	mux.HandleFunc("POST "+prefix+"/play", func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case r.PostFormValue("home") == "1":
			w.playAtHome()
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
		Resets            bool
	}
	data.Prefix, data.Messages, data.Resets = prefix, w.Mailbox.Messages(), w.opts.Reset != nil
	for _, name := range names {
		g := w.gates[name]
		mode, _ := g.current()
		u := upstream{
			Name:     name,
			Display:  displayNames[name],
			URL:      w.url(name),
			Now:      textOf(name, mode),
			Connects: name != MusicBrainz && name != FanartTV && name != OpenAI,
			Calls:    g.count(),
		}
		for _, m := range g.modes {
			u.Buttons = append(u.Buttons, button{m, m == mode, textOf(name, m)})
		}
		data.Upstreams = append(data.Upstreams, u)
	}
	for _, m := range Modes {
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
	return map[string]string{
		Spotify:      w.Spotify.URL,
		LastFM:       w.LastFM.URL,
		ListenBrainz: w.ListenBrainz.URL,
		Navidrome:    w.Navidrome.URL,
		YouTube:      w.YouTube.URL,
		MusicBrainz:  w.MusicBrainz.URL,
		FanartTV:     w.FanartTV.URL,
		OpenAI:       w.OpenAI.URL,
	}[provider]
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
	o[YouTube].(object)["keys"], o[YouTube].(object)["key_calls"] = w.YouTube.Keys, w.YouTube.keyCalls()
	o[FanartTV].(object)["keys"], o[FanartTV].(object)["key_calls"] = w.FanartTV.Keys, w.FanartTV.keyCalls()
	o[OpenAI].(object)["keys"], o[OpenAI].(object)["model"] = w.OpenAI.Keys, w.OpenAI.Model
	o[ListenBrainz].(object)["tokens"] = object{Alice: w.ListenBrainz.Token(Alice), Bob: w.ListenBrainz.Token(Bob)}
	o[Navidrome].(object)["passwords"] = object{Alice: w.Navidrome.Password(Alice), Bob: w.Navidrome.Password(Bob)}
	o["messages"] = w.Mailbox.Messages()
	writeJSON(rw, http.StatusOK, o)
}
