// Package imports adds the plays in a service's export file to the listens.
//
// [Runner.Receive] stores a whole file and checks that it is an export. [Runner.Run] then reads the files. People take
// turns, so that nobody waits for the end of another person's file; the files of one person are read one after the
// other. Files are streamed within limits, so that memory does not grow with them, and archives that are too large when
// unpacked are refused. Plays are stored in one transaction with the position in the file, so that an import continues
// where it was after any end of the process. Plays that are read twice are stored once. Rows that cannot be read are
// counted, reported and skipped.
//
// An import that cannot store anything, as on a full disk, says so and goes on by itself afterwards. One that was being
// read whenever the process ended is set aside the third time.
package imports

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/playrules"
	"reprise/internal/queue"
	"reprise/internal/words"
)

// State is the state of an import.
type State string

// The states: waiting → running → done, failed or, by the person, canceled. A waiting import can fail or be canceled
// too. A preview becomes ready instead of done, or is so at once if nothing can be counted without an answer, and waits
// for its person: → waiting.
const (
	Waiting  State = "waiting"
	Running  State = "running"
	Ready    State = "ready"
	Done     State = "done"
	Failed   State = "failed"
	Canceled State = "canceled"
)

// Stream is the stream that progress events of imports name.
const Stream = "import"

// Import is one export file of a person, and how far it has been read.
type Import struct {
	ID         int64
	User       int64
	Connection library.ConnectionID // whose export it is
	Name       string               // of the file at the person's
	File       string               // its name in the server's folder
	Size       int64                // bytes
	State      State
	Entry      int // index of the archive's file to continue with
	EntryRow   int // number of its rows that have been read
	BytesDone  int64
	BytesAll   int64 // unpacked
	Preview    bool  // nothing is stored; Added and Known are what they would be
	Question   Question
	Answers    Answers
	Sample     Sample    // the beginning of a table that its person may have to explain
	First      time.Time // of the plays read so far, the earliest
	Last       time.Time
	Rows       int // read so far
	Added      int // new listens
	Known      int // plays that were listens already, of any service
	Skipped    int // rows that are no listens: podcasts, plays under 30 seconds
	Bad        int // rows that cannot be read
	// Problems are the first bad rows, one [words.Text] per line as it is stored. Rows of earlier versions hold English
	// sentences, which are read as plain texts.
	Problems string
	// Reason is why it failed, or will when all is read, as one of its files is cut off. One of an earlier version is a
	// plain English text.
	Reason    words.Text
	Crashes   int // ends of the process while it was read at the present position, with the attempt under way
	CreatedAt time.Time
	EndedAt   time.Time
}

// Open reports whether the import has not ended.
func (v *Import) Open() bool { return v.State == Waiting || v.State == Running || v.State == Ready }

// Looked reports whether a preview has counted what is in the file.
func (v *Import) Looked() bool { return v.State == Ready && v.BytesDone > 0 }

// again makes the import begin at the beginning of its file.
func (v *Import) again() {
	v.State, v.Entry, v.EntryRow, v.BytesDone, v.Crashes = Waiting, 0, 0, 0, 0
	v.Rows, v.Added, v.Known, v.Skipped, v.Bad, v.Problems = 0, 0, 0, 0, 0, ""
	v.First, v.Last, v.Reason = time.Time{}, time.Time{}, words.Text{}
}

// heard notes the time of a play.
func (v *Import) heard(at time.Time) {
	if v.First.IsZero() || at.Before(v.First) {
		v.First = at
	}
	if at.After(v.Last) {
		v.Last = at
	}
}

// AllRows estimates the number of all rows from those that have been read.
func (v *Import) AllRows() int {
	if v.BytesDone <= 0 || v.BytesAll <= v.BytesDone || v.State == Done {
		return v.Rows
	}
	return int(float64(v.Rows) / float64(v.BytesDone) * float64(v.BytesAll))
}

// maxProblems is the number of bad rows that are reported one by one.
const maxProblems = 5

// bad counts a row that cannot be read.
func (v *Import) bad(problem words.Text) {
	v.Bad++
	if strings.Count(v.Problems, "\n") < maxProblems {
		v.Problems += lineOf(problem)
	}
}

// lineOf returns a text as a line that BadRows reads again.
func lineOf(t words.Text) string {
	stored, _ := t.Value() // of a string
	return strings.ReplaceAll(fmt.Sprint(stored), "\n", " ") + "\n"
}

// BadRows says of the first bad rows why they could not be read.
func (v *Import) BadRows() (all []words.Text) {
	for line := range strings.Lines(v.Problems) {
		var t words.Text
		_ = t.Scan(strings.TrimSuffix(line, "\n")) // a string is always read
		all = append(all, t)
	}
	return all
}

// RefusedError says why a file is refused, for the person who sent it.
type RefusedError struct {
	Problem words.Text
	empty   bool // an archive has nothing for this format, and may have for another
}

// Error returns the sentence in English.
func (e *RefusedError) Error() string { return e.Problem.String() }

var (
	// ErrTooLarge says that a file is larger than MaxFile.
	ErrTooLarge = errors.New("file too large")
	// ErrBusy says that a person has too many open imports.
	ErrBusy = errors.New("too many imports")
)

// Store keeps imports and listens.
type Store interface {
	Queue() *queue.Queue
	// AddImport stores a new import and returns it with its ID. It returns ErrBusy if the person has most open ones.
	AddImport(ctx context.Context, v Import, most int) (Import, error)
	// Connection returns one of a person's connections, or library.ErrNotFound.
	Connection(ctx context.Context, user int64, conn library.ConnectionID) (library.Connection, error)
	// LostPlays returns the times whose plays of a connection were lost and that no imported export covers.
	LostPlays(ctx context.Context, user int64, conn library.ConnectionID) ([]library.Gap, error)
	// OpenImports returns the open imports of all people, the oldest first.
	OpenImports(context.Context) ([]Import, error)
	// SaveCrashes stores the number of crashes. It returns library.ErrNotFound if the import is no longer open.
	SaveCrashes(ctx context.Context, id int64, crashes int) error
	// ChangeImport calls change with a person's import and stores what becomes of it, unless change returns an error.
	// It returns library.ErrNotFound if there is none.
	ChangeImport(ctx context.Context, user, id int64, change func(*Import) error) (Import, error)
	// SaveImported stores plays and the state of their import in one transaction, and returns the import with the new
	// counts. It returns library.ErrNotFound and stores nothing if the import is no longer open. Of a preview, it
	// stores the state only.
	SaveImported(ctx context.Context, v Import, plays []library.Listen) (Import, error)
	// SaveRestored is SaveImported for listens that Reprise exported: each is stored as it was, with its sources and
	// what rules did to it, unless one of its sources is stored already. archived has the ids of the archive's rules,
	// which are not applied again.
	SaveRestored(ctx context.Context, v Import, listens []library.StoredListen, archived []int64) (Import, error)
	// UserConnections returns a person's connections.
	UserConnections(ctx context.Context, user int64) ([]library.Connection, error)
	// PlayRules returns a person's rules for their plays.
	PlayRules(ctx context.Context, user int64) ([]playrules.Rule, error)
	// RestorePlayRules adds those of some rules that the person lacks, as far as there may be so many.
	RestorePlayRules(ctx context.Context, user int64, archived []playrules.Rule) error
	// CancelImport cancels an open import or deletes one that has ended, and returns its former state.
	CancelImport(ctx context.Context, user, id int64) (Import, error)
	// Imports returns a person's latest imports, all open ones among them, the newest first.
	Imports(ctx context.Context, user int64) ([]Import, error)
	// KeptFiles returns the names of the files that open imports need.
	KeptFiles(context.Context) (map[string]bool, error)
}
