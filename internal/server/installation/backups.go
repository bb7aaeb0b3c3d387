package installation

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reprise/internal/activity"
	"reprise/internal/backups"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// backupsAddress is where backups are on the page, backupsForm where they are made.
const backupsAddress, backupsForm = address + "#backups", address + "/backups"

// Backup is a copy of the database in the API.
type Backup struct {
	Name  string    `json:"name"`
	Made  core.Time `json:"made_at"`
	Bytes int64     `json:"bytes"`
}

type backupsAnswer struct {
	Possible    bool           `json:"possible" doc:"False for a database in Postgres, which is copied with pg_dump."`
	Where       string         `json:"where" doc:"The folder or the storage."`
	Running     bool           `json:"running" doc:"A backup is being made or tried."`
	Backups     []Backup       `json:"backups" doc:"The newest first."`
	Problem     string         `json:"problem,omitempty" doc:"Why the latest one could not be made, in English."`
	TriedAt     core.MaybeTime `json:"tried_at" doc:"When one was last restored for trial."`
	TriedName   string         `json:"tried_name,omitempty"`
	TriedWith   int64          `json:"tried_listens" doc:"How many listens were there after the trial."`
	TrialFailed string         `json:"trial_problem,omitempty" doc:"Why the trial failed, in English."`
}

func answerOf(s backups.Status) backupsAnswer {
	view := func(c backups.Copy) Backup { return Backup{c.Name, core.Stamp(c.Made), c.Bytes} }
	return backupsAnswer{Possible: s.Possible, Where: s.Where, Running: s.Running,
		Backups: core.ViewAll(s.Copies, view), Problem: s.Failed, TriedAt: core.Moment(s.Tried), TriedName: s.Of,
		TriedWith: s.Listens, TrialFailed: s.Trial}
}

func (h *Handler) listBackups(echo.Context, *core.None) (backupsAnswer, error) {
	return answerOf(h.backups.Status()), nil
}

var (
	errBusy = &core.Refusal{Status: http.StatusConflict, Title: words.New("backup.busy"),
		Detail: words.New("backup.busy_text")}
	errElsewhere = &core.Refusal{Status: http.StatusConflict, Title: words.New("backup.postgres_title"),
		Detail: words.New("backup.postgres")}
	errNoBackup = &core.Refusal{Status: http.StatusNotFound, Title: words.New("backup.gone"),
		Detail: words.New("backup.gone_text")}
)

// begin has a backup made or tried.
func (h *Handler) begin(do func() error) error {
	if !h.backups.Status().Possible {
		return errElsewhere
	}
	if err := do(); errors.Is(err, backups.ErrBusy) {
		return errBusy
	}
	return nil
}

func (h *Handler) makeBackup(echo.Context, *core.None) (backupsAnswer, error) {
	err := h.begin(h.backups.Make)
	return answerOf(h.backups.Status()), err
}

func (h *Handler) backupForm(c echo.Context) error {
	if err := h.begin(h.backups.Make); err != nil {
		return err
	}
	return h.core.Done(c, backupsAddress, words.New("backup.begun"))
}

func (h *Handler) trialForm(c echo.Context) error {
	if err := h.begin(h.backups.Try); err != nil {
		return err
	}
	return h.core.Done(c, backupsAddress, words.New("backup.trial_begun"))
}

// named returns the backup that an address names.
func (h *Handler) named(c echo.Context) (backups.Copy, error) {
	all := h.backups.Status().Copies
	i := slices.IndexFunc(all, func(b backups.Copy) bool { return b.Name == c.Param("name") })
	if i < 0 {
		return backups.Copy{}, errNoBackup
	}
	return all[i], nil
}

// askDownload asks before a download: who has the file has everybody's listens.
func (h *Handler) askDownload(c echo.Context) error {
	b, err := h.named(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	return h.core.Confirm(c, core.Confirmation{Title: words.T(ctx, "backup.download_title", "Made", words.Day(b.Made)),
		Lead: words.T(ctx, "backup.download_lead"), Action: downloadOf(b), Button: words.T(ctx, "backup.download"),
		Facts: []string{words.T(ctx, "backup.download_holds"),
			words.T(ctx, "backup.download_key", "Key", h.backups.Status().Key)},
		Back: backupsAddress})
}

func (h *Handler) download(c echo.Context) error {
	b, err := h.named(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	from, b, err := h.backups.Open(ctx, b.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return errNoBackup
	}
	if err != nil {
		return err
	}
	defer from.Close()
	h.core.Note(ctx, activity.Entry{Action: activity.BackupDownloaded, Subject: b.Name})
	return h.core.Download(c, "application/vnd.sqlite3", b.Name, func(out io.Writer) error {
		_, err := io.Copy(out, from)
		return err
	})
}

func downloadOf(b backups.Copy) string { return backupsForm + "/" + url.PathEscape(b.Name) }

// backupsView is what the page says about backups, above their settings.
type backupsView struct {
	Warning string // what is wrong, or could be lost
	Detail  string // what the machine said about it
	State   string
	Trial   string
	Running bool
	Beside  string // that the copies are on the same disk
	Key     string // where the key is without which nobody can restore one, until there is one
	Copies  *ui.Grid
	Actions []ui.Action
}

func backupsViewOf(ctx context.Context, s backups.Status) (v backupsView) {
	if !s.Possible {
		v.State = words.T(ctx, "backup.postgres")
		return v
	}
	v.Running = s.Running
	switch {
	case s.Failed != "":
		v.Warning, v.Detail = words.T(ctx, "backup.failed", "At", s.FailedAt), s.Failed
	case len(s.Copies) == 0:
		v.Warning, v.Key = words.T(ctx, "backup.none"), words.T(ctx, "backup.key", "Key", s.Key)
	case s.Trial != "":
		v.Warning, v.Detail = words.T(ctx, "backup.trial_failed", "At", s.Tried), s.Trial
	}
	if len(s.Copies) > 0 {
		v.State = words.T(ctx, "backup.where", "Count", len(s.Copies), "Where", s.Where)
		if s.Beside {
			v.Beside = words.T(ctx, "backup.beside")
		}
		v.Copies = copiesTable(ctx, s.Copies)
	}
	if !s.Tried.IsZero() && s.Trial == "" {
		v.Trial = words.T(ctx, "backup.tried", "Count", int(s.Listens), "At", s.Tried)
		if len(s.Copies) > 0 && s.Tried.Sub(s.Copies[0].Made).Abs() < time.Hour { // the list says when
			v.Trial = words.T(ctx, "backup.tried_latest", "Count", int(s.Listens))
		}
	}
	v.Actions = []ui.Action{{Label: words.T(ctx, "backup.make"), Post: backupsForm}}
	if len(s.Copies) > 0 {
		v.Actions = append(v.Actions, ui.Action{Label: words.T(ctx, "backup.try"), Post: backupsForm + "/trial"})
	}
	return v
}

func copiesTable(ctx context.Context, all []backups.Copy) *ui.Grid {
	g := ui.Grid{Columns: []string{words.T(ctx, "backup.made"), words.T(ctx, "backup.size"),
		words.T(ctx, "backup.file")}}
	for _, c := range all {
		g.Rows = append(g.Rows, ui.Line{Cells: []templ.Component{
			ui.Time(c.Made, ui.At), ui.Say(ui.Size(ctx, int(c.Bytes))),
			ui.Button(ui.Action{Label: words.T(ctx, "backup.download_one"), URL: downloadOf(c)})}})
	}
	return &g
}

// backupsNote is the line of the fold: when the latest backup was made.
func backupsNote(ctx context.Context, s backups.Status, now time.Time) string {
	switch {
	case !s.Possible:
		return words.T(ctx, "backup.note_postgres")
	case len(s.Copies) == 0:
		return words.T(ctx, "backup.note_none")
	case now.Sub(s.Copies[0].Made) < 24*time.Hour:
		return words.T(ctx, "backup.note_today")
	}
	return words.T(ctx, "backup.note", "Day", words.Day(s.Copies[0].Made))
}
