// Package storetest opens databases for the tests of packages that use the store.
package storetest

import (
	"context"
	"testing"

	"reprise/internal/postgrestest"
	"reprise/internal/store"
	"reprise/internal/store/db"
)

// Secret is what the key of the tests' databases is made from.
const Secret = "b25seS10aGUtdGVzdHMtdXNlLXRoaXMta2V5LTAwMzI="

var template = postgrestest.Template{Migrate: func(dir, url string) error {
	key, err := db.NewKey(Secret)
	if err != nil {
		return err
	}
	s, err := store.Open(context.Background(), db.Place{Dir: dir, URL: url}, key, store.Options{})
	if err != nil {
		return err
	}
	return s.Close()
}}

// Open opens the database of a directory with the default options. It creates the database if there is none, on
// Postgres if the tests run on it. The caller closes it.
func Open(t testing.TB, dir string) *store.Store {
	t.Helper()
	return OpenWith(t, dir, store.Options{})
}

// OpenWith is Open with options.
func OpenWith(t testing.TB, dir string, opt store.Options) *store.Store {
	t.Helper()
	place := db.Place{Dir: dir, URL: template.Fill(t, dir)}
	key, err := db.NewKey(Secret)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(context.Background(), place, key, opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
