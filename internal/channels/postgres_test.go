package channels_test

import (
	"testing"

	"reprise/internal/postgrestest"
)

// It repeats the package's tests on a Postgres server.
func TestEverythingOnPostgres(t *testing.T) {
	if testing.Short() {
		t.Skip("the tests without the race detector run it")
	}
	postgrestest.Again(t, ".")
}
