package cli

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDurationsAreMillisecondsInTheLog(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{"json": `"took_ms":1500,"job":{"wait_ms":2}}`,
		"text": "took_ms=1500 job.wait_ms=2\n"} {
		var out bytes.Buffer
		log := NewLog(format, slog.LevelInfo, &out)
		log.WithGroup("").With("took", 1500*time.Millisecond).WithGroup("job").Info("done", "wait", 2*time.Millisecond)
		require.Contains(t, out.String(), want)
	}
}
