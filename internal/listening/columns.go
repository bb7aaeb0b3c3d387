// Package listening counts what a person has heard: how much, of whom, when, and what was new. It reads every listen
// once, in order of time, from columns that hold nothing else, so that all time costs hardly more than a week and every
// filter is exact. It knows no database and no page.
package listening

import (
	"encoding/binary"
	"errors"
	"time"

	"reprise/internal/library"
)

// Columns are the listens of one person in one span of time, the earliest first.
type Columns struct {
	Start    int64                  // Unix seconds
	At       []uint32               // seconds since Start
	Spelling []uint32               // numbers of spellings, see Music
	Sources  []uint16               // a bit for each connection in From that told of the listen
	From     []library.ConnectionID // at most 16; what further ones told has no bit
}

// mostSources is how many connections have a bit.
const mostSources = 16

// Bit returns the bit of a connection, which it adds to From if it is new there; 0 if there is no room.
func (c *Columns) Bit(id library.ConnectionID) uint16 {
	for i, known := range c.From {
		if known == id {
			return 1 << i
		}
	}
	if len(c.From) == mostSources {
		return 0
	}
	c.From = append(c.From, id)
	return 1 << (len(c.From) - 1)
}

// errColumns says that bytes are no columns.
var errColumns = errors.New("stored columns of listens are damaged")

// Append appends the columns to b as bytes, ten for each listen.
func (c *Columns) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(c.Start))
	b = append(b, byte(len(c.From)))
	for _, id := range c.From {
		b = append(append(b, byte(len(id))), id...)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(c.At)))
	for _, v := range c.At {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	for _, v := range c.Spelling {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	for _, v := range c.Sources {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	return b
}

// ParseColumns reads what Append wrote.
func ParseColumns(b []byte) (*Columns, error) {
	if len(b) < 9 {
		return nil, errColumns
	}
	c := &Columns{Start: int64(binary.LittleEndian.Uint64(b))}
	from := int(b[8])
	b = b[9:]
	for range from {
		if len(b) == 0 || len(b) < 1+int(b[0]) {
			return nil, errColumns
		}
		c.From = append(c.From, library.ConnectionID(b[1:1+b[0]]))
		b = b[1+b[0]:]
	}
	if len(b) < 4 {
		return nil, errColumns
	}
	n := int(binary.LittleEndian.Uint32(b))
	b = b[4:]
	if len(b) != 10*n {
		return nil, errColumns
	}
	numbers := make([]uint32, 2*n)
	for i := range numbers {
		numbers[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	c.At, c.Spelling, c.Sources = numbers[:n:n], numbers[n:], make([]uint16, n)
	for i := range c.Sources {
		c.Sources[i] = binary.LittleEndian.Uint16(b[8*n+2*i:])
	}
	return c, nil
}

// Music says what spellings mean. It is never changed: more of it is another value.
type Music struct {
	meanings []meaning // by the numbers of spellings
	artists  []uint32
	last     uint32 // the highest id of an artist, an album or a track
}

// meaning is what one spelling means; zeros mean nothing.
type meaning struct {
	track, album uint32
	seconds      uint32 // 0 for unknown
	first, many  uint32 // its artists in Music.artists
}

// Meaning is what one spelling means: the ids of an artist, an album and a track, 0 for none, and the length.
type Meaning struct {
	Spelling, Track, Album uint32
	Artists                []uint32
	Length                 time.Duration // 0 for unknown
}

// With returns the music with these meanings, in addition or in place of earlier ones.
func (m *Music) With(all []Meaning) *Music {
	next := &Music{last: m.last, artists: m.artists[:len(m.artists):len(m.artists)]}
	highest := uint32(0)
	for i := range all {
		highest = max(highest, all[i].Spelling)
	}
	next.meanings = make([]meaning, max(len(m.meanings), int(highest)+1))
	copy(next.meanings, m.meanings)
	for i := range all {
		v := &all[i]
		next.meanings[v.Spelling] = meaning{track: v.Track, album: v.Album,
			seconds: uint32(v.Length.Round(time.Second) / time.Second), first: uint32(len(next.artists)),
			many: uint32(len(v.Artists))}
		next.artists = append(next.artists, v.Artists...)
		next.last = max(next.last, v.Track, v.Album)
		for _, a := range v.Artists {
			next.last = max(next.last, a)
		}
	}
	return next
}

// of returns what a spelling means; nothing for one that is not known.
func (m *Music) of(spelling uint32) meaning {
	if int(spelling) < len(m.meanings) {
		return m.meanings[spelling]
	}
	return meaning{}
}

func (m *Music) artistsOf(v meaning) []uint32 { return m.artists[v.first : v.first+v.many] }

// Of returns the ids of the artists, the album and the track that a spelling means; 0 for none.
func (m *Music) Of(spelling uint32) (artists []uint32, album, track uint32) {
	v := m.of(spelling)
	return m.artistsOf(v), v.album, v.track
}
