package weekly_test

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"io/fs"
	"net"
	"net/mail"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/childtest"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/weekly"
	"reprise/internal/words"
)

const exim = "/usr/sbin/exim4"

// patience is how long to wait for another program on a busy machine.
const patience = time.Minute

// eximServer is Debian's mail server, configured to put every mail into a folder.
type eximServer struct {
	t         *testing.T
	dir, port string
	cmd       *exec.Cmd
}

func newExim(t *testing.T) *eximServer {
	t.Helper()
	_, err := exec.LookPath(exim)
	require.NoError(t, err, "This test needs the Debian package exim4-daemon-light (apt-get install it).")
	dir, err := os.MkdirTemp("", "exim") // the user that Exim changes to can't read t.TempDir
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, sub := range []string{"", "spool", "log", "mail"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, sub), 0o777))
		require.NoError(t, os.Chmod(filepath.Join(dir, sub), 0o777))
	}
	who := "Debian-exim" // the user that Exim changes to when root starts it
	if me, err := user.Current(); err == nil && me.Uid != "0" {
		who = me.Username
	}
	conf := strings.ReplaceAll(`primary_hostname = mail.example.org
spool_directory = DIR/spool
log_file_path = DIR/log/%slog
pid_file_path = DIR/pid
acl_smtp_rcpt = anything
acl_smtp_data = anything
deliver_drop_privilege = true
tls_advertise_hosts =
local_interfaces = 127.0.0.1
keep_environment =
disable_ipv6 = true
begin acl
anything:
  accept
begin routers
all:
  driver = accept
  transport = folder
begin transports
folder:
  driver = appendfile
  directory = DIR/mail
  maildir_format
  envelope_to_add
  user = `+who+"\n", "DIR", dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "conf"), []byte(conf), 0o644))
	_, port, err := net.SplitHostPort(childtest.Address(t))
	require.NoError(t, err)
	return &eximServer{t: t, dir: dir, port: port}
}

// start starts the server, and returns once it answers.
func (e *eximServer) start() {
	e.t.Helper()
	var out bytes.Buffer
	e.cmd = exec.Command(exim, "-bdf", "-C", filepath.Join(e.dir, "conf"), "-oX", e.port)
	e.cmd.Stdout, e.cmd.Stderr = &out, &out
	childtest.Tie(e.cmd, syscall.SIGKILL)
	require.NoError(e.t, e.cmd.Start())
	e.t.Cleanup(func() {
		_ = e.cmd.Process.Kill()
		_ = e.cmd.Wait()
	})
	require.Eventually(e.t, func() bool {
		conn, err := net.Dial("tcp", "127.0.0.1:"+e.port)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, patience, 20*time.Millisecond, "%s", &out)
}

// mails returns the mails that were delivered, in no order.
func (e *eximServer) mails() (all []*mail.Message) {
	e.t.Helper()
	err := fs.WalkDir(os.DirFS(e.dir), "mail/new", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // Exim makes the folder with the first mail
		}
		b, err := os.ReadFile(filepath.Join(e.dir, path))
		if err != nil {
			return err
		}
		m, err := mail.ReadMessage(bytes.NewReader(b))
		all = append(all, m)
		return err
	})
	require.NoError(e.t, err)
	return all
}

// pictured gives an artist a picture, as an administrator does.
func (h *house) pictured(artist string, w weekly.Week) {
	h.t.Helper()
	wide := image.NewRGBA(image.Rect(0, 0, 300, 200))
	for x := range 300 {
		for y := range 200 {
			wide.Set(x, y, color.RGBA{uint8(x), uint8(y), 90, 255})
		}
	}
	var b bytes.Buffer
	require.NoError(h.t, jpeg.Encode(&b, wide, nil))
	for id, e := range w.Names {
		if e.Kind == library.KindArtist && e.Artist == artist {
			_, err := h.db.PictureMusic(h.t.Context(), h.user, e.Kind, int64(id), b.Bytes())
			require.NoError(h.t, err)
		}
	}
}

// A real mail server accepts the report and delivers it complete, even if it was down on Monday, and only once.
func TestARealMailServerDeliversTheReport(t *testing.T) {
	t.Parallel()
	server := newExim(t)
	server.start()
	h := &house{t: t, dir: t.TempDir()}
	h.start()
	h.movesIn("smtp://127.0.0.1:"+server.port+"/?from=reprise@example.org&to=ann@example.org&encryption=none", "fr")
	now := time.Now().In(vienna(t))
	week := weekly.Monday(now).AddDate(0, 0, -7) // the last one that is over
	day := func(n int) string { return week.AddDate(0, 0, n).Format(time.DateOnly) + " 20:00" }
	h.hears("lastfm", "فيروز <b>", "宇多田ヒカル", day(1), 4)
	h.hears("lastfm", "Hunter", "Björk", day(2), 2)
	w, err := weekly.Of(t.Context(), h.db, h.user, notify.DateIn(week, now.Location()), now)
	require.NoError(t, err)
	h.pictured("Björk", w)
	require.NoError(t, server.cmd.Process.Kill())
	_ = server.cmd.Wait()

	// On Monday the server is down, and the report waits in the database.
	require.NoError(t, h.db.SwitchReport(t.Context(), h.user, h.channel, week.AddDate(0, 0, -7)))
	due := notify.Subscription{User: h.user, Channel: h.channel, Week: week}
	for range 2 { // as two servers do
		require.NoError(t, h.db.EnqueueReport(t.Context(), due, w.Span.From, w.Span.To))
	}
	require.Eventually(t, func() bool {
		ch, err := h.db.Channel(t.Context(), h.user, h.channel)
		return err == nil && ch.Failures > 0
	}, patience, 50*time.Millisecond, "it was tried")
	server.start()
	require.Eventually(t, func() bool { return len(server.mails()) == 2 }, patience, 100*time.Millisecond)

	var report *mail.Message
	for _, m := range server.mails() {
		if strings.Contains(m.Header.Get("Content-Type"), "multipart/") {
			report = m
		}
	}
	require.NotNil(t, report)
	require.Equal(t, "ann@example.org", report.Header.Get("Envelope-To"))
	require.Equal(t, "Ta semaine en musique\u00a0: "+words.ByCode("fr").Week(week), subject(t, report))
	all, around := parts(t, report)
	require.Equal(t, []string{"multipart/related", "multipart/alternative"}, around)
	require.Len(t, all, 3, "each picture is there once")
	for i, kind := range []string{"text/plain", "text/html", "image/jpeg"} {
		require.Equal(t, kind, all[i].kind)
	}
	html := all[1].body
	require.Contains(t, html, `lang="fr"`)
	require.Contains(t, html, "فيروز &lt;b&gt;")
	require.NotContains(t, html, "<b>")
	require.Contains(t, all[0].body, "宇多田ヒカル")
	require.Contains(t, html, `src="cid:cover-1.jpg@reprise"`)
	require.Equal(t, "<cover-1.jpg@reprise>", all[2].id)
	for _, m := range regexp.MustCompile(`(?:src|href|url)\s*[=(]\s*"?([^">)]+)`).FindAllStringSubmatch(html, -1) {
		require.Regexp(t, `^(cid:cover-1\.jpg@reprise|https://reprise\.example\.org/listening/weeks/[\d-]+(#mail)?)$`,
			m[1])
	}
	cover, err := jpeg.Decode(strings.NewReader(all[2].body))
	require.NoError(t, err)
	require.Equal(t, image.Pt(96, 96), cover.Bounds().Size())

	require.NoError(t, h.courier.SendReport(t.Context(), h.user, h.channel, week))
	require.Eventually(t, func() bool { return len(server.mails()) == 3 }, patience, 50*time.Millisecond)
}
