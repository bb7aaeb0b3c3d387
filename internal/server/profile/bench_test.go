package profile_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/playrules"
	"reprise/internal/server/servertest"
)

// BenchmarkProfile opens each form of a profile that shows everything from the last 12 months. Its person has 500,000
// listens from ten years, some of them withheld.
func BenchmarkProfile(b *testing.B) {
	h := someone{servertest.New(b, delivery.Options{})}
	_, err := h.DB.SavePlayRule(b.Context(), playrules.Rule{User: h.User, Name: "Guilty", Kind: playrules.Withhold,
		Artist: "/^Artist 7$/"})
	require.NoError(b, err)
	const listens, tracks, apart = 500_000, 30_000, 10 * 365 * 24 * time.Hour / 500_000
	page := make([]library.Listen, 1000)
	for from := range listens / len(page) {
		for i := range page {
			n := listens - 1 - from*len(page) - i // the oldest first
			t := n * 7919 % tracks
			at := time.Now().Add(-time.Duration(n) * apart).Truncate(time.Second)
			page[i] = library.Listen{SourceID: fmt.Sprint(at.Unix(), "-", t), PlayedAt: at,
				Track: library.Track{Title: fmt.Sprint("The Title of Track ", t), Duration: 200 * time.Second,
					Artist: fmt.Sprint("Artist ", t%2000), Album: fmt.Sprint("The Album ", t%4000)}}
		}
		_, err := h.DB.SaveListens(b.Context(), library.Intake{User: h.User, Connection: "spotify", Listens: page})
		require.NoError(b, err)
	}
	require.NoError(b, h.DB.BuildColumns(b.Context()))
	v := h.Call(http.MethodPut, "/profile",
		`{"parts":["now","numbers","artists","albums","tracks","latest","loved"],"span":"12-months"}`, http.StatusOK)
	path := strings.TrimPrefix(v["url"].(string), "http://127.0.0.1:8420")
	for _, face := range faces {
		b.Run("profile"+face, func(b *testing.B) {
			for b.Loop() {
				for h.Knock(http.MethodGet, path+face).Code == http.StatusTooManyRequests {
					b.StopTimer()
					time.Sleep(200 * time.Millisecond) // wait out the limit on requests per address
					b.StartTimer()
				}
			}
		})
	}
}
