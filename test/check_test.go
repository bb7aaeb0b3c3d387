package test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// nobody is an address where nothing listens: no other test gets this port, as it might one that was just freed.
const nobody = "127.0.0.1:1"

// checked returns what -check prints, line by line.
func checked(t testing.TB, dir string, env []string, args ...string) ([]string, error) {
	t.Helper()
	out, err := command(t, "", env, append([]string{"-check", "-data-dir", dir, "-listen", "127.0.0.1:0"}, args...)...)
	return strings.Split(strings.TrimSpace(out), "\n"), err
}

// level is the beginning of a line of -check.
type level string

const (
	fine    level = "✓ ok"
	warn    level = "! warn"
	problem level = "✗ problem"
)

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

func TestACheckOfAHealthyInstallation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	dir := t.TempDir()
	env := append(musicEnv(w), "REPRISE_PROVIDERS_LASTFM_API_URL="+w.LastFM.URL,
		"REPRISE_PROVIDERS_LASTFM_CLIENT_ID="+w.LastFM.ClientID,
		"REPRISE_PROVIDERS_LASTFM_CLIENT_SECRET="+w.LastFM.ClientSecret,
		"REPRISE_PROVIDERS_YOUTUBE_API_URL="+w.YouTube.URL,
		"REPRISE_PROVIDERS_YOUTUBE_TOKEN_URL="+w.YouTube.TokenURL,
		"REPRISE_PROVIDERS_YOUTUBE_CLIENT_ID="+w.YouTube.ClientID,
		"REPRISE_PROVIDERS_YOUTUBE_CLIENT_SECRET="+w.YouTube.ClientSecret,
		"REPRISE_PROVIDERS_YOUTUBE_KEYS="+strings.Join(w.YouTube.Keys, ","),
		"REPRISE_PROVIDERS_OPENAI_API_URL="+w.OpenAI.URL,
		"REPRISE_PROVIDERS_OPENAI_KEYS="+strings.Join(w.OpenAI.Keys, ","),
		"REPRISE_PROVIDERS_OPENAI_MODEL="+w.OpenAI.Model)
	p := start(t, dir, env...)
	p.newcomer()
	lines, err := checked(t, dir, env, "-listen", strings.TrimPrefix(p.url, "http://"))
	require.NoError(t, err, "%s", strings.Join(lines, "\n"))
	for _, words := range []string{"Reprise is running", "can write to the data directory",
		"The disk with the data directory has",
		"Only their owner can read", "holds 0 listens", "fits the database",
		"contact address: test@example.org", "Time zone data", "Reprise answers at " + p.url,
		"register exactly this at https://developer.spotify.com/dashboard, as redirect URI: " + p.url +
			"/connect/spotify/callback",
		"Spotify answers at", "Last.fm answers", "ListenBrainz answers", "YouTube answers", "MusicBrainz answers",
		"Fanart.tv answers", "clock is right",
		"Last.fm's API key and shared secret: accepted", "YouTube's client ID and secret: accepted",
		"Fanart.tv's key …" + w.FanartTV.Keys[0][len(w.FanartTV.Keys[0])-4:] + ": accepted",
		"YouTube's key …" + w.YouTube.Keys[1][len(w.YouTube.Keys[1])-4:] + ": accepted",
		"The language model's key …0001: accepted"} {
		says(t, lines, fine, words)
	}
	elsewhere, err := checked(t, dir, env)
	require.NoError(t, err)
	says(t, elsewhere, warn, "A server uses the data directory "+dir)
	other := household(t, 1)
	before := fingerprints(t, other)
	_, err = checked(t, other, env, "-listen", strings.TrimPrefix(p.url, "http://"))
	require.NoError(t, err)
	require.Equal(t, before, fingerprints(t, other), "that a server answers says nothing of this directory")
	again, err := checked(t, dir, env, "-listen", strings.TrimPrefix(p.url, "http://"))
	require.NoError(t, err)
	require.Equal(t, len(lines), len(again))
	for i := range lines {
		if !strings.Contains(lines[i], "has") || !strings.Contains(lines[i], "free") {
			require.Equal(t, lines[i], again[i], "in the same order")
		}
	}
	for _, secret := range append(append([]string{w.LastFM.ClientSecret, w.YouTube.ClientSecret}, w.YouTube.Keys...),
		w.OpenAI.Keys...) {
		require.NotContains(t, strings.Join(lines, "\n"), secret)
	}
}

// certified is secured for a server that has nothing.
func certified(t testing.TB, trusted *bytes.Buffer, name string, from, to time.Time) string {
	t.Helper()
	return secured(t, trusted, name, from, to, http.NotFoundHandler())
}

// secured starts a TLS server with a certificate that is valid from one time to another, for a name or, without one,
// for 127.0.0.1. It adds the certificate to trusted, and returns the server's address.
func secured(t testing.TB, trusted *bytes.Buffer, name string, from, to time.Time, h http.Handler) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(int64(trusted.Len() + 1)),
		Subject: pkix.Name{CommonName: fmt.Sprint("test ", trusted.Len())}, NotBefore: from, NotAfter: to,
		IsCA: true, BasicConstraintsValid: true, DNSNames: []string{name}}
	if name == "" {
		template.DNSNames, template.IPAddresses = nil, []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	require.NoError(t, pem.Encode(trusted, &pem.Block{Type: "CERTIFICATE", Bytes: der}))
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

func TestACheckFindsWrongCertificatesAndProxies(t *testing.T) {
	t.Parallel()
	var trusted bytes.Buffer
	now, day := time.Now(), 24*time.Hour
	cmd := exec.Command(built, "-check", "-data-dir", t.TempDir(), "-listen", "127.0.0.1:0")
	cmd.Env = []string{"REPRISE_CONTACT=me@example.org",
		"REPRISE_BASE_URL=" + certified(t, &trusted, "", now.Add(-day), now.Add(5*day+time.Hour)),
		"REPRISE_PROVIDERS_LISTENBRAINZ_API_URL=" + certified(t, &trusted, "", now.Add(-2*day), now.Add(-day)),
		"REPRISE_PROVIDERS_MUSICBRAINZ_API_URL=" + certified(t, &trusted, "", now.Add(day), now.Add(2*day)),
		"REPRISE_PROVIDERS_SPOTIFY_API_URL=" + certified(t, &trusted, "other.example", now.Add(-day), now.Add(day)),
		"REPRISE_PROVIDERS_SPOTIFY_CLIENT_ID=id",
		"REPRISE_PROVIDERS_SPOTIFY_TOKEN_URL=http://spotify.example.org/token", "HTTP_PROXY=" + "http://" + nobody}
	file := filepath.Join(t.TempDir(), "trusted.pem")
	require.NoError(t, os.WriteFile(file, trusted.Bytes(), 0o600))
	cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+file)
	out, err := cmd.Output()
	require.Error(t, err)
	require.Equal(t, 1, cmd.ProcessState.ExitCode())
	lines := strings.Split(string(out), "\n")
	says(t, lines, warn, "expires in 5 days. Find out why it hasn't been renewed")
	for _, words := range []string{"Reprise can't reach ListenBrainz: the certificate of 127.0.0.1",
		"it expired on " + now.Add(-day).UTC().Format(time.DateOnly),
		"Reprise can't reach MusicBrainz", "by this machine's clock",
		"Reprise can't reach Spotify", "it's for another name",
		"the proxy in HTTP_PROXY or HTTPS_PROXY doesn't answer"} {
		says(t, lines, problem, words)
	}
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
			sum = fmt.Sprintf("%x", sha256.Sum256([]byte(read(t, path))))
		}
		all[path] = fmt.Sprint(info.Mode(), info.ModTime().UnixNano(), sum)
		return nil
	}))
	return all
}

// Promise: A check of the installation changes nothing.
func TestACheckChangesNothing(t *testing.T) {
	t.Parallel()
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
	}))
	defer here.Close()
	env := []string{"REPRISE_CONTACT=me@example.org", "REPRISE_PROVIDERS_LISTENBRAINZ_API_URL=" + here.URL,
		"REPRISE_PROVIDERS_MUSICBRAINZ_API_URL=" + here.URL}
	missing := filepath.Join(t.TempDir(), "not", "there")
	lines, err := checked(t, missing, env)
	require.NoError(t, err)
	says(t, lines, fine, "doesn't exist yet; Reprise creates it when it first starts")
	require.NoDirExists(t, filepath.Dir(missing))

	stopped := household(t, 2)
	killed := t.TempDir()
	p := start(t, killed)
	p.newcomer()
	require.Error(t, p.stop(syscall.SIGKILL))
	require.FileExists(t, filepath.Join(killed, "reprise.db-wal"))
	for _, dir := range []string{stopped, killed, t.TempDir()} {
		before := fingerprints(t, dir)
		_, err := checked(t, dir, env)
		require.NoError(t, err)
		require.Equal(t, before, fingerprints(t, dir))
	}
}
