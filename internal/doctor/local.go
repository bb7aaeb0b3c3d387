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
	"reprise/internal/store"
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
			return found(warn, "A server uses the data directory %s, but doesn't answer on %s. "+
				"Run the check with the same settings and flags as the server.", d.c.DataDir, d.c.Listen)
		}
		return found(fine, "%s is free; the server can listen there.", d.c.Listen)
	}
	ctx, cancel := context.WithTimeout(ctx, resilience.ConnectTimeout)
	defer cancel()
	if d.live = d.isReprise(ctx, "http://"+config.LoopbackFor(d.c.Listen)); d.live {
		return found(fine, "Reprise is running, and answers on %s.", d.c.Listen)
	}
	return found(problem, "%s.", err)
}

// names says by which names the server may be asked.
func (d *doctor) names() finding {
	if slices.Contains(d.c.AllowedHosts, "*") {
		return found(warn, "The server answers to every name, because allowed_hosts is \"*\". A web page elsewhere "+
			"can use that to read what a visitor's browser reaches here. List the names that you use instead.")
	}
	all := slices.Clone(d.c.AllowedHosts)
	if u, err := url.Parse(d.c.BaseURL); err == nil && resilience.IsPublicHost(u.Host) {
		all = append([]string{u.Hostname()}, all...)
	}
	if len(all) == 0 {
		return found(fine, "The server answers to IP addresses and to names of the home network. Set base_url or "+
			"allowed_hosts to reach it by another name.")
	}
	return found(fine, "The server answers to IP addresses, to names of the home network, and to %s.",
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
	head := make([]byte, 200)
	n, _ := io.ReadFull(resp.Body, head)
	return strings.Contains(string(head[:n]), "title: Reprise")
}

// local checks what is on this machine.
func (d *doctor) local(ctx context.Context) []finding {
	dir, exists := d.c.DataDir, true
	if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		exists = false
	} else if err != nil {
		return []finding{found(problem, "Reprise can't look into the data directory %s: %s. "+
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
			"and other services may block a server that they can't "+
			"contact.", strings.Join(providers.WantContact(d.Known), " and ")))
	} else {
		all = append(all, found(fine, "Services see this contact address: %s.", d.c.Contact))
	}
	if _, err := time.LoadLocation("America/Los_Angeles"); err != nil {
		return append(all, found(warn, "There are no time zones on this machine, "+
			"so the end of a day elsewhere can be an hour off. Install the package tzdata."))
	}
	return append(all, found(fine, "Time zones are known."))
}

// folder checks whether the data directory can be used, or be made.
func folder(dir string, exists bool) finding {
	at := existing(dir)
	err := datadir.Writable(at)
	switch {
	case err != nil && exists:
		return found(problem, "The data directory %s cannot be written: %s. "+
			"Make it belong to the user that runs the server, or choose another with -data-dir.", dir, err)
	case err != nil:
		return found(problem, "The data directory %s doesn't exist, and Reprise can't create it, "+
			"because it can't write to %s: %s. Choose another with -data-dir.", dir, at, err)
	case !exists:
		return found(fine, "The data directory %s doesn't exist yet; the first start creates it.", dir)
	}
	return found(fine, "The data directory %s can be written.", dir)
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
		return found(problem, "Only %s are free on the disk of the data directory. "+
			"Make room: otherwise Reprise can't store anything new.", datadir.Size(free))
	case free < littleSpace:
		return found(warn, "Only %s are free on the disk of the data directory. Make room before it is full.",
			datadir.Size(free))
	}
	return found(fine, "%s are free on the disk of the data directory.", datadir.Size(free))
}

// private finds files that other users of this machine may read and should not.
func (d *doctor) private() (all []finding) {
	files := d.Dir.PrivateFiles()
	for _, path := range files {
		info, err := os.Stat(path)
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			all = append(all, found(warn, "Other users of this machine can open %s. "+
				"Close it to them: chmod 600 %s", path, path))
		}
	}
	if len(files) > 0 && len(all) == 0 {
		all = append(all, found(fine, "The secret key and the database can be read by their owner only."))
	}
	return all
}

// database checks whether the database is sound, and its key the right one.
func (d *doctor) database(ctx context.Context) []finding {
	there, err := store.Exists(ctx, d.Dir.Place())
	if err != nil {
		return []finding{d.unreadable(err)}
	}
	if !there && d.c.DatabaseURL != "" {
		return []finding{found(fine, "The database %s answers, and holds nothing of Reprise yet; "+
			"the first start fills it.", d.Dir.Place())}
	}
	if !there {
		return []finding{found(fine, "There is no database yet; the first start creates it.")}
	}
	key, err := d.Dir.Key(ctx) // which makes none beside a database
	if err != nil {
		text := err.Error()
		if rest, ok := strings.CutPrefix(text, "the "); ok { // others begin with a path
			text = "The " + rest
		}
		return []finding{found(problem, "%s.", text)}
	}
	look, err := store.LookAt(ctx, d.Dir.Place(), d.held, key)
	switch {
	case err != nil:
		return []finding{d.unreadable(err)}
	case !look.Sound:
		return []finding{found(problem, "The database %s is damaged. "+
			"Stop the server and put back a backup (files beside it that end in .bak are copies made before an "+
			"upgrade).", d.Dir.Place())}
	}
	all := []finding{found(fine, "The database is sound, and holds %s.",
		web.Count(int(look.Listens), "listen", "listens"))}
	switch {
	case look.Step > look.Newest:
		all = append(all, found(problem, "The database was written by a newer version of Reprise than this "+
			"program. Install that version again, or put back a copy from before the upgrade."))
	case look.Step < look.Newest && look.Step > 0 && d.c.DatabaseURL != "":
		all = append(all, found(warn, "The database is from an earlier version; "+
			"the next start upgrades it. Copy it first, with pg_dump."))
	case look.Step < look.Newest && look.Step > 0:
		all = append(all, found(fine, "The database is from an earlier version; "+
			"the next start copies it and then upgrades it."))
	}
	if look.Opens {
		return append(all, found(fine, "The secret key opens what is sealed in the database."))
	}
	return append(all, d.wrongKey(ctx))
}

func (d *doctor) unreadable(err error) finding {
	return found(problem, "The database %s cannot be read: %s.", d.Dir.Place(),
		strings.TrimSuffix(sentenceOf(err), "."))
}

// wrongKey explains a key that does not open the database.
func (d *doctor) wrongKey(ctx context.Context) finding {
	if next, err := d.Dir.NextKey(); err == nil {
		if look, err := store.LookAt(ctx, d.Dir.Place(), d.held, next); err == nil && look.Opens {
			if d.c.SecretKey != "" {
				return found(problem, "The secrets have been sealed with a new key, "+
					"and the setting secret_key is still the old one. "+
					"Put the key in %s into the setting, and delete that file.",
					filepath.Join(d.Dir.Path, datadir.NextKeyFile))
			}
			return found(fine, "A change of the secret key was interrupted; the next start finishes it.")
		}
	}
	return found(problem, "The secret key is not the one that this database was written with. "+
		"Put back the %s that belongs to it, or set secret_key to it. If it is lost for good, server forget-secrets "+
		"starts with a new one.", datadir.KeyFile)
}

// sentenceOf returns an error as a sentence for people.
func sentenceOf(err error) string {
	if e, ok := errors.AsType[*resilience.LocalError](err); ok {
		return e.Problem.String()
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
