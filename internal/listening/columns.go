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
	Start    int64      // Unix seconds
	At       []uint32   // seconds since Start
	Spelling []uint32   // numbers of spellings, see Music
	Sources  []uint16   // who reported the listen: an index in Sets, where 0 is nobody
	Sets     [][]uint16 // indexes in From
	From     []Origin
}

// Origin is a connection, with the player that it named.
type Origin struct {
	Connection library.ConnectionID
	Player     string // empty for none
}

// errColumns says that bytes are no columns.
var errColumns = errors.New("stored columns of listens are damaged")

// columnsForm marks the form of stored columns. An earlier form, without players, had a number below 17 there.
const columnsForm = 0xff

// Append appends the columns to b as bytes, ten for each listen.
func (c *Columns) Append(b []byte) []byte {
	number := binary.LittleEndian.AppendUint16
	b = binary.LittleEndian.AppendUint64(b, uint64(c.Start))
	b = number(append(b, columnsForm), uint16(len(c.From)))
	for _, o := range c.From {
		for _, text := range []string{string(o.Connection), o.Player} {
			b = append(append(b, byte(len(text))), text...)
		}
	}
	b = number(b, uint16(len(c.Sets)))
	for _, set := range c.Sets {
		b = append(b, byte(len(set)))
		for _, i := range set {
			b = number(b, i)
		}
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(c.At)))
	for _, v := range c.At {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	for _, v := range c.Spelling {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	for _, v := range c.Sources {
		b = number(b, v)
	}
	return b
}

// ParseColumns reads what Append wrote. It returns an error for columns of an earlier form, which have to be
// built again.
func ParseColumns(b []byte) (*Columns, error) {
	r := reader{rest: b}
	c := &Columns{Start: int64(r.number(8))}
	if r.number(1) != columnsForm {
		return nil, errColumns
	}
	for range r.number(2) {
		connection := r.take(int(r.number(1)))
		c.From = append(c.From, Origin{library.ConnectionID(connection), string(r.take(int(r.number(1))))})
	}
	for range r.number(2) {
		var set []uint16
		for range r.number(1) {
			i := r.number(2)
			r.bad = r.bad || i >= uint64(len(c.From))
			set = append(set, uint16(i))
		}
		c.Sets = append(c.Sets, set)
	}
	n := int(r.number(4))
	if r.bad || len(r.rest) != 10*n {
		return nil, errColumns
	}
	numbers := make([]uint32, 2*n)
	for i := range numbers {
		numbers[i] = binary.LittleEndian.Uint32(r.rest[4*i:])
	}
	c.At, c.Spelling, c.Sources = numbers[:n:n], numbers[n:], make([]uint16, n)
	for i := range c.Sources {
		c.Sources[i] = binary.LittleEndian.Uint16(r.rest[8*n+2*i:])
		if int(c.Sources[i]) >= len(c.Sets) {
			return nil, errColumns
		}
	}
	return c, nil
}

// Drop removes the listens for which drop returns true. It asks for each of them once, in order, with its time in Unix
// seconds and its spelling.
func (c *Columns) Drop(drop func(at int64, spelling uint32) bool) {
	n := 0
	for i := range c.At {
		if drop(c.Start+int64(c.At[i]), c.Spelling[i]) {
			continue
		}
		c.At[n], c.Spelling[n], c.Sources[n] = c.At[i], c.Spelling[i], c.Sources[i]
		n++
	}
	c.At, c.Spelling, c.Sources = c.At[:n], c.Spelling[:n], c.Sources[:n]
}

// reader reads bytes. Once they are too few it is bad, and reads zeros.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.rest) {
		r.bad, r.rest = true, nil
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

// number reads a number of up to eight bytes.
func (r *reader) number(width int) uint64 {
	var all [8]byte
	copy(all[:], r.take(width))
	return binary.LittleEndian.Uint64(all[:])
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

// Length returns how long a spelling is; 0 for unknown.
func (m *Music) Length(spelling uint32) time.Duration {
	return time.Duration(m.of(spelling).seconds) * time.Second
}

// Of returns the ids of the artists, the album and the track that a spelling means; 0 for none.
func (m *Music) Of(spelling uint32) (artists []uint32, album, track uint32) {
	v := m.of(spelling)
	return m.artistsOf(v), v.album, v.track
}
