package webhooks

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzEvents requires that no body of any webhook is more than refused, and that lengths are never negative.
func FuzzEvents(f *testing.F) {
	for _, body := range []string{`{}`, `[]`,
		`{"event":"played","title":"T","artist":"A","length":"215","at":"1795400000"}`,
		`{"NotificationType":"PlaybackStop","ItemType":"Audio","Name":"T","RunTimeTicks":1e300,"IsPaused":"True"}`,
		`{"event":"media.stop","Metadata":{"type":"track","title":7,"viewOffset":-5}}`,
		`{"Event":"playback.stop","Item":{"Type":"Audio","Artists":["A"]}}`,
		`{"eventName":"scrobble","data":{"songs":[{"parsed":{"track":"T"}}]}}`,
		`{"action":"stop","media_type":"track","played":"NaN","started":"1e99"}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for name, read := range readers {
			_, all, err := read(body)
			if !json.Valid(body) {
				require.Error(t, err, name)
			}
			for _, e := range all {
				require.GreaterOrEqual(t, e.Play.Duration, time.Duration(0), name)
				_ = e.Play.Listen()
			}
		}
	})
}
