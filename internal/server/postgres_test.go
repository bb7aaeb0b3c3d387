package server

import (
	"testing"

	"reprise/internal/postgrestest"
)

// The tests of this package ask Postgres what the store's own tests do not.
func TestEverythingOnPostgres(t *testing.T) {
	if testing.Short() {
		t.Skip("the tests without the race detector run it")
	}
	postgrestest.Again(t, ".")
}
