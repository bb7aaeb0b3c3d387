package factors

import (
	"bytes"
	"context"
	"errors"
	"image/png"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/pquerna/otp"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

const (
	recoveryPath = core.SecondStepPath + "/recovery"
	offPath      = core.SecondStepPath + "/off"

	pictureSide = 240 // pixels
	madeFor     = 10 * time.Minute
)

// installation is the name that an app shows for this server.
func (h *Handler) installation() string { return "Reprise " + h.core.URL().Hostname() }

// setUpView is the page that sets the second step up.
type setUpView struct {
	view
	Key     string // empty until it was made
	Problem string
}

func (h *Handler) setUpPage(c echo.Context) error { return h.showSetUp(c, http.StatusOK, "") }

func (h *Handler) showSetUp(c echo.Context, status int, problem string) error {
	ctx := c.Request().Context()
	v, err := h.of(c)
	if err != nil {
		return err
	}
	if left, err := h.core.MustStart(c, v.Step); left || err != nil {
		return err
	}
	if v.Step.On || v.User.PasswordHash == "" {
		return c.Redirect(http.StatusSeeOther, accountPath+"#second-step")
	}
	p := setUpView{view: v, Problem: problem}
	key, err := h.core.Codes.Begun(ctx, v.User.ID)
	if err == nil {
		p.Key = grouped(key)
	} else if !errors.Is(err, library.ErrNotFound) {
		return err
	}
	return h.core.ShowSettings(c, status, words.T(ctx, "factors.set_up_title"), setUp(p))
}

// grouped returns a key as people type it.
func grouped(key *otp.Key) string {
	var all []string
	for s := key.Secret(); s != ""; {
		n := min(4, len(s))
		all, s = append(all, s[:n]), s[n:]
	}
	return strings.Join(all, " ")
}

func (h *Handler) beginForm(c echo.Context) error {
	ctx, u := userOf(c)
	if _, err := h.core.Codes.Begin(ctx, u, h.installation()); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, core.SecondStepPath)
}

// picture shows the key as a QR code, which the camera of a phone reads.
func (h *Handler) picture(c echo.Context) error {
	ctx, u := userOf(c)
	key, err := h.core.Codes.Begun(ctx, u.ID)
	if err != nil {
		return err
	}
	drawn, err := key.Image(pictureSide, pictureSide)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := png.Encode(&b, drawn); err != nil {
		return err
	}
	return c.Blob(http.StatusOK, "image/png", b.Bytes())
}

// confirm turns the second step on with a code. A wrong one counts like a wrong password.
func (h *Handler) confirm(c echo.Context, code string) (recovery []string, err error) {
	ctx, u := userOf(c)
	_, err = h.core.Guess(c, u.Name, func(ctx context.Context, _ bool) (_ accounts.User, err error) {
		recovery, err = h.core.Codes.Confirm(ctx, u.ID, code)
		return u, err
	})
	if errors.Is(err, accounts.ErrWrongCode) {
		return nil, accounts.InputError{Text: words.New("factors.wrong_code")}
	}
	if err != nil {
		return nil, err
	}
	if _, err := h.core.Sessions.EndOthers(ctx, u.ID); err != nil { // they came by the password alone
		return nil, err
	}
	h.core.NoteAccess(c, "second step turned on", activity.Entry{User: u.ID, Action: activity.SecondStepOn})
	h.core.TellAccess(ctx, u.ID, core.ToldSecondStepOn)
	return recovery, h.core.HasShown(c)
}

func (h *Handler) confirmForm(c echo.Context) error {
	recovery, err := h.confirm(c, c.FormValue("code"))
	switch {
	case errors.Is(err, library.ErrNotFound): // it was turned on in another tab, or begun again
		return c.Redirect(http.StatusSeeOther, core.SecondStepPath)
	case err != nil:
		p := h.core.Problem(c, err)
		return h.showSetUp(c, p.Status, p.Detail)
	}
	return h.showMade(c, recovery)
}

// madeCodes are recovery codes that a page shows for some minutes.
type madeCodes struct {
	Codes []string
	Until time.Time
}

func (h *Handler) showMade(c echo.Context, codes []string) error {
	return h.core.GoAndShow(c, recoveryPath, madeCodes{Codes: codes, Until: time.Now().Add(madeFor)})
}

// recoveryPage shows recovery codes that were just made, or asks before new ones are made.
func (h *Handler) recoveryPage(c echo.Context) error {
	ctx := c.Request().Context()
	var made madeCodes
	shown, err := h.core.Shown(c, &made)
	if err != nil {
		return err
	}
	if shown && time.Now().Before(made.Until) {
		return h.core.ShowSettings(c, http.StatusOK, words.T(ctx, "factors.recovery_title"), recovered(made.Codes))
	}
	return h.core.Confirm(c, core.Confirmation{Title: words.T(ctx, "factors.renew_title"),
		Lead: words.T(ctx, "factors.renew_lead"), Action: recoveryPath, Button: words.T(ctx, "factors.renew_button"),
		Back: accountPath + "#second-step"})
}

func (h *Handler) renew(c echo.Context) ([]string, error) {
	ctx, u := userOf(c)
	recovery, err := h.core.Codes.Renew(ctx, u.ID)
	if err == nil {
		h.core.NoteAccess(c, "recovery codes made", activity.Entry{User: u.ID, Action: activity.RecoveryCodesMade})
	}
	return recovery, err
}

func (h *Handler) recoveryForm(c echo.Context) error {
	recovery, err := h.renew(c)
	if errors.Is(err, library.ErrNotFound) {
		return c.Redirect(http.StatusSeeOther, accountPath+"#second-step")
	}
	if err != nil {
		return err
	}
	return h.showMade(c, recovery)
}

func (h *Handler) offPage(c echo.Context) error {
	ctx, u := userOf(c)
	lead := words.New("factors.off_lead")
	if h.core.RequiresSecondStep(u) {
		lead = words.Join(lead, words.New("factors.off_required"))
	}
	return h.core.Confirm(c, core.Confirmation{Title: words.T(ctx, "factors.off_title"), Lead: lead.T(ctx),
		Action: offPath, Button: words.T(ctx, "factors.off_button"), Warn: true, Back: accountPath + "#second-step"})
}

func (h *Handler) turnOff(c echo.Context) error {
	ctx, u := userOf(c)
	was, err := h.core.Codes.TurnOff(ctx, u.ID)
	if err != nil || !was {
		return err
	}
	h.core.Lacks(c)
	h.core.NoteAccess(c, "second step turned off", activity.Entry{User: u.ID, Action: activity.SecondStepOff})
	h.core.TellAccess(ctx, u.ID, core.ToldSecondStepOff)
	return nil
}

func (h *Handler) offForm(c echo.Context) error {
	if err := h.turnOff(c); err != nil {
		return err
	}
	return h.core.Done(c, accountPath+"#second-step", words.New("factors.turned_off"))
}

type beginSecondStepAnswer struct {
	Key string `json:"key" doc:"In Base32; the app makes codes of six digits from it, every 30 seconds, with SHA-1."`
	URL string `json:"url" doc:"The same with the names that the app shows, as a QR code has it."`
}

func (h *Handler) beginAPI(c echo.Context, _ *core.None) (out beginSecondStepAnswer, _ error) {
	if err := h.core.Proved(c); err != nil {
		return out, err
	}
	ctx, u := userOf(c)
	key, err := h.core.Codes.Begin(ctx, u, h.installation())
	if err != nil {
		return out, err
	}
	return beginSecondStepAnswer{Key: key.Secret(), URL: key.URL()}, nil
}

type confirmSecondStepRequest struct {
	Body struct {
		Code string `json:"code" doc:"That the app shows."`
	}
}

// RecoveryCodes are codes that are good once each in place of those of an app.
type RecoveryCodes struct {
	Codes []string `json:"recovery_codes"`
}

func (h *Handler) confirmAPI(c echo.Context, in *confirmSecondStepRequest) (RecoveryCodes, error) {
	all, err := h.confirm(c, in.Body.Code)
	if errors.Is(err, library.ErrNotFound) {
		err = core.NotFound(words.New("factors.none_begun"))
	}
	h.core.KeepNoAnswer(c)
	return RecoveryCodes{all}, err
}

func (h *Handler) recoveryAPI(c echo.Context, _ *core.None) (out RecoveryCodes, _ error) {
	if err := h.core.Proved(c); err != nil {
		return out, err
	}
	all, err := h.renew(c)
	h.core.KeepNoAnswer(c)
	return RecoveryCodes{all}, err
}

func (h *Handler) offAPI(c echo.Context, _ *core.None) (out core.None, _ error) {
	if err := h.core.Proved(c); err != nil {
		return out, err
	}
	return out, h.turnOff(c)
}

// confirmFields asks for a code of the app.
func (v setUpView) confirmForm(ctx context.Context) ui.Form {
	return ui.Form{Post: core.SecondStepPath + "/confirm", Submit: words.T(ctx, "factors.confirm"), Main: true,
		Fields: []ui.Field{{Name: "code", Label: words.T(ctx, "login.code"), Autocomplete: "one-time-code",
			Mode: "numeric", Exact: true, Required: true, MaxLength: "16", Problem: v.Problem,
			Autofocus: v.Problem != ""}}}
}

// actions are what can be done with the second step.
func (v view) actions(ctx context.Context) []ui.Action {
	if !v.Step.On {
		return []ui.Action{{Label: words.T(ctx, "factors.begin"), URL: core.SecondStepPath}}
	}
	return []ui.Action{{Label: words.T(ctx, "factors.renew"), URL: recoveryPath},
		{Label: words.T(ctx, "factors.turn_off"), URL: offPath}}
}

// lead says what the state of the second step is.
func (v view) lead(ctx context.Context) string {
	switch {
	case v.User.PasswordHash == "":
		return words.T(ctx, "factors.no_password")
	case v.Step.On:
		return words.Join(words.New("factors.on", "Day", words.Day(v.Step.Since)),
			words.New("factors.left", "Count", v.Step.Recovery)).T(ctx)
	}
	return words.T(ctx, "factors.off")
}
