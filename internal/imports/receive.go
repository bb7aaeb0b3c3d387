package imports

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/words"
)

// Sent is a file that a person sends.
type Sent struct {
	// Connection is whose export it is; empty to find that out.
	Connection library.ConnectionID
	Name       string // at the person's
	Body       io.Reader
	Preview    bool    // say first what is in it
	Answers    Answers // what the person has said already
	Zone       string  // the person's time zone, by which a preview goes
}

// Receive stores a file that a person sends and finds out whose export it is, whatever the person takes it for.
// It returns the import that will read it; a preview first, also if the file leaves a question open. If it returns an
// error, such as a *RefusedError, ErrTooLarge or ErrBusy, nothing is stored.
func (r *Runner) Receive(ctx context.Context, user int64, sent Sent) (v Import, err error) {
	if err := sent.Answers.Check(); err != nil {
		return v, err
	}
	if sent.Connection != "" {
		if !Reads(sent.Connection.Provider()) {
			return v, &RefusedError{Problem: words.New("import.refused.service")}
		}
		if err := r.known(ctx, user, sent.Connection); err != nil {
			return v, err
		}
	}
	if !r.begin(user) {
		return v, ErrBusy
	}
	defer r.end(user)
	file := keptFile{user: user, said: cleanName(sent.Name)}
	if file.name, file.size, err = r.c.Files.Keep(ctx, user, sent.Body); err != nil {
		return v, err
	}
	defer func() {
		if err != nil {
			_ = r.c.Files.Remove(context.WithoutCancel(ctx), file.name) // else the next start does
		}
	}()
	var found recognised
	var seen *look
	if file, found, seen, err = r.identify(ctx, file, sent); err != nil {
		return v, err
	}
	v = Import{User: user, Connection: found.as, Name: file.said, File: file.name, Size: file.size, State: Waiting,
		Question: found.question, Answers: sent.Answers, Sample: found.sample, CreatedAt: time.Now()}
	v.Preview = sent.Preview || found.question != NoQuestion && !v.answered()
	if v.Answers.TimeZone == "" && v.Preview {
		v.Answers.TimeZone = sent.Zone
	}
	v.Answers.Days = cmp.Or(v.Answers.Days, found.days)
	if (found.question == AskColumns || found.question == AskDays) && !v.answered() { // nothing can be read yet
		v.State = Ready
		v, err = r.c.Store.AddImport(ctx, v, maxOpen)
		if err == nil {
			r.tell(v)
		}
		return v, err
	}
	if seen == nil {
		if seen, err = r.check(ctx, file, found.as, v.Answers); err != nil {
			return v, err
		}
	}
	v.BytesAll = seen.total
	if err := r.Room(seen.need(r.maxRows, r.c.RowBytes)); err != nil {
		return v, err
	}
	if v, err = r.c.Store.AddImport(ctx, v, maxOpen); err != nil {
		return v, err
	}
	r.tell(v)
	r.look()
	return v, nil
}

// identify finds out whose export a file is: that of the connection that its person names, unless it turns out to be
// another one. seen is what a look into it has found; nil for none.
func (r *Runner) identify(ctx context.Context, f keptFile, sent Sent) (_ keptFile, found recognised, seen *look,
	err error) {
	var refusal error
	if sent.Connection != "" {
		seen, refusal = r.check(ctx, f, sent.Connection, sent.Answers)
		if _, refused := errors.AsType[*RefusedError](refusal); !refused {
			return f, recognised{as: sent.Connection}, seen, refusal
		}
	}
	f, found, err = r.recognise(ctx, f)
	if _, unknown := errors.AsType[*RefusedError](err); unknown && refusal != nil {
		err = refusal
	}
	if found.as.Provider() == sent.Connection.Provider() {
		found.as = sent.Connection
	}
	return f, found, nil, err
}

// check looks into a file as one of a connection.
func (r *Runner) check(ctx context.Context, file keptFile, as library.ConnectionID, a Answers) (*look, error) {
	f, err := r.c.Files.Open(ctx, file.name)
	if err != nil {
		return nil, err
	}
	seen, err := check(f, file.said, formats[as.Provider()], a)
	return &seen, errors.Join(err, f.Close())
}

// answered reports whether the person has answered the file's question.
func (v *Import) answered() bool {
	switch v.Question {
	case AskColumns:
		return v.Answers.Columns != nil
	case AskTimeZone:
		return v.Answers.TimeZone != ""
	case AskDays:
		return v.Answers.Days != ""
	case AskVideos:
		return v.Answers.Videos != ""
	}
	return true
}

// known returns a *RefusedError for a connection that the person does not have: its listens would name a source that
// nobody knows. The service itself, which is the id of the first connection to it, need not be connected.
func (r *Runner) known(ctx context.Context, user int64, conn library.ConnectionID) error {
	if string(conn) == conn.Provider() {
		return nil
	}
	_, err := r.c.Store.Connection(ctx, user, conn)
	if errors.Is(err, library.ErrNotFound) {
		return &RefusedError{Problem: words.New("import.refused.connection", "Connection",
			strconv.Quote(library.Name(string(conn))), "Service", conn.Provider())}
	}
	return err
}

func (r *Runner) begin(user int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.receiving[user] {
		return false
	}
	r.receiving[user] = true
	return true
}

func (r *Runner) end(user int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.receiving, user)
}

// cleanName returns the last part of a path, fit to be shown.
func cleanName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	if letters := []rune(name); len(letters) > 120 {
		name = string(letters[:120])
	}
	if name == "" {
		return "export"
	}
	return name
}
