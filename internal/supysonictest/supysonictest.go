// Package supysonictest starts a real Subsonic server for tests: Debian's Supysonic, on loopback, with a few generated
// files as its music. It implements API 1.10.2: it refuses token authentication with code 10, and createPlaylist
// returns nothing.
//
// If the server is not installed, the test fails and says what to install. No test is skipped.
package supysonictest

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"reprise/internal/childtest"
)

// readyWithin is how long a server may take to start, including its music. It is long because other tests may use the
// machine.
const readyWithin = 2 * time.Minute

const needs = "This test needs the Debian packages supysonic python3-waitress ffmpeg (apt-get install them)."

// Titles are the titles of the tracks on every server, in album order. The artist is "The Tones", the album "Test
// Signals".
var Titles = []string{"Low", "Middle", "High"}

// Server is one server with one user and the tracks of [Titles]. It stops when its test ends.
type Server struct {
	URL      string
	Username string
	Password string

	t    testing.TB
	env  []string
	stop context.CancelFunc
	done chan struct{}
}

// Start creates the music, adds the user, scans the music, and returns when the server answers.
func Start(t testing.TB) *Server {
	t.Helper()
	var songs []Song
	for _, title := range Titles {
		songs = append(songs, Song{Title: title, Artist: "The Tones", Album: "Test Signals", Length: time.Second})
	}
	return StartWith(t, songs)
}

// StartWith is Start with other music, in the order of its tracks. Each file is a second of silence whose header tells
// the song's length.
func StartWith(t testing.TB, songs []Song) *Server {
	t.Helper()
	return StartScrobbling(t, songs, LastFM{})
}

// LastFM is how a server scrobbles to Last.fm, whose address it knows by heart.
type LastFM struct {
	Key, Secret string   // of its API; without, it does not scrobble
	Env         []string // such as the proxy through which it calls
}

// StartScrobbling is StartWith for a server that scrobbles once its user has linked an account on its pages.
func StartScrobbling(t testing.TB, songs []Song, to LastFM) *Server {
	t.Helper()
	for _, program := range []string{"supysonic-server", "supysonic-cli", "ffmpeg"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%s is not installed. %s", program, needs)
		}
	}
	home := t.TempDir()
	s := &Server{
		Username: "anna", Password: "correct horse ü", t: t, done: make(chan struct{}),
		env: append(os.Environ(), "HOME="+home, "TMPDIR="+home, "PYTHONDONTWRITEBYTECODE=1", "PYTHONUTF8=1"),
	}
	s.env = append(s.env, to.Env...)
	music := filepath.Join(home, "music")
	if err := prepare(home, music, to); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), readyWithin)
	defer cancel()
	makeSongs(ctx, t, music, songs)
	s.cli(ctx, "user", "add", s.Username, "-p", s.Password)
	s.cli(ctx, "folder", "add", "music", music)
	s.cli(ctx, "folder", "scan", "--foreground", "music")
	s.run(ctx)
	return s
}

func prepare(home, music string, to LastFM) error {
	if err := os.Mkdir(music, 0o700); err != nil {
		return err
	}
	conf := "[base]\ndatabase_uri = sqlite:///" + home + "/supysonic.db\n" +
		"[webapp]\ncache_dir = " + home + "/cache\nmount_webui = off\n" +
		"[daemon]\nsocket = " + home + "/supysonic.sock\nrun_watcher = off\n"
	if to.Key != "" {
		conf = strings.Replace(conf, "mount_webui = off", "mount_webui = on", 1) +
			"[lastfm]\napi_key = " + to.Key + "\nsecret = " + to.Secret + "\n"
	}
	return os.WriteFile(filepath.Join(home, ".supysonic"), []byte(conf), 0o600)
}

func (s *Server) cli(ctx context.Context, args ...string) {
	s.t.Helper()
	cmd := exec.CommandContext(ctx, "supysonic-cli", args...)
	cmd.Env = s.env
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("supysonic-cli %s: %v: %s", strings.Join(args[:2], " "), err, out)
	}
}

// run starts the server on a free port. If another program takes the port meanwhile, it tries another one.
func (s *Server) run(ctx context.Context) {
	s.t.Helper()
	for range 5 {
		_, port, _ := net.SplitHostPort(childtest.Address(s.t))
		serverCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
		cmd := exec.CommandContext(serverCtx, "supysonic-server", "-S", "waitress", "-h", "127.0.0.1", "-p", port)
		cmd.Env = s.env
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		childtest.Tie(cmd, syscall.SIGKILL)
		if err := cmd.Start(); err != nil {
			stop()
			s.t.Fatalf("supysonic-server: %v", err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = cmd.Wait() // it ends when Stop cancels its context
		}()
		if answers(ctx, "127.0.0.1:"+port, done) {
			s.URL, s.stop, s.done = "http://127.0.0.1:"+port, stop, done
			s.t.Cleanup(s.Stop)
			return
		}
		stop()
		<-done
		s.t.Logf("supysonic-server did not come up on port %s: %s", port, out.String())
	}
	s.t.Fatal("supysonic-server did not come up. " + needs)
}

// answers waits until a Subsonic server answers at addr, and returns false if the process or ctx ends before. What else
// listens there has taken the port, and the process ends soon.
func answers(ctx context.Context, addr string, done <-chan struct{}) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	client := http.Client{Timeout: readyWithin}
	for {
		if resp, err := client.Get("http://" + addr + "/rest/ping.view"); err == nil {
			said, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err == nil && strings.Contains(string(said), "subsonic-response") {
				return true
			}
		}
		select {
		case <-tick.C:
		case <-done:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// Stop kills the server, so that its port refuses connections.
func (s *Server) Stop() {
	s.stop()
	<-s.done
}

// SetPassword changes the user's password at the server. It does not change s.Password.
func (s *Server) SetPassword(password string) {
	s.t.Helper()
	s.cli(s.t.Context(), "user", "changepass", s.Username, "-p", password)
}

// CreatePlaylist creates a playlist of the tracks with these titles through the Subsonic API.
func (s *Server) CreatePlaylist(name string, titles ...string) {
	s.t.Helper()
	params := url.Values{"name": {name}}
	for _, title := range titles {
		params.Add("songId", s.id(title))
	}
	s.api("createPlaylist", params, nil)
}

// ReplacePlaylist gives the first playlist of a name other songs.
func (s *Server) ReplacePlaylist(name string, titles ...string) {
	s.t.Helper()
	for _, p := range s.listing() {
		if p.Name == name {
			params := url.Values{"playlistId": {p.ID}}
			for _, title := range titles {
				params.Add("songId", s.id(title))
			}
			s.api("createPlaylist", params, nil)
			return
		}
	}
}

// Scrobble tells the server through the Subsonic API that a track is being played, or was if it is done.
func (s *Server) Scrobble(title string, done bool) {
	s.t.Helper()
	s.api("scrobble", url.Values{"id": {s.id(title)}, "submission": {strconv.FormatBool(done)}}, nil)
}

// id returns the id of the track with a title.
func (s *Server) id(title string) string {
	s.t.Helper()
	var found struct {
		Response struct {
			Result struct {
				Song []struct {
					ID string `json:"id"`
				} `json:"song"`
			} `json:"searchResult3"`
		} `json:"subsonic-response"`
	}
	s.api("search3", url.Values{"query": {title}}, &found)
	if n := len(found.Response.Result.Song); n != 1 {
		s.t.Fatalf("the server has %d tracks %q", n, title)
	}
	return found.Response.Result.Song[0].ID
}

// Playlist is a playlist on the server.
type Playlist struct {
	Name   string
	Titles []string
}

// Named returns the playlists with that name.
func (s *Server) Named(name string) (named []Playlist) {
	s.t.Helper()
	for _, p := range s.AllPlaylists() {
		if p.Name == name {
			named = append(named, p)
		}
	}
	return named
}

// entry is a playlist or a song in an answer.
type entry struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Title string `json:"title"`
}

// listing returns every playlist of the user, without its songs.
func (s *Server) listing() []entry {
	s.t.Helper()
	var listing struct {
		Response struct {
			Playlists struct {
				Playlist []entry `json:"playlist"`
			} `json:"playlists"`
		} `json:"subsonic-response"`
	}
	s.api("getPlaylists", url.Values{}, &listing)
	return listing.Response.Playlists.Playlist
}

// AllPlaylists returns every playlist of the user, through the Subsonic API.
func (s *Server) AllPlaylists() (all []Playlist) {
	s.t.Helper()
	for _, p := range s.listing() {
		var one struct {
			Response struct {
				Playlist struct {
					Entry []entry `json:"entry"`
				} `json:"playlist"`
			} `json:"subsonic-response"`
		}
		s.api("getPlaylist", url.Values{"id": {p.ID}}, &one)
		list := Playlist{Name: p.Name}
		for _, t := range one.Response.Playlist.Entry {
			list.Titles = append(list.Titles, t.Title)
		}
		all = append(all, list)
	}
	return all
}

func (s *Server) api(method string, params url.Values, v any) {
	s.t.Helper()
	for k, value := range map[string]string{"u": s.Username, "p": s.Password, "c": "test", "v": "1.10.2",
		"f": "json"} {
		params.Set(k, value)
	}
	resp, err := http.PostForm(s.URL+"/rest/"+method+".view", params)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(body), `"ok"`) {
		s.t.Fatalf("%s: %v: %s", method, err, body)
	}
	if v == nil {
		return
	}
	if err := json.Unmarshal(body, v); err != nil {
		s.t.Fatal(err)
	}
}
