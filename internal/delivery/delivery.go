package delivery

import (
	"time"

	"reprise/internal/library"
	"reprise/internal/words"
)

// Delivery is one thing to push to a provider, or to a channel.
type Delivery struct {
	ID          int64
	User        int64
	Connection  library.ConnectionID
	Kind        string
	Ref         string // the id of a playlist or a correction, or a month such as 2026-11
	Items       int
	State       State
	Attempts    int // used up
	MaxAttempts int
	Due         time.Time // time of the next attempt, while it is scheduled or retrying
	EndedAt     time.Time // when it became done or dead; zero before
	CreatedAt   time.Time
	Failure               // of the latest attempt that failed
	DeadSince   time.Time // when it became dead for the first time
}

// Failure is why an attempt failed.
type Failure struct {
	Category string
	// Reason is a sentence for a person. It is stored as its id and arguments, so that everybody reads it in their own
	// language. Rows of earlier versions hold an English sentence: [words.Text.Scan] reads it as a plain text.
	Reason words.Text
	Answer string // the upstream's
}

// Refused is a listen that a provider refused for good.
type Refused struct {
	Listen int64
	Failure
}

// Subject is what a delivery is about, if that has a name: its only listen, or its playlist.
type Subject struct{ Title, Artist string }

// Filter selects deliveries of one person. Empty fields select all.
type Filter struct {
	User       int64
	ID         int64
	State      State
	Provider   string // or the kind of a channel
	Connection library.ConnectionID
	Kind       string
	Category   string
	Reasons    []words.Text // one of these
	Except     State        // none in this state
}

// Group is the dead letters of one person to one connection, or channel, that have the same reason.
type Group struct {
	Connection library.ConnectionID
	Kind       string // of the newest
	Reason     words.Text
	Category   string
	Count      int
	Items      int       // listens, playlists or months in them
	Newest     time.Time // when the newest died
	Oldest     time.Time // when the one died that died first
}

// Tally counts the deliveries of one kind to one connection in one state.
type Tally struct {
	Connection library.ConnectionID
	Kind       string
	State      State
	Items      int // listens, playlists or months in them
}

// Add counts the items of a tally.
func (w *Waiting) Add(t Tally) {
	switch t.Kind {
	case WritePlaylist:
		w.Playlists += t.Items
	case WriteLoves:
		w.Loves += t.Items
	case Archive:
		w.Months += t.Items
	case DeleteListens:
		w.Deletions += t.Items
	default:
		w.Listens += t.Items
	}
}

// Waiting counts what waits to be delivered to one provider.
type Waiting struct {
	Listens   int
	Playlists int
	Loves     int // 1 if the service is to be told what its person loves
	Months    int // of the archive
	Deletions int // listens to be deleted there
	Parked    int // of all these: wait for a person
}

// Counts returns the counts in words, such as "37 listens and 1 playlist"; empty when nothing waits.
func (w Waiting) Counts() words.Text {
	parts := w.parts()
	switch len(parts) {
	case 0:
		return words.Text{}
	case 1:
		return parts[0]
	case 2:
		return words.New("waiting.pair", "A", parts[0], "B", parts[1])
	case 3:
		return words.New("waiting.triple", "A", parts[0], "B", parts[1], "C", parts[2])
	case 4:
		return words.New("waiting.four", "A", parts[0], "B", parts[1], "C", parts[2], "D", parts[3])
	}
	return words.New("waiting.five", "A", parts[0], "B", parts[1], "C", parts[2], "D", parts[3], "E", parts[4])
}

// Clause says what waits, such as "37 listens are waiting"; empty when nothing does.
func (w Waiting) Clause() words.Text {
	parts := w.parts()
	switch {
	case len(parts) == 0:
		return words.Text{}
	case len(parts) == 1:
		return words.New("waiting.clause", "Count", w.Listens+w.Playlists+2*w.Loves+w.Months+w.Deletions, "What",
			parts[0])
	}
	return words.New("waiting.clause", "Count", 2, "What", w.Counts())
}

func (w Waiting) parts() (parts []words.Text) {
	if w.Listens > 0 {
		parts = append(parts, words.New("waiting.listens", "Count", w.Listens))
	}
	if w.Playlists > 0 {
		parts = append(parts, words.New("waiting.playlists", "Count", w.Playlists))
	}
	if w.Loves > 0 {
		parts = append(parts, words.New("waiting.loves"))
	}
	if w.Months > 0 {
		parts = append(parts, words.New("waiting.months", "Count", w.Months))
	}
	if w.Deletions > 0 {
		parts = append(parts, words.New("waiting.deletions", "Count", w.Deletions))
	}
	return parts
}
