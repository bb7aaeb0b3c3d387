package server_test

import (
	"testing"

	"reprise/internal/server/servertest"
)

func TestEverythingOnPostgres(t *testing.T) { servertest.OnPostgres(t) }
