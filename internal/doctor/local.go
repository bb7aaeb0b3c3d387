package doctor

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise/internal/config"
	"reprise/internal/datadir"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/hosts"
	"reprise/internal/store/db"
	"reprise/internal/words"
	"reprise/web"
)

// The free space below which the check warns, and below which the server cannot go on, in bytes.
const (
	littleSpace = 500 << 20
	noSpace     = 50 << 20
)

// listening checks whether the server could listen on its address, or does.
func (d *doctor) listening(ctx context.Context) finding {
	l, err := d.Listen(d.c.Listen)
	if err == nil {
		_ = l.Close()
		if d.held {
			return d.elsewhere()
		}
		return found(fine, "%s is free; the server can listen there.", d.c.Listen)
	}
	ctx, cancel := context.WithTimeout(ctx, resilience.CallTimeout) // as a busy machine needs
	defer cancel()
	if d.live = d.isReprise(ctx, "http://"+config.LoopbackFor(d.c.Listen)); d.live {
		return found(fine, "Reprise is running, and answers on %s.", d.c.Listen)
	}
	if d.held { // perhaps by that one, too slow to answer
		return d.elsewhere()
	}
	return found(problem, "%s.", err)
}

// elsewhere is what to do where a server runs, but doesn't answer at the configured address.
func (d *doctor) elsewhere() finding {
	return found(warn, "A server uses the data directory %s, but doesn't answer on %s. "+
		"Run the check with the same settings and flags as the server.", d.c.DataDir, d.c.Listen)
}

// names says by which names the server may be asked.
func (d *doctor) names() finding {
	if slices.Contains(d.c.AllowedHosts, "*") {
		return found(warn, "allowed_hosts is \"*\", so the server answers to any name, and a malicious website could "+
			"read what a visitor's browser can reach here. List the names you use instead.")
	}
	all := slices.Clone(d.c.AllowedHosts)
	if u, err := url.Parse(d.c.BaseURL); err == nil && hosts.IsPublic(u.Host) {
		all = append([]string{u.Hostname()}, all...)
	}
	if len(all) == 0 {
		return found(fine, "The server answers to IP addresses and to names on the home network. Set base_url or "+
			"allowed_hosts to reach it by another name.")
	}
	return found(fine, "The server answers to IP addresses, to names on the home network, and to %s.",
		strings.Join(all, ", "))
}

// isReprise reports whether Reprise answers at an address.
func (d *doctor) isReprise(ctx context.Context, address string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/api/v1/openapi.yaml", nil)
	if err != nil {
		return false
	}
	resp, err := d.own.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	head := make([]byte, 2000)
	n, _ := io.ReadFull(resp.Body, head)
	return strings.Contains(string(head[:n]), "title: Reprise")
}

// local checks what is on this machine.
func (d *doctor) local(ctx context.Context) []finding {
	dir, exists := d.c.DataDir, true
	if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		exists = false
	} else if err != nil {
		return []finding{found(problem, "Reprise can't read the data directory %s: %s. "+
			"Fix its permissions, or choose another with -data-dir.", dir, cause(err))}
	} else if !info.IsDir() {
		return []finding{found(problem, "The data directory %s is a file. Choose another with -data-dir.", dir)}
	}
	all := []finding{folder(dir, exists)}
	if free, known := datadir.FreeSpace(existing(dir)); known {
		all = append(all, room(free))
	}
	if exists {
		all = append(all, d.private()...)
	}
	all = append(all, d.database(ctx)...)
	if d.c.Contact == "" {
		all = append(all, found(warn, "The setting contact is empty. "+
			"Enter your e-mail or web address: Reprise doesn't call %s without it, "+
			"and other services may block a server whose owner they can't reach.",
			strings.Join(providers.WantContact(d.Known), " and ")))
	} else {
		all = append(all, found(fine, "Services see this contact address: %s.", d.c.Contact))
	}
	if _, err := time.LoadLocation("America/Los_Angeles"); err != nil {
		return append(all, found(warn, "This machine has no time zone data, "+
			"so daily quotas may reset an hour early or late. Install the package tzdata."))
	}
	return append(all, found(fine, "Time zone data is available."))
}

// folder checks whether the data directory can be used, or be made.
func folder(dir string, exists bool) finding {
	at := existing(dir)
	err := datadir.Writable(at)
	switch {
	case err != nil && exists:
		return found(problem, "Reprise can't write to the data directory %s: %s. "+
			"Give it to the user that runs the server, or choose another with -data-dir.", dir, err)
	case err != nil:
		return found(problem, "The data directory %s doesn't exist, and Reprise can't create it, "+
			"because it can't write to %s: %s. Choose another with -data-dir.", dir, at, err)
	case !exists:
		return found(fine, "The data directory %s doesn't exist yet; Reprise creates it when it first starts.", dir)
	}
	return found(fine, "Reprise can write to the data directory %s.", dir)
}

// existing returns the folder, or the nearest one above it that exists.
func existing(dir string) string {
	dir, err := filepath.Abs(dir)
	for err == nil {
		if _, statErr := os.Stat(dir); statErr == nil || filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

// room checks whether that many free bytes are enough.
func room(free int64) finding {
	switch {
	case free < noSpace:
		return found(problem, "The disk with the data directory has only %s free. "+
			"Free up space, or Reprise can't save anything new.", datadir.Size(free))
	case free < littleSpace:
		return found(warn, "The disk with the data directory has only %s free. Free up some before it's full.",
			datadir.Size(free))
	}
	return found(fine, "The disk with the data directory has %s free.", datadir.Size(free))
}

// private finds files that other users of this machine may read and should not.
func (d *doctor) private() (all []finding) {
	files := d.Dir.PrivateFiles()
	for _, path := range files {
		info, err := os.Stat(path)
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			all = append(all, found(warn, "Other users of this machine can read %s. "+
				"To stop that: chmod 600 %s", path, path))
		}
	}
	if len(files) > 0 && len(all) == 0 {
		all = append(all, found(fine, "Only their owner can read the secret key and the database."))
	}
	return all
}

// database checks whether the database is sound, and its key the right one.
func (d *doctor) database(ctx context.Context) []finding {
	there, err := db.Exists(ctx, d.Dir.Place())
	if _, ok := errors.AsType[*resilience.LocalError](err); ok {
		return []finding{d.unreadable(err)}
	} else if err != nil {
		return []finding{told(err)}
	}
	if !there && d.c.DatabaseURL != "" {
		return []finding{found(fine, "The database %s is reachable and still empty; "+
			"Reprise sets it up when it first starts.", d.Dir.Place())}
	}
	if !there {
		return []finding{found(fine, "There's no database yet; Reprise creates it when it first starts.")}
	}
	key, err := d.Dir.Key(ctx) // which makes none beside a database
	if err != nil {
		return []finding{told(err)}
	}
	look, err := db.LookAt(ctx, d.Dir.Place(), d.held, key)
	switch {
	case err != nil:
		return []finding{d.unreadable(err)}
	case !look.Sound:
		return []finding{found(problem, "The database %s is damaged. "+
			"Stop the server and restore a backup. (Files beside it that end in .bak are copies from before an "+
			"upgrade.)", d.Dir.Place())}
	}
	all := []finding{found(fine, "The database is intact and holds %s, %s and %s.",
		web.Count(int(look.Listens), "listen", "listens"),
		web.Count(int(look.Connections), "connection", "connections"),
		web.Count(int(look.Players), "player", "players"))}
	if look.Unheard > 0 {
		all = append(all, found(off, "%s not sent a play yet. Each one's page under Players says what was refused.",
			web.Count(int(look.Unheard), "player has", "players have")))
	}
	switch {
	case look.Step > look.Newest && look.Usable() && d.c.Cluster:
		all = append(all, found(fine, "A newer version of Reprise has added to this database, which this one can use "+
			"beside servers of that version."))
	case look.Step > look.Newest && look.By != "":
		all = append(all, found(problem, "Reprise %s, which is newer, has used this database. "+
			"Install that version or a later one, or restore a copy from before the upgrade.", look.By))
	case look.Step > look.Newest:
		all = append(all, found(problem, "A newer version of Reprise has used this database. "+
			"Install that version again, or restore a copy from before the upgrade."))
	case look.Step < look.Newest && look.Step > 0 && d.c.DatabaseURL != "":
		all = append(all, found(warn, "The database is from an earlier version; "+
			"Reprise upgrades it at the next start. Back it up first, with pg_dump."))
	case look.Step < look.Newest && look.Step > 0:
		all = append(all, found(fine, "The database is from an earlier version; "+
			"at the next start, Reprise copies it and then upgrades it."))
	}
	if look.Opens {
		return append(all, found(fine, "The secret key fits the database."))
	}
	return append(all, d.wrongKey(ctx))
}

// told returns a problem that an error says in full.
func told(err error) finding {
	text := err.Error()
	if rest, ok := strings.CutPrefix(text, "the "); ok { // others begin with a path
		text = "The " + rest
	}
	return found(problem, "%s.", text)
}

func (d *doctor) unreadable(err error) finding {
	return found(problem, "Reprise can't read the database %s: %s.", d.Dir.Place(),
		strings.TrimSuffix(sentenceOf(err), "."))
}

// wrongKey explains a key that does not open the database.
func (d *doctor) wrongKey(ctx context.Context) finding {
	if next, err := d.Dir.NextKey(); err == nil {
		if look, err := db.LookAt(ctx, d.Dir.Place(), d.held, next); err == nil && look.Opens {
			if d.c.SecretKey != "" {
				return found(problem, "The secrets in the database already use a new key, "+
					"but the setting secret_key still has the old one. "+
					"Copy the key from %s into the setting, and delete that file.",
					filepath.Join(d.Dir.Path, datadir.NextKeyFile))
			}
			return found(fine, "The change to a new secret key was interrupted; "+
				"Reprise completes it at the next start.")
		}
	}
	return found(problem, "The secret key doesn't fit this database. "+
		"Restore the %s that belongs to it, or set secret_key to it. If it's lost for good, server forget-secrets "+
		"starts over with a new one.", datadir.KeyFile)
}

// sentenceOf returns an error as a sentence for people.
func sentenceOf(err error) string {
	if e, ok := errors.AsType[*resilience.LocalError](err); ok {
		return words.Of(e.Problem).String()
	}
	return err.Error()
}

// cause returns the cause in a file's error, for a sentence that names the file itself.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
