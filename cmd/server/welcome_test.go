package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhatIsOfferedFirst: the first page says what a person will be asked for, and no more.
func TestWhatIsOfferedFirst(t *testing.T) {
	t.Parallel()
	v := start(t, t.TempDir()).newcomer()
	welcome := v.page("/", 200)
	require.Contains(t, welcome, "You enter: Address of your server, User name, Password or API key.")
	require.Contains(t, welcome, "You enter: Bucket, Access key, Secret key.")
	require.Contains(t, v.page("/connect/navidrome", 200), `<label for="field-password">Password</label>`, "which it is only beside an API key")
}
