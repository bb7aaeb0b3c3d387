package server

import (
	"testing"

	"reprise/internal/postgrestest"
)

// What the store's own tests do not ask of a Postgres server.
func TestEverythingOnPostgres(t *testing.T) {
	if testing.Short() {
		t.Skip("the tests without the race detector run it")
	}
	postgrestest.Again(t, ".")
}
