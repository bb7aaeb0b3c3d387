package export_test

import (
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/export"
	"reprise/internal/library"
	"reprise/internal/storetest"
)

// BenchmarkExport writes 500,000 listens of 30,000 tracks as they are read from the database.
func BenchmarkExport(b *testing.B) {
	const listens, tracks = 500_000, 30_000
	db := storetest.Open(b, b.TempDir())
	defer db.Close()
	u, err := db.AddUser(b.Context(), accounts.User{Name: "Ann", PasswordHash: "-", Role: accounts.Admin,
		CreatedAt: time.Now()}, false)
	require.NoError(b, err)
	begin := time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)
	page := make([]library.Listen, 1000)
	for from := range listens / len(page) {
		for i := range page {
			n := from*len(page) + i
			t := n * 7919 % tracks
			page[i] = library.Listen{SourceID: fmt.Sprintf("%d-%d", 1_700_000_000-n*210, t),
				PlayedAt: begin.Add(time.Duration(-n) * 210 * time.Second),
				Track: library.Track{Title: fmt.Sprintf("The Title of Track %d", t), Duration: 200 * time.Second,
					Artist: fmt.Sprintf("Artist %d", t%2000), Album: fmt.Sprintf("The Album %d", t%4000),
					ISRC: fmt.Sprintf("GBAYE%07d", t)}}
		}
		_, err := db.SaveListens(b.Context(), library.Intake{User: u.ID, Connection: "spotify",
			Listens: slices.Clone(page)})
		require.NoError(b, err)
	}
	for _, f := range export.Forms {
		b.Run(f.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n, err := f.Write(io.Discard, export.Pages(func(next string) ([]library.StoredListen, string, error) {
					return db.FindListens(b.Context(), library.ListenFilter{User: u.ID}, next, 500)
				}))
				require.NoError(b, err)
				require.Equal(b, listens, n)
			}
			b.ReportMetric(float64(listens)*float64(b.N)/b.Elapsed().Seconds(), "listens/s")
		})
	}
}
