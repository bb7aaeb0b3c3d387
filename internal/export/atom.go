package export

import (
	"encoding/xml"
	"time"

	"reprise/internal/library"
)

// Feed is a feed of listens.
type Feed struct {
	ID       string // an IRI that never changes
	Title    string
	Language string // BCP 47
	Author   string
	Home     string // address of the page that the feed belongs to
	Self     string // the feed's own address; empty to leave it out
	Updated  time.Time
	Entries  []FeedEntry // the newest first
}

// FeedEntry is one listen in a feed.
type FeedEntry struct {
	ID      string // an IRI that never changes
	URL     string // of the listen's page
	Title   string
	Summary string // plain text; may be empty
	At      time.Time
}

// Atom returns the feed in the Atom format; see https://www.rfc-editor.org/rfc/rfc4287. Its time of update is that of
// the newest entry, or Updated if there are no entries.
func (f Feed) Atom() ([]byte, error) {
	a := atomFeed{Language: f.Language, ID: f.ID, Title: f.Title, Updated: library.Stamp(f.Updated), Author: f.Author,
		Generator: "Reprise", Links: []atomLink{pageLink(f.Home)}}
	if f.Self != "" {
		a.Links = append(a.Links, atomLink{Rel: "self", Type: "application/atom+xml", Href: f.Self})
	}
	if len(f.Entries) > 0 {
		a.Updated = library.Stamp(f.Entries[0].At)
	}
	for _, e := range f.Entries {
		a.Entries = append(a.Entries, atomEntry{ID: e.ID, Title: e.Title, Updated: library.Stamp(e.At),
			Link: pageLink(e.URL), Summary: e.Summary})
	}
	text, err := xml.Marshal(a)
	return append([]byte(xml.Header), text...), err
}

type atomFeed struct {
	XMLName   xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	Language  string      `xml:"xml:lang,attr"`
	ID        string      `xml:"id"`
	Title     string      `xml:"title"`
	Updated   string      `xml:"updated"`
	Author    string      `xml:"author>name"`
	Generator string      `xml:"generator"`
	Links     []atomLink  `xml:"link"`
	Entries   []atomEntry `xml:"entry"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr"`
	Href string `xml:"href,attr"`
}

type atomEntry struct {
	ID      string   `xml:"id"`
	Title   string   `xml:"title"`
	Updated string   `xml:"updated"`
	Link    atomLink `xml:"link"`
	Summary string   `xml:"summary"`
}

func pageLink(url string) atomLink { return atomLink{Rel: "alternate", Type: "text/html", Href: url} }
