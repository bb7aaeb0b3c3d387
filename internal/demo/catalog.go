package demo

import (
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed catalog.txt
var catalogText string

// album is one line of catalog.txt.
type album struct {
	artist, title, genre string
	year                 int
	local                bool // the household has the files: Navidrome knows it
	tracks               []int
}

// track is a recording under the ids of every service.
type track struct {
	title         string
	album         int // index in catalog.albums
	number        int // from 1
	duration      time.Duration
	isrc          string
	mbid          string // MusicBrainz recording
	spotifyID     string
	navidromeID   string
	videoID       string   // YouTube
	blocked       []string // countries in which YouTube does not show it
	recordingMSID string   // ListenBrainz's own id of the name
}

type catalog struct {
	albums []album
	tracks []track
}

// theCatalog returns the catalog. It is read once and never changed.
var theCatalog = sync.OnceValue(readCatalog)

func readCatalog() *catalog {
	c := &catalog{}
	for line := range strings.Lines(catalogText) {
		if f := strings.Split(strings.TrimSpace(line), "|"); len(f) > 6 && line[0] != '#' {
			c.addAlbum(f)
		}
	}
	return c
}

func (c *catalog) addAlbum(f []string) {
	year, err := strconv.Atoi(f[2])
	if err != nil {
		panic("catalog.txt: year of " + f[1])
	}
	a := album{artist: f[0], title: f[1], year: year, genre: f[3], local: f[5] == "L"}
	for i, song := range f[6:] {
		title, d := splitDuration(song)
		name := a.artist + "\x00" + a.title + "\x00" + title
		a.tracks = append(a.tracks, len(c.tracks))
		mbid := uuid("recording" + name)
		c.tracks = append(c.tracks, track{
			title: title, album: len(c.albums), number: i + 1, duration: d, videoID: base62("youtube" + mbid)[:11],
			isrc: isrc(f[4], year, name), mbid: mbid, recordingMSID: uuid("msid" + name),
			spotifyID: base62("spotify" + name), navidromeID: base62("navidrome" + name),
		})
	}
	c.albums = append(c.albums, a)
}

// splitDuration reads "Title 3:45".
func splitDuration(s string) (string, time.Duration) {
	i := strings.LastIndexByte(s, ' ')
	minutes, seconds, _ := strings.Cut(s[i+1:], ":")
	d, err := time.ParseDuration(minutes + "m" + seconds + "s")
	if err != nil {
		panic("catalog.txt: " + s)
	}
	// Real files are not whole seconds long; the fraction is arbitrary but always the same.
	return s[:i], d + time.Duration(digest(s)%1000)*time.Millisecond
}

func (c *catalog) albumOf(t int) *album { return &c.albums[c.tracks[t].album] }

func digest(s string) uint64 {
	sum := sha256.Sum256([]byte(s))
	return binary.BigEndian.Uint64(sum[:])
}

// uuid returns a version 4 UUID that depends on s alone.
func uuid(s string) string {
	b := sha256.Sum256([]byte(s))
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

// base62 returns 22 letters and digits, the form of Spotify's and Navidrome's ids, that depend on s alone.
func base62(s string) string {
	b := sha256.Sum256([]byte(s))
	id := new(big.Int).SetBytes(b[:16]).Text(62)
	return strings.Repeat("0", 22-len(id)) + id
}

// isrc returns a code of the right form: country, registrant, year, designation.
func isrc(country string, year int, s string) string {
	n := digest("isrc" + s)
	registrant := []byte{'A' + byte(n%26), 'A' + byte(n/26%26), '0' + byte(n/676%10)}
	return fmt.Sprintf("%s%s%02d%05d", country, registrant, year%100, n/6760%100000)
}
