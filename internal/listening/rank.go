package listening

// Rank is the place of an artist, an album or a track among the others of its kind, by listens: 1 is the first, 0 means
// not heard.
type Rank struct{ Ever, In int } // of all time, and in a span

// RankOf returns the rank of an artist, an album or a track.
func RankOf(all []*Columns, music *Music, f Filter, span Span) (r Rank) {
	n := int(music.last) + 1
	ever, in := make([]uint32, n), make([]uint32, n)
	from, to := span.unix()
	for _, c := range all {
		for i, offset := range c.At {
			v := music.of(c.Spelling[i])
			at := c.Start + int64(offset)
			now := uint32(0)
			if at >= from && at < to {
				now = 1
			}
			switch {
			case f.Artist != 0:
				for _, id := range music.artistsOf(v) {
					ever[id]++
					in[id] += now
				}
			case f.Album != 0:
				ever[v.album]++
				in[v.album] += now
			default:
				ever[v.track]++
				in[v.track] += now
			}
		}
	}
	ever[0], in[0] = 0, 0 // listens without an album or a track
	id := max(f.Artist, f.Album, f.Track)
	return Rank{place(ever, id), place(in, id)}
}

// place returns the rank of an id by its count; 0 if it has none.
func place(all []uint32, id uint32) int {
	if int(id) >= len(all) || all[id] == 0 {
		return 0
	}
	p := 1
	for _, n := range all {
		if n > all[id] {
			p++
		}
	}
	return p
}
