package factors_test

import (
	"testing"

	"reprise/internal/server/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

func TestEverythingOnPostgres(t *testing.T) { servertest.OnPostgres(t) }
