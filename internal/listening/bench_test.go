package listening

import (
	"math/rand/v2"
	"testing"
	"time"
)

// years returns n listens of 30,000 tracks by 5,000 artists in ten years.
func years(n int) ([]*Columns, *Music) {
	random := rand.New(rand.NewPCG(1, 2))
	meanings := make([]Meaning, 30_000)
	for i := range meanings {
		meanings[i] = Meaning{Spelling: uint32(i + 1), Track: uint32(i + 1), Album: uint32(30_001 + i/10),
			Artists: []uint32{uint32(33_001 + i/6)}, Length: 3 * time.Minute}
	}
	const span = 30 * daySeconds
	start := time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	all := make([]*Columns, 120)
	for i := range all {
		c := &Columns{Start: start + int64(i)*span, Sets: [][]uint16{nil, {0}, {1}, {0, 1}},
			From: []Origin{{Connection: "spotify"}, {"lastfm", "Rhythmbox"}}}
		for j := range n / 120 {
			c.At = append(c.At, uint32(j*span/(n/120)))
			c.Spelling = append(c.Spelling, uint32(random.ExpFloat64()*5000)%30_000+1)
			c.Sources = append(c.Sources, uint16(1+j%3))
		}
		all[i] = c
	}
	return all, (&Music{}).With(meanings)
}

// BenchmarkCount counts 500,000 listens: an op is one page of statistics without reading the columns.
func BenchmarkCount(b *testing.B) {
	all, music := years(500_000)
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		b.Fatal(err)
	}
	now := time.Date(2024, 6, 1, 12, 0, 0, 0, zone)
	for _, name := range []string{Week, Year, All} {
		b.Run(name, func(b *testing.B) {
			span, _ := NewSpan(name, now)
			for b.Loop() {
				Count(all, music, Question{Span: span, Now: now})
			}
		})
	}
}

// BenchmarkCountOwn counts what of 500,000 listens a library with half of the tracks could play.
func BenchmarkCountOwn(b *testing.B) {
	all, music := years(500_000)
	has := map[uint32]bool{}
	for i := uint32(1); i < 30_000; i += 2 {
		has[i] = true
	}
	for b.Loop() {
		CountOwn(all, music, has, time.UTC)
	}
}

// BenchmarkCompare compares two people with 500,000 listens each.
func BenchmarkCompare(b *testing.B) {
	yours, music := years(500_000)
	theirs, _ := years(500_000)
	now := time.Date(2024, 6, 1, 12, 0, 0, 0, time.UTC)
	for b.Loop() {
		Compare(yours, theirs, music, Question{Span: Span{Name: All}, Now: now})
	}
}
