package postgrestest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// FileName is the name of a SQLite database in its directory.
const FileName = "reprise.db"

// Template is a database that tests copy. It is safe for concurrent use.
type Template struct {
	// Migrate creates the database: at the address of a Postgres server, or in a directory if url is empty.
	Migrate func(dir, url string) error

	once sync.Once
	file []byte
	err  error
}

// Fill puts a copy into a directory that has no database yet. If the tests run on Postgres, it creates the copy there
// and returns its address; otherwise it returns "".
func (m *Template) Fill(t testing.TB, dir string) (url string) {
	t.Helper()
	if On() {
		return Database(t, dir, func(url string) error { return m.Migrate("", url) })
	}
	if m.once.Do(func() { m.file, m.err = m.make() }); m.err != nil {
		t.Fatal(m.err)
	}
	f, err := os.OpenFile(filepath.Join(dir, FileName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return ""
	}
	if err == nil {
		_, err = f.Write(m.file)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return ""
}

func (m *Template) make() ([]byte, error) {
	dir, err := os.MkdirTemp("", "reprise-template-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := m.Migrate(dir, ""); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, FileName))
}
