package doctor

import (
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/childtest"
	"reprise/internal/config"
	"reprise/internal/datadir"
	"reprise/internal/demo"
	"reprise/internal/library"
	"reprise/internal/players"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience/hosts"
	"reprise/internal/server"
	"reprise/internal/settings"
	"reprise/internal/store"
	"reprise/internal/store/db"
)

// checked returns what Run prints, line by line.
func checked(t testing.TB, dir string, env []string, overrides ...string) ([]string, error) {
	t.Helper()
	set := map[string]string{"data_dir": dir, "listen": "127.0.0.1:0"}
	for i := 0; i < len(overrides); i += 2 {
		set[overrides[i]] = overrides[i+1]
	}
	file := set["config"]
	delete(set, "config")
	c, err := config.Load(file, env, set, registry.Descriptions())
	var out strings.Builder
	err = Run(t.Context(), Options{Config: c, Settings: err, Dir: datadir.Dir{Path: c.DataDir},
		Hosts: hosts.Policy{AllowPrivate: true, Contact: c.Contact,
			NeedContact: []string{"listenbrainz.org"}},
		UserAgent: "Reprise/test", Known: registry.Descriptions(), Listen: server.Listen}, &out)
	return strings.Split(strings.TrimSpace(out.String()), "\n"), err
}

// household creates a data directory as a stopped server leaves it, with one person who has one connection.
func household(t testing.TB) (dir string) {
	t.Helper()
	d := datadir.Dir{Path: t.TempDir()}
	db, err := d.Open(t.Context(), store.Options{})
	require.NoError(t, err)
	u, err := db.AddUser(t.Context(), accounts.User{Name: "Person", PasswordHash: "none", Role: accounts.Admin,
		CreatedAt: time.Now()}, false)
	require.NoError(t, err)
	_, err = db.SaveConnection(t.Context(),
		library.Connection{User: u.ID, ID: "listenbrainz", AccountID: "x", CreatedAt: time.Now(),
			Credentials: library.Credentials{"token": "token"}})
	require.NoError(t, err)
	_, err = db.AddPlayer(t.Context(), players.Player{User: u.ID, Name: "Kitchen", Kind: players.Any},
		players.NewSecret(), players.Most)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	return d.Path
}

// service answers every request with an empty object, and with a clock that is ahead of ours.
func service(t testing.TB, ahead time.Duration, secure bool) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s.URL
}

// says requires a line of that level that contains the words.
func says(t testing.TB, lines []string, l level, words string) {
	t.Helper()
	for _, line := range lines {
		if strings.HasPrefix(line, strings.TrimSpace(string(l))) && strings.Contains(line, words) {
			return
		}
	}
	require.Fail(t, "nothing said so", "%s%s\n\n%s", l, words, strings.Join(lines, "\n"))
}

// fingerprints returns a summary of the contents, mode and time of every file below a folder.
func fingerprints(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		require.NoError(t, err)
		sum := ""
		if !d.IsDir() {
			sum = fmt.Sprintf("%x", sha256.Sum256(read(t, path)))
		}
		all[path] = fmt.Sprint(info.Mode(), info.ModTime().UnixNano(), sum)
		return nil
	}))
	return all
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

func TestACheckSaysWhatIsWrongWithKeys(t *testing.T) {
	t.Parallel()
	w, err := demo.Start(demo.Options{Plays: 60})
	require.NoError(t, err)
	t.Cleanup(w.Close)
	env := []string{"REPRISE_PROVIDERS_LISTENBRAINZ_API_URL=" + w.ListenBrainz.URL,
		"REPRISE_PROVIDERS_LASTFM_API_URL=" + w.LastFM.URL,
		"REPRISE_PROVIDERS_LASTFM_CLIENT_ID=" + w.LastFM.ClientID,
		"REPRISE_PROVIDERS_LASTFM_CLIENT_SECRET=not-the-secret",
		"REPRISE_PROVIDERS_YOUTUBE_API_URL=" + w.YouTube.URL,
		"REPRISE_PROVIDERS_YOUTUBE_TOKEN_URL=" + w.YouTube.TokenURL,
		"REPRISE_PROVIDERS_YOUTUBE_CLIENT_ID=" + w.YouTube.ClientID,
		"REPRISE_PROVIDERS_YOUTUBE_CLIENT_SECRET=not-the-secret",
		"REPRISE_PROVIDERS_YOUTUBE_KEYS=nobody-knows-this-key",
		"REPRISE_PROVIDERS_FANARTTV_API_URL=" + w.FanartTV.URL, "REPRISE_PROVIDERS_FANARTTV_KEYS=nobody-knows-this-too",
		"REPRISE_PROVIDERS_SPOTIFY_API_URL=" + w.Spotify.URL,
		"REPRISE_PROVIDERS_SPOTIFY_TOKEN_URL=" + w.Spotify.TokenURL, "REPRISE_PROVIDERS_SPOTIFY_CLIENT_ID=nobody",
		"REPRISE_PROVIDERS_SPOTIFY_CLIENT_SECRET=not-the-secret"}
	lines, err := checked(t, t.TempDir(), env)
	require.ErrorIs(t, err, ErrProblems)
	for _, words := range []string{"Spotify's client id and secret: refused. Copy both again",
		"Last.fm's API key and shared secret: refused. This server's shared secret",
		"YouTube's client ID and secret: refused",
		"YouTube's key …-key: refused", "Fanart.tv's key …-too: refused"} {
		says(t, lines, problem, words)
	}
	require.NotContains(t, strings.Join(lines, "\n"), "not-the-secret")
	require.NotContains(t, strings.Join(lines, "\n"), "nobody-knows")
}

func TestACheckNamesTheStepThatFails(t *testing.T) {
	t.Parallel()
	closed, behind := "http://"+childtest.Address(t), service(t, 2*time.Minute, false)
	env := []string{"REPRISE_CONTACT=me@example.org", "REPRISE_PROVIDERS_SPOTIFY_CLIENT_ID=id",
		"REPRISE_PROVIDERS_SPOTIFY_API_URL=http://x.invalid",
		"REPRISE_PROVIDERS_SPOTIFY_TOKEN_URL=" + behind, "REPRISE_PROVIDERS_LISTENBRAINZ_API_URL=" + closed,
		"REPRISE_PROVIDERS_MUSICBRAINZ_API_URL=" + service(t, 0, true),
		"REPRISE_PROVIDERS_FANARTTV_KEYS=a-key-of-fanart",
		"REPRISE_PROVIDERS_FANARTTV_API_URL=" + strings.Replace(behind, "http:", "https:", 1)}
	lines, err := checked(t, t.TempDir(), env)
	require.ErrorIs(t, err, ErrProblems)
	for _, words := range []string{"Reprise can't reach Spotify: the name x.invalid can't be resolved",
		"Reprise can't reach ListenBrainz: nothing is listening on that port",
		"Reprise can't reach MusicBrainz: the certificate of 127.0.0.1",
		"this machine doesn't trust the authority that signed it", "Reprise can't reach Fanart.tv: 127.0.0.1",
		"doesn't use TLS there", " behind. Turn on network time (NTP)"} {
		says(t, lines, problem, words)
	}
	require.Regexp(t, `This machine's clock is (1m59|2m0|2m1)s behind`, strings.Join(lines, "\n"))
	says(t, lines, fine, "Spotify answers at "+strings.TrimPrefix(behind, "http://"))
	says(t, lines, off, "Last.fm isn't set up")
	says(t, lines, warn, "Fanart.tv's key …nart: couldn't be checked, because Reprise can't reach the service")
}

func TestACheckWarnsOfAFullDisk(t *testing.T) {
	t.Parallel()
	for free, want := range map[int64]level{49 << 20: problem, 50 << 20: warn, 499 << 20: warn, 500 << 20: fine} {
		require.Equal(t, want, room(free).level)
	}
}

func TestACheckKnowsWhatCanBeRegistered(t *testing.T) {
	t.Parallel()
	here := service(t, 0, false)
	for _, c := range []struct {
		base  string
		level level
		words string
	}{
		{"http://localhost:8420", warn, `Spotify doesn't accept addresses with "localhost". ` +
			"Set base_url to http://127.0.0.1:8420"},
		{"http://music.example.org", warn, "Spotify accepts http addresses only for this machine itself"},
		{"http://music.example.org", fine, "For Last.fm, register exactly this at " +
			"https://www.last.fm/api/accounts, as callback URL: http://music.example.org/connect/lastfm/callback"},
		{"http://[::1]:8420", fine, "redirect URI: http://[::1]:8420/connect/spotify/callback"},
		{"http://localhost:8420", fine, "redirect URI: http://localhost:8420/connect/youtube/callback"},
		{"https://x.invalid", fine, "redirect URI: https://x.invalid/connect/spotify/callback"},
		{"https://x.invalid", warn, "Reprise can't reach base_url https://x.invalid from here: " +
			"the name x.invalid can't be resolved"},
	} {
		env := []string{"REPRISE_BASE_URL=" + c.base}
		for _, name := range []string{"SPOTIFY", "LASTFM", "YOUTUBE"} {
			env = append(env, "REPRISE_PROVIDERS_"+name+"_CLIENT_ID=id", "REPRISE_PROVIDERS_"+name+"_API_URL="+here)
		}
		env = append(env, "REPRISE_PROVIDERS_SPOTIFY_TOKEN_URL="+here, "REPRISE_PROVIDERS_YOUTUBE_TOKEN_URL="+here,
			"REPRISE_PROVIDERS_LISTENBRAINZ_API_URL="+here)
		lines, err := checked(t, t.TempDir(), env)
		require.NoError(t, err)
		says(t, lines, c.level, c.words)
	}
}

func TestACheckOfADataDirectoryInTrouble(t *testing.T) {
	t.Parallel()
	here := service(t, 0, false)
	env := []string{"REPRISE_CONTACT=me@example.org", "REPRISE_PROVIDERS_LISTENBRAINZ_API_URL=" + here,
		"REPRISE_PROVIDERS_MUSICBRAINZ_API_URL=" + here}
	for _, c := range []struct {
		spoil func(dir string) error
		level level
		words string
	}{
		{func(dir string) error {
			return os.Chmod(filepath.Join(dir, datadir.KeyFile), 0o644)
		}, warn, "Other users of this machine can read"},
		{func(dir string) error {
			return os.Remove(filepath.Join(dir, datadir.KeyFile))
		}, problem, "is missing, and only that key opens the secrets in the database"},
		{func(dir string) error {
			return os.WriteFile(filepath.Join(dir, datadir.KeyFile), []byte(db.NewSecret()), 0o600)
		}, problem, "The secret key doesn't fit this database"},
		{func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "reprise.db"),
				[]byte("this is no database, whatever its name says"), 0o600)
		}, problem, "is damaged"},
		{func(dir string) error {
			return os.Truncate(filepath.Join(dir, "reprise.db"), 0)
		}, problem, "reprise.db is empty, as a copy onto a full disk is. Put back a backup"},
		{func(dir string) error {
			return os.Rename(filepath.Join(dir, "reprise.db"), filepath.Join(dir, "elsewhere"))
		}, fine, "There's no database yet"},
		{func(string) error { return nil }, fine, "is intact and holds 0 listens, 1 connection and 1 player."},
		{func(string) error { return nil }, off, "1 player has not sent a play yet."},
	} {
		dir := household(t)
		require.NoError(t, c.spoil(dir))
		before := fingerprints(t, dir)
		lines, err := checked(t, dir, env)
		require.Equal(t, c.level == problem, err != nil, "%s: %v", c.words, err)
		says(t, lines, c.level, c.words)
		require.Equal(t, before, fingerprints(t, dir))
	}
}

func TestACheckListsEveryWrongSetting(t *testing.T) {
	t.Parallel()
	lines, err := checked(t, t.TempDir(),
		[]string{"REPRISE_SYNC_WORKERS=many", "REPRISE_LISTN=x", "REPRISE_CONTACT=me"})
	require.ErrorIs(t, err, ErrProblems)
	says(t, lines, problem, "sync.workers")
	says(t, lines, problem, "contact (REPRISE_CONTACT): Enter an e-mail address")
	says(t, lines, problem, `REPRISE_LISTN; did you mean "REPRISE_LISTEN"?`)
	says(t, lines, off, "Reprise checks the rest")

	broken := filepath.Join(t.TempDir(), "reprise.yaml")
	require.NoError(t, os.WriteFile(broken, []byte("sync:\n  workers: [1\n"), 0o600))
	lines, err = checked(t, t.TempDir(), nil, "config", broken)
	require.ErrorIs(t, err, ErrProblems)
	says(t, lines, problem, "is not valid YAML")
	require.Contains(t, lines[len(lines)-1], "1 problem.")

	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	other := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Minute}
	defer other.Close()
	go func() { _ = other.Serve(l) }()
	lines, err = checked(t, t.TempDir(), nil, "listen", l.Addr().String())
	require.ErrorIs(t, err, ErrProblems)
	says(t, lines, problem, l.Addr().String()+" is in use by another program")
}

func TestACheckKnowsAnInterruptedKeyChange(t *testing.T) {
	t.Parallel()
	dir := household(t)
	secret := db.NewSecret()
	require.NoError(t, os.WriteFile(filepath.Join(dir, datadir.NextKeyFile), []byte(secret), 0o600))
	lines, err := checked(t, dir, nil)
	require.NotContains(t, strings.Join(lines, "\n"), "Reprise completes it", "%v", err)

	opened, err := datadir.Dir{Path: dir}.Open(t.Context(), store.Options{})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, datadir.NextKeyFile), []byte(secret), 0o600)) // Open removed it
	key, err := db.NewKey(secret)
	require.NoError(t, err)
	_, err = opened.Rotate(t.Context(), key)
	require.NoError(t, err)
	require.NoError(t, opened.Close())
	lines, _ = checked(t, dir, nil)
	says(t, lines, fine, "The change to a new secret key was interrupted; Reprise completes it")
}

func TestCheckNamesTheAllowedHosts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		base, hosts string
		level       level
		words       string
	}{
		{"", "", fine, "Set base_url or allowed_hosts"},
		{"http://192.168.1.7:8420", "", fine, "Set base_url or allowed_hosts"},
		{"http://music.example.org", "", fine, "and to music.example.org."},
		{"http://music.example.org", "a.example, b.example", fine, "and to music.example.org, a.example, b.example."},
		{"", "*", warn, "answers to any name"},
	} {
		d := newDoctor(Options{Config: config.Config{Listen: "127.0.0.1:0", BaseURL: c.base,
			AllowedHosts: strings.FieldsFunc(c.hosts, func(r rune) bool { return strings.ContainsRune(", ", r) })}})
		found := d.names()
		require.Equal(t, c.level, found.level, c)
		require.Contains(t, found.text, c.words)
	}
}

// What was set in the browser is looked at, and what is wrong there is named.
func TestStoredSettingsAreLookedAt(t *testing.T) {
	t.Parallel()
	dir := datadir.Dir{Path: household(t)}
	db, err := dir.Open(t.Context(), store.Options{})
	require.NoError(t, err)
	require.NoError(t, db.SaveSettings(t.Context(), []settings.Stored{{Path: "contact", Value: "me@example.org"},
		{Path: "sync.workers", Value: "0"}, {Path: "admin_token", Value: "sixteen characters at least", Secret: true},
	}, nil))
	require.NoError(t, db.Close())
	stored, err := dir.Settings(t.Context())
	require.NoError(t, err)
	require.Equal(t, "sixteen characters at least", stored["admin_token"])
	r, err := config.Read("", nil, nil, registry.Descriptions()).With(stored)
	require.NoError(t, err)
	d := &doctor{Options: Options{Stored: len(stored), Faults: r.Faults}}
	require.Equal(t, []finding{
		{fine, "2 settings are set in the browser and stored in the database."},
		{warn, "Reprise ignores a setting in the database. Change it under Settings, This server. " +
			"sync.workers (the settings page): “0” is not a whole number from 1 to 1000."},
	}, d.stored())
	none, err := datadir.Dir{Path: t.TempDir()}.Settings(t.Context())
	require.NoError(t, err)
	require.Empty(t, none)
}
