package keys

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience/transport"

	"reprise/internal/resilience"
)

// TestTheNumberGoesOnFromEarlierCalls: the third attempt at a delivery is not its first again, and a spent key makes
// it the fourth.
//
// Promise: Each try is a numbered attempt: the log shows what was really sent.
func TestTheNumberGoesOnFromEarlierCalls(t *testing.T) {
	t.Parallel()
	s := &keyServer{answers: map[string]string{"aaaa": "403 quota"}, wait: time.Hour}
	var out strings.Builder
	client, keyTransport := keyed(s, poolOf("aaaa", "bbbb"))
	keyTransport.Base = s.explained(&transport.Transport{Base: s, Log: slog.New(slog.NewTextHandler(&out, nil))})
	require.NoError(t, askWith(t, resilience.Call{Client: client, User: 7, Provider: "youtube", Attempt: 3}))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 2)
	require.Regexp(t, `attempt=3 .*key=aaaa`, lines[0])
	require.Regexp(t, `attempt=4 .*key=bbbb`, lines[1])
}
