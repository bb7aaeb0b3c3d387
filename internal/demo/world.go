package demo

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// The names of the upstreams.
const (
	Spotify      = "spotify"
	LastFM       = "lastfm"
	ListenBrainz = "listenbrainz"
	Navidrome    = "navidrome"
	YouTube      = "youtube"
	MusicBrainz  = "musicbrainz"
	FanartTV     = "fanarttv"
	OpenAI       = "openai"
)

var names = []string{Spotify, LastFM, ListenBrainz, Navidrome, YouTube, MusicBrainz, FanartTV, OpenAI}

// Options shape a World. The zero value is a good one.
type Options struct {
	Seed       uint64
	Plays      int              // of Alice at ListenBrainz, 4,000 by default; Bob has a tenth
	Days       int              // that the history covers, three years by default
	Now        func() time.Time // the clock, time.Now by default; read once for the history
	Live       time.Duration    // how often Alice plays a track, and likes a video every third time; 0 for never
	Quick      time.Duration    // the same while somebody wants to see it quickly; 0 for Live
	RetryAfter time.Duration    // the wait that RateLimited asks for, in whole seconds; 60 s by default
	Slow       time.Duration    // how long Slow takes, 3 s by default
	Empty      bool             // the household has no people and no music; see [World.AddPerson]
	// InProcess lets nothing listen: requests are answered by [World.RoundTrip], and the addresses are of no real
	// hosts. So a World can live in a bubble of fake time.
	InProcess bool
	Reset     func()        // lets everything begin again, when somebody presses that; nil: nobody can
	TokenLife time.Duration // of Spotify's and YouTube's access tokens, 1 h by default
}

// Play is something that was just played.
type Play struct {
	Account, Title, Artist string
	At                     time.Time
}

// World is the upstreams and the household they share.
type World struct {
	Spotify      SpotifyServer
	LastFM       LastFMServer
	ListenBrainz ListenBrainzServer
	Navidrome    NavidromeServer
	YouTube      YouTubeServer
	MusicBrainz  MusicBrainzServer
	FanartTV     FanartTVServer
	OpenAI       OpenAIServer
	Mailbox      MailboxServer

	opts    Options
	home    *household
	devices devices
	gates   map[string]*gate
	revoke  map[string]func()
	cancel  context.CancelFunc

	servers   []*http.Server
	addresses []string
	running   sync.WaitGroup // listeners and the ticker
	lively    atomic.Bool    // the upstreams take their usual time
	quickly   atomic.Bool    // somebody wants to see much happen
	conns     sync.WaitGroup // open connections; a new one is only counted while its listener runs
	once      sync.Once

	mu    sync.Mutex
	hosts map[string]*gate // with Options.InProcess; by host, also of those that only fail
}

// Start returns a running World. An error means that no port of 127.0.0.1 was free.
func Start(o Options) (*World, error) {
	o.Plays = cmp.Or(o.Plays, 4000)
	o.RetryAfter = cmp.Or(o.RetryAfter, time.Minute)
	o.Slow = cmp.Or(o.Slow, 3*time.Second)
	o.TokenLife = cmp.Or(o.TokenLife, time.Hour)
	if o.Now == nil {
		o.Now = time.Now
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &World{
		opts:   o,
		cancel: cancel,
		gates:  map[string]*gate{},
		hosts:  map[string]*gate{},
		revoke: map[string]func(){},
	}
	w.home = newHousehold(&w.opts, o.Now())
	for _, start := range []func(context.Context) error{
		w.startSpotify, w.startLastFM, w.startListenBrainz, w.startNavidrome, w.startYouTube, w.startMusicBrainz,
		w.startFanartTV, w.startOpenAI, w.startMailbox,
	} {
		if err := start(ctx); err != nil {
			w.Close()
			return nil, err
		}
	}
	if o.Live > 0 {
		n, step := 0, cmp.Or(o.Quick, o.Live)
		waited := o.Live - step // the first one comes at once
		w.running.Go(func() {
			later(ctx, step, func() {
				if waited += step; waited < o.Live && !w.quickly.Load() {
					return
				}
				waited = 0
				n++
				w.home.play(Alice, n%4 == 0, w.opts.Now())
				if n%3 == 0 {
					w.home.like(Alice, w.opts.Now())
				}
			})
		})
	}
	return w, nil
}

// Addresses returns where the simulated services are, each as host:port.
func (w *World) Addresses() []string { return w.addresses }

// usualTime is how long an upstream takes for an answer, as one over the internet, or at home, would.
var usualTime = map[string]time.Duration{
	Spotify: 62 * time.Millisecond, LastFM: 118 * time.Millisecond, ListenBrainz: 84 * time.Millisecond,
	Navidrome: 11 * time.Millisecond, YouTube: 71 * time.Millisecond, MusicBrainz: 18 * time.Millisecond,
	FanartTV: 14 * time.Millisecond, OpenAI: 940 * time.Millisecond,
}

// UsualTime returns how long an upstream takes for an answer once Lively has been called; zero for an unknown one.
func UsualTime(provider string) time.Duration { return usualTime[provider] }

// Lively lets the upstreams take their usual time for an answer, from now on. Until then they answer at once, as those
// go on to do that are asked for facts about music.
func (w *World) Lively() { w.lively.Store(true) }

// Close stops everything and returns when it has stopped. Open requests are cut off.
func (w *World) Close() {
	w.once.Do(func() {
		w.cancel()
		for _, s := range w.servers {
			_ = s.Close() // closes what can be closed; there is nobody to tell
		}
		w.running.Wait()
		w.conns.Wait()
	})
}

// serve starts an upstream and returns its base URL.
func (w *World) serve(ctx context.Context, name string, g *gate) (string, error) {
	g.usual = usualTime[name]
	if name == MusicBrainz || name == FanartTV { // the covers are to be there soon
		g.usual = 0
	}
	w.gates[name] = g
	if w.opts.InProcess {
		host := name + ".invalid"
		w.hosts[host] = g
		for _, real := range realHosts[name] {
			w.hosts[real] = g
		}
		return "http://" + host, nil
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for simulated %s: %w", name, err)
	}
	w.listen(ln, g)
	w.addresses = append(w.addresses, ln.Addr().String())
	return "http://" + ln.Addr().String(), nil
}

// listen serves h on ln until the World is closed.
func (w *World) listen(ln net.Listener, h http.Handler) {
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0), // broken connections are on purpose here
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				w.conns.Add(1)
			case http.StateClosed, http.StateHijacked:
				w.conns.Done()
			}
		},
	}
	w.servers = append(w.servers, s)
	w.running.Go(func() { _ = s.Serve(ln) }) // always http.ErrServerClosed: nothing else closes it
}

// Switch changes how an upstream behaves. An error means that there is no such upstream, or no such mode at it.
func (w *World) Switch(provider string, m Mode) error {
	g := w.gates[provider]
	if g == nil {
		return fmt.Errorf("no simulated upstream %q", provider)
	}
	if !slices.Contains(g.modes, m) {
		return fmt.Errorf("simulated %s has no mode %q", provider, m)
	}
	if m == Revoked {
		w.revoke[provider]()
	}
	g.set(m)
	return nil
}

// Calls returns the last 10,000 requests to an upstream, oldest first; with [Options.InProcess] all of them.
func (w *World) Calls(provider string) []Call {
	return w.gate(provider).list()
}

// AccountOf returns whose credentials a request to an upstream carries; empty without.
func (w *World) AccountOf(provider string, r *http.Request) string { return w.gates[provider].who(r) }

// Play lets Alice play a song at this moment, on Spotify and therefore in ListenBrainz.
func (w *World) Play() Play { return w.home.play(Alice, false, w.opts.Now()) }

// playAtHome lets Alice play a song at this moment on Navidrome, which sends it on to ListenBrainz.
func (w *World) playAtHome() Play { return w.home.play(Alice, true, w.opts.Now()) }

// PlayOnPhone lets Alice play a song at this moment on her phone, which sends it to Last.fm alone.
func (w *World) PlayOnPhone() Play { return w.home.playOnPhone(Alice, w.opts.Now()) }

// Like lets Alice like a video on YouTube at this moment.
func (w *World) Like() Play { return w.home.like(Alice, w.opts.Now()) }

// PlayOwned adds a play of Alice at Spotify now, of a track that Navidrome has too.
func (w *World) PlayOwned() Play { return w.home.playOwned(Alice, w.opts.Now()) }
