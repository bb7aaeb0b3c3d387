// Package comparing lets two people compare what they hear, each on a Reprise of their own: one makes a link, the
// other's server reads what it shows. It has what both servers must agree on: links, documents and their signatures.
//
// A link is the address of a document, followed by "#" and a key. The key is never sent: the server of the link signs
// what it answers with it, and the other one checks that, so that nobody between them, and nobody who takes the address
// over, can invent an answer. A word of the one who asks is signed too, so that an old answer can't be given again.
package comparing

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/music"
	"reprise/internal/providers"
	"reprise/internal/words"
)

// Format is the number of the format of documents.
const Format = 1

// Path is the path of the addresses of documents, before their codes.
const Path = "/compare/"

// Signature is the header that carries the signature of a document.
const Signature = "Reprise-Signature"

// LongestNonce is the maximum length of what the one who asks has signed, in bytes.
const LongestNonce = 64

// maxDocument is the maximum size of a document, in bytes. What a stranger sends is read up to 1 MiB.
const maxDocument = 900_000

// mostListens is more than anybody can have heard.
const mostListens = 1_000_000_000

// Document is what the server of a link answers: how often a person heard each artist, and since when. It has nothing
// else.
type Document struct {
	Format    int       `json:"format"`
	Name      string    `json:"name"` // of the person
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	Began     string    `json:"began,omitempty"` // the month of the first listen, such as "2024-05"; empty for none
	Listens   int       `json:"listens"`         // of all artists; a listen of two artists counts for each
	Artists   []Artist  `json:"artists"`         // the most heard first
}

// Artist is an artist of a Document.
type Artist struct {
	Name    string `json:"name"`
	MBID    string `json:"mbid,omitempty"`
	Listens int    `json:"listens"`
	First   string `json:"first"` // the month of the first listen, such as "2024-05"
}

const month = "2006-01"

// New returns the document of a person whose summary is s. names has the artists. Of very many artists, it has those
// that were heard most.
func New(name string, expires time.Time, s listening.Summary, names map[uint32]library.Entity) Document {
	d := Document{Format: Format, Name: name, ExpiresAt: expires, Listens: s.Listens, Artists: []Artist{}}
	if !s.Began.IsZero() {
		d.Began = s.Began.Format(month)
	}
	size := 0
	for _, a := range s.Artists {
		e := names[a.ID]
		if e.Artist == "" {
			continue
		}
		one := Artist{e.Artist, e.MBID, a.Listens, a.First.Format(month)}
		text, err := json.Marshal(one)
		if size += len(text) + 1; err != nil || size > maxDocument {
			break
		}
		d.Artists = append(d.Artists, one)
	}
	return d
}

// Summary returns the summary of a document, for the one whose own is mine. An artist that both have gets the ID that
// it has there, and the others get IDs that no artist has. names has the artists of mine; those of the document are
// added.
func (d Document) Summary(mine listening.Summary, names map[uint32]library.Entity) listening.Summary {
	byMBID, byName := map[string]uint32{}, map[string]uint32{}
	for _, a := range mine.Artists {
		e := names[a.ID]
		if e.MBID != "" {
			byMBID[e.MBID] = a.ID
		}
		if n := music.Normal(e.Artist); byName[n] == 0 { // the most heard of a name
			byName[n] = a.ID
		}
	}
	began, _ := time.Parse(month, d.Began) // empty for none
	s, heard := listening.Summary{Began: began}, 0
	taken, strange := map[uint32]bool{}, ^uint32(0)
	for _, a := range d.Artists {
		first, err := time.Parse(month, a.First)
		if err != nil || a.Listens < 1 || a.Listens > mostListens {
			continue
		}
		heard += a.Listens
		id := byMBID[a.MBID]
		if byOther := byName[music.Normal(a.Name)]; id == 0 && byOther != 0 && !other(names[byOther].MBID, a.MBID) {
			id = byOther
		}
		if id == 0 || taken[id] {
			id, strange = strange, strange-1
			names[id] = library.Entity{Kind: library.KindArtist, Artist: library.Name(a.Name)}
		}
		taken[id] = true
		s.Artists = append(s.Artists, listening.Heard{ID: id, Listens: a.Listens, First: first})
	}
	s.Listens = max(heard, min(d.Listens, mostListens))
	return s
}

// other reports whether two ids are of different artists, although their names are the same.
func other(x, y string) bool { return x != "" && y != "" && x != y }

// Sign returns the value of the header Signature for a body that answers a nonce.
func Sign(key, nonce string, body []byte) string {
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(nonce + "."))
	h.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// Link is the link to a document.
type Link struct {
	Base *url.URL // of the server, without the path of its documents
	Code string
	Key  string // that signs the document
}

// ErrLink says that a text is no link that Reprise makes.
var ErrLink = errors.New("not a link to compare")

// ParseLink reads a link that somebody pasted. It returns ErrLink, or a *resilience.SettingError about its address.
func ParseLink(text string) (l Link, err error) {
	at, key, _ := strings.Cut(strings.TrimSpace(text), "#")
	i := strings.LastIndex(at, Path)
	if i < 0 {
		return l, ErrLink
	}
	l.Code, l.Key = strings.Trim(at[i+len(Path):], "/"), key
	if !isCode(l.Code) || !isCode(l.Key) {
		return l, ErrLink
	}
	l.Base, err = providers.ServerAddress("link", at[:i])
	return l, err
}

// isCode reports whether a text may be a code or a key: those of rand.Text have 26 letters and digits.
func isCode(s string) bool {
	unlike := func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '2' || r > '7') }
	return len(s) >= 26 && len(s) <= LongestNonce && !strings.ContainsFunc(s, unlike)
}

func (l Link) String() string { return l.Base.String() + Path + l.Code + "#" + l.Key }

// Problem is why a link can't be used now.
type Problem string

// The problems of links.
const (
	Gone    Problem = "gone"    // it was deleted
	Expired Problem = "expired" // its time is over
	Away    Problem = "away"    // its server sends no answer that can be used
	Old     Problem = "old"     // what answers knows no comparisons
	Newer   Problem = "newer"   // the document has a format that this server doesn't know
	Forged  Problem = "forged"  // the signature is wrong
	Refused Problem = "refused" // this server doesn't call that address
	Moved   Problem = "moved"   // its address redirects to another one
	Lost    Problem = "lost"    // the secret key of this server was lost since
)

func (p Problem) Error() string { return "the link to compare can't be used: " + string(p) }

// Ended reports whether what was read before may no longer be shown.
func (p Problem) Ended() bool { return p == Gone || p == Expired }

// Text says what the problem is, and what to do, of a link to a host.
func (p Problem) Text(host string) words.Text {
	return words.Each("common.problem.", string(p), "Host", host)
}

// read decodes a document after its signature was checked. It returns Newer for a format that this server doesn't know,
// and Old for what is no document.
func read(body []byte) (d Document, err error) {
	if json.Unmarshal(body, &d) != nil || d.Format < 1 {
		return d, Old
	}
	if d.Format > Format {
		return d, Newer
	}
	if d.Name = strings.TrimSpace(library.Name(d.Name)); d.Name == "" || d.Listens < 0 {
		return d, Old
	}
	return d, nil
}
