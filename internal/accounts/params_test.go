//go:build !reprisetest

package accounts

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHashesAreAsExpensiveAsOWASPSays(t *testing.T) {
	t.Parallel()
	a, _ := setup(t)
	alice, err := a.Create(t.Context(), "Alice", password, Admin, true)
	require.NoError(t, err)
	require.Regexp(t, `^\$argon2id\$v=19\$m=19456,t=2,p=1\$`, alice.PasswordHash)
}
