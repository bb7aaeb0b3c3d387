package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
)

// filesPath begins the paths of files that servers ask each other for.
const filesPath = "/files/"

// fileName is what names of files look like; see [crypto/rand.Text].
var fileName = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// Lend has the other servers fetch files from a directory.
func (g *Gate) Lend(dir string) { g.files.Store(&dir) }

// lend answers another server that asks for a file, or takes it back: the file is deleted.
func (g *Gate) lend(w http.ResponseWriter, r *http.Request) {
	dir, name := g.files.Load(), filepath.Base(r.URL.Path)
	if dir == nil || r.URL.Path != filesPath+name || !fileName.MatchString(name) {
		http.NotFound(w, r)
		return
	}
	file := filepath.Join(*dir, name)
	switch r.Method {
	case http.MethodGet:
		http.ServeFile(w, r, file)
	case http.MethodDelete:
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			g.log.Error("a file that another server has taken cannot be deleted", "err", err)
			w.WriteHeader(http.StatusInternalServerError)
		}
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// Fetch passes on a file that another server has. The other server deletes it when take has returned without an error.
// The error wraps os.ErrNotExist if no server that answers has it.
func (g *Gate) Fetch(ctx context.Context, name string, take func(io.Reader) error) error {
	all, err := g.member.book.All(ctx)
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.ID == g.member.me.ID {
			continue
		}
		answer, err := g.ask(ctx, http.MethodGet, other, name)
		if err != nil {
			continue // it is gone, or has no such file
		}
		err = take(answer.Body)
		if err = errors.Join(err, answer.Body.Close()); err != nil {
			return err
		}
		if answer, err = g.ask(ctx, http.MethodDelete, other, name); err == nil {
			_ = answer.Body.Close()
		}
		return nil
	}
	return fmt.Errorf("no server that answers has the file: %w", os.ErrNotExist)
}

func (g *Gate) ask(ctx context.Context, method string, of Server, name string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "https://"+of.Address+filesPath+name, nil)
	if err != nil {
		return nil, err
	}
	answer, err := g.proxy.Transport.RoundTrip(req)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.Join(os.ErrNotExist, answer.Body.Close())
	}
	return answer, err
}
