// Package imports brings the plays of a service's own export file into the listens.
//
// A file is taken in whole and looked at before it counts (Runner.Receive), and is then read by Runner.Run, one file
// after the other. Files are streamed: memory does not grow with them, and an archive that unfolds into more than is
// sensible is refused. What was read and how far are stored in one transaction, so an import goes on where it was after
// any end of the process, and what is read twice is stored once. A row that cannot be read is counted, told of, and left
// out.
package imports

import (
	"context"
	"errors"
	"strings"
	"time"

	"reprise/internal/library"
)

// State says where an import stands.
type State string

// The states: waiting → running → done, failed or, by its person, canceled. One that waits can be canceled, too, or fail.
const (
	Waiting  State = "waiting"
	Running  State = "running"
	Done     State = "done"
	Failed   State = "failed"
	Canceled State = "canceled"
)

// Stream is the name of an import's progress among the events.
const Stream = "import"

// Import is one file on its way into the listens of a person.
type Import struct {
	ID         int64
	User       int64
	Connection library.ConnectionID
	Name       string // of the file, as its person knows it
	File       string // its name in the folder of imports
	Size       int64  // bytes
	State      State
	Entry      int // reading goes on in this file of an archive,
	EntryRow   int // after so many of its rows
	BytesDone  int64
	BytesAll   int64  // bytes of what is in the file, unpacked
	Rows       int    // read so far
	Added      int    // listens that are new
	Known      int    // plays that were there already, told by whichever service
	Skipped    int    // rows that are no listens: podcasts, plays under 30 seconds
	Bad        int    // rows that cannot be read
	Problems   string // the first of the bad rows, one per line
	Reason     string // why it failed, in words
	CreatedAt  time.Time
	EndedAt    time.Time
}

// Open says whether there is still something to be read.
func (v *Import) Open() bool { return v.State == Waiting || v.State == Running }

// AllRows is about how many rows there are, going by those that were read.
func (v *Import) AllRows() int {
	if v.BytesDone <= 0 || v.BytesAll <= v.BytesDone || v.State == Done {
		return v.Rows
	}
	return int(float64(v.Rows) / float64(v.BytesDone) * float64(v.BytesAll))
}

// problemsKept is how many bad rows are told one by one.
const problemsKept = 5

// bad counts a row that cannot be read.
func (v *Import) bad(problem string) {
	v.Bad++
	if strings.Count(v.Problems, "\n") < problemsKept {
		v.Problems += problem + "\n"
	}
}

// RefusedError says why a file is not taken, in words for its person.
type RefusedError struct{ Problem string }

func (e *RefusedError) Error() string { return e.Problem }

var (
	// ErrTooLarge says that a file is larger than MaxFile.
	ErrTooLarge = errors.New("file too large")
	// ErrBusy says that a person has as many imports under way as are allowed.
	ErrBusy = errors.New("too many imports")
)

// Store keeps imports and what they bring.
type Store interface {
	// AddImport stores a new import and returns it with its number, or ErrBusy when its person has most open ones.
	AddImport(ctx context.Context, v Import, most int) (Import, error)
	// NextImport returns the oldest open import, or library.ErrNotFound.
	NextImport(context.Context) (Import, error)
	// SaveImported stores plays, and how far their import has come, in one transaction, and returns the import with what
	// was added. When it is not open any more, it is library.ErrNotFound and nothing is stored.
	SaveImported(ctx context.Context, v Import, plays []library.Listen) (Import, error)
	// CancelImport cancels an open import, or forgets one that has ended. It returns what it was before.
	CancelImport(ctx context.Context, user, id int64) (Import, error)
	// KeptFiles are the names of the files that open imports need.
	KeptFiles(context.Context) (map[string]bool, error)
}
