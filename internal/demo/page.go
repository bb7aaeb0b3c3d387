package demo

import (
	"net/http"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"reprise/internal/words"
)

// Show answers a request with a page of the main program, which has this component in it.
type Show = func(rw http.ResponseWriter, r *http.Request, page templ.Component)

var displayNames = map[string]string{
	Spotify:      "Spotify",
	LastFM:       "Last.fm",
	ListenBrainz: "ListenBrainz",
	Navidrome:    "Navidrome",
	YouTube:      "YouTube",
	MusicBrainz:  "MusicBrainz",
	FanartTV:     "Fanart.tv",
	OpenAI:       "OpenAI",
}

// Handler returns the page with the switches, for the main program to serve below prefix ("/demo"), behind its own
// checks of origin and session, and to show within its own frame. It answers GET prefix, POST prefix/switch (provider,
// mode), POST prefix/player (name, mode) and POST prefix/play (home=1 for Navidrome, phone=1 for Last.fm, like=1 for a
// like on YouTube), each with a redirect to the page, POST prefix/reset with a page that leads there, and GET
// prefix/state, the same as JSON for tests of the built program.
func (w *World) Handler(prefix string, show Show) http.Handler {
	prefix = strings.TrimSuffix(prefix, "/")
	mux := http.NewServeMux()
	page := func(rw http.ResponseWriter, r *http.Request) { show(rw, r, demoPage(w.view(prefix))) }
	mux.HandleFunc("GET "+prefix, page)
	mux.HandleFunc("GET "+prefix+"/{$}", page)
	mux.HandleFunc("GET "+prefix+"/state", w.state)
	mux.HandleFunc("POST "+prefix+"/switch", func(rw http.ResponseWriter, r *http.Request) {
		if err := w.Switch(r.PostFormValue("provider"), Mode(r.PostFormValue("mode"))); err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		http.Redirect(rw, r, prefix+"#"+r.PostFormValue("provider"), http.StatusSeeOther)
	})
	mux.HandleFunc("POST "+prefix+"/player", func(rw http.ResponseWriter, r *http.Request) {
		if err := w.Break(r.PostFormValue("name"), PlayerMode(r.PostFormValue("mode"))); err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		http.Redirect(rw, r, prefix+"#"+r.PostFormValue("name"), http.StatusSeeOther)
	})
	if w.opts.Reset != nil {
		mux.HandleFunc("POST "+prefix+"/reset", func(rw http.ResponseWriter, r *http.Request) {
			// A redirect could still reach the present server. The page that follows a second later cannot.
			rw.Header().Set("Refresh", "1; url="+prefix+"/")
			rw.Header().Set("Connection", "close")
			show(rw, r, resetPage())
			w.opts.Reset()
		})
	}
	mux.HandleFunc("POST "+prefix+"/pace", func(rw http.ResponseWriter, r *http.Request) {
		w.quickly.Store(r.PostFormValue("quickly") == "1")
		http.Redirect(rw, r, prefix+"#play", http.StatusSeeOther)
	})
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

// button switches a service.
type button struct {
	Mode    Mode
	Pressed bool
	about
}

// upstream is a service on the page.
type upstream struct {
	Name, Display, URL string
	Mode               Mode
	Now                about
	Calls              int
	Buttons, More      []button
	MoreOpen           bool // the present mode is among those that are folded away
}

// pageView is the page.
type pageView struct {
	Prefix    string
	Upstreams []upstream
	Players   []sender // none before they have their secrets
	Modes     []about
	People    []access
	Navidrome string // address
	Messages  []Message
	Resets    bool
	Quickly   bool // somebody wants to see much happen
}

// sender is a player on the page.
type sender struct {
	Name    string
	Mode    PlayerMode
	Buttons []button
}

func (w *World) senders() (all []sender) {
	for _, name := range playerNames {
		secret, mode := w.deviceOf(name)
		if secret == "" {
			return nil
		}
		s := sender{Name: name, Mode: mode}
		for _, m := range playerModes(name) {
			s.Buttons = append(s.Buttons, button{Mode(m), m == mode, about{Label: words.Each("demo.player.", string(m)),
				Does: words.Each("demo.player_does.", string(m))}})
		}
		all = append(all, s)
	}
	return all
}

// access is what a person types in to connect.
type access struct{ Name, Password, Token string }

// usual are the modes whose buttons are always there.
var usual = []Mode{Normal, Unavailable, RateLimited, Revoked}

func (w *World) view(prefix string) pageView {
	v := pageView{Prefix: prefix, Messages: w.Mailbox.Messages(), Resets: w.opts.Reset != nil,
		Quickly:   w.quickly.Load(),
		Navidrome: w.Navidrome.URL}
	for _, name := range names {
		g := w.gates[name]
		mode, _ := g.current()
		u := upstream{Name: name, Display: displayNames[name], URL: w.url(name), Mode: mode, Now: textOf(name, mode),
			Calls: g.count()}
		for _, m := range g.modes {
			b := button{m, m == mode, textOf(name, m)}
			if slices.Contains(usual, m) {
				u.Buttons = append(u.Buttons, b)
				continue
			}
			u.More = append(u.More, b)
			u.MoreOpen = u.MoreOpen || b.Pressed
		}
		v.Upstreams = append(v.Upstreams, u)
	}
	v.Players = w.senders()
	for _, m := range Modes {
		v.Modes = append(v.Modes, textOf("", m))
	}
	for _, name := range []string{Alice, Bob} {
		v.People = append(v.People, access{name, w.Navidrome.Password(name), w.ListenBrainz.Token(name)})
	}
	return v
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
