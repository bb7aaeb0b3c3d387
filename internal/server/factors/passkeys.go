package factors

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

const (
	passkeysPath = accountPath + "/passkeys"

	challengeLife = 5 * time.Minute
)

// stored is what is kept of a passkey. A browser shows it only to the name that it was made for.
type stored struct {
	Name       string              `json:"rp_id"`
	Credential webauthn.Credential `json:"credential"`
}

// unable says what to do where browsers let no page use passkeys, as they reach it at base; zero where they do.
func unable(base *url.URL) words.Text {
	host := base.Hostname()
	local := host == "localhost" || strings.HasSuffix(host, ".localhost")
	switch {
	case net.ParseIP(host) != nil:
		return words.New("passkeys.by_name", "Address", base.String())
	case base.Scheme != "https" && !local:
		return words.New("passkeys.with_tls", "Address", base.String())
	}
	return words.Text{}
}

// relying returns what checks passkeys for the name by which browsers reach this server now.
func (h *Handler) relying() (*webauthn.WebAuthn, error) {
	base := h.core.URL()
	if why := unable(base); !why.IsZero() {
		return nil, core.Check(why)
	}
	within := webauthn.TimeoutConfig{Enforce: true, Timeout: challengeLife, TimeoutUVD: challengeLife}
	return webauthn.New(&webauthn.Config{RPID: base.Hostname(), RPDisplayName: "Reprise",
		RPOrigins:             []string{base.Scheme + "://" + base.Host},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: protocol.ResidentKeyRequired(),
			UserVerification: protocol.VerificationRequired},
		Timeouts: webauthn.TimeoutsConfig{Login: within, Registration: within}})
}

// owner is a person as webauthn knows them.
type owner struct {
	accounts.User
	all []webauthn.Credential
}

// WebAuthnID implements webauthn.User. Authenticators keep it: it tells nothing of the person.
func (o owner) WebAuthnID() []byte { return handleOf(o.ID) }

func handleOf(user int64) []byte { return []byte("reprise-" + strconv.FormatInt(user, 10)) }

// WebAuthnName implements webauthn.User.
func (o owner) WebAuthnName() string { return o.Name }

// WebAuthnDisplayName implements webauthn.User.
func (o owner) WebAuthnDisplayName() string { return o.Name }

// WebAuthnCredentials implements webauthn.User.
func (o owner) WebAuthnCredentials() []webauthn.Credential { return o.all }

// passkey is one of a person.
type passkey struct {
	accounts.Factor
	stored
	Elsewhere bool // it was made for another name of this server
}

func (h *Handler) read(f accounts.Factor) (p passkey, err error) {
	p.Factor = f
	err = json.Unmarshal(f.Secret, &p.stored)
	p.Elsewhere = p.stored.Name != h.core.URL().Hostname()
	return p, err
}

// Works says which ways in work now: the issuers that are set up, and passkeys for the name that the server has.
func (h *Handler) Works() accounts.Works {
	return accounts.Works{Issuers: h.issuers(), Passkey: func(secret []byte) bool {
		p, err := h.read(accounts.Factor{Secret: secret})
		return err == nil && !p.Elsewhere
	}}
}

// passkeys returns those of a person, the oldest first.
func (h *Handler) passkeys(ctx context.Context, user int64) (all []passkey, err error) {
	factors, err := h.store.Factors(ctx, user)
	if err != nil {
		return nil, err
	}
	for _, f := range factors {
		if f.Kind != accounts.Passkey {
			continue
		}
		p, err := h.read(f)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func nameOf(id []byte) string { return base64.RawURLEncoding.EncodeToString(id) }

// keep keeps a challenge in the session, and returns what the browser is asked.
func (h *Handler) keep(ctx context.Context, session *webauthn.SessionData, asked any) (out passkeyOptions, _ error) {
	kept, err := json.Marshal(session)
	if err != nil {
		return out, err
	}
	h.core.Sessions.KeepChallenge(ctx, string(kept))
	text, err := json.Marshal(asked)
	out.Options = string(text)
	return out, err
}

// taken returns the challenge that the session keeps, once.
func (h *Handler) taken(ctx context.Context) (session webauthn.SessionData, err error) {
	kept := h.core.Sessions.TakeChallenge(ctx)
	if kept == "" {
		return session, errStale
	}
	return session, json.Unmarshal([]byte(kept), &session)
}

var (
	errStale = core.Check(words.New("passkeys.stale"))
	errAlien = &core.Refusal{Status: http.StatusUnauthorized, Title: words.New("passkeys.refused"),
		Detail: words.New("passkeys.refused_text")}
)

type passkeyOptions struct {
	Options string `json:"options" doc:"JSON, for PublicKeyCredential.parseCreationOptionsFromJSON or parseRequestOptionsFromJSON of a browser. Good once, for five minutes."`
}

// beginAdd asks the browser of a person for a new passkey.
func (h *Handler) beginAdd(c echo.Context, _ *core.None) (out passkeyOptions, _ error) {
	if err := h.core.Proved(c); err != nil {
		return out, err
	}
	ctx, u := userOf(c)
	w, err := h.relying()
	if err != nil {
		return out, err
	}
	have, err := h.passkeys(ctx, u.ID)
	if err != nil {
		return out, err
	}
	var not []protocol.CredentialDescriptor
	for _, p := range have {
		not = append(not, p.stored.Credential.Descriptor())
	}
	asked, session, err := w.BeginRegistration(owner{User: u}, webauthn.WithExclusions(not))
	if err != nil {
		return out, err
	}
	return h.keep(ctx, session, asked.Response)
}

type addPasskeyRequest struct {
	Body struct {
		Name       string `json:"name,omitempty" maxLength:"64" doc:"For the person; the browser's if left out."`
		Credential string `json:"credential" doc:"What the browser made, as PublicKeyCredential.toJSON gives it, in JSON."`
	}
}

// Passkey is a passkey of a person.
type Passkey struct {
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	CreatedAt core.Time      `json:"created_at"`
	UsedAt    core.MaybeTime `json:"last_used_at"`
	Host      string         `json:"host" doc:"The name of this server for which it was made; it works there only."`
	Works     bool           `json:"works" doc:"Whether that is the server's name now."`
}

func viewPasskey(p passkey) Passkey {
	return Passkey{ID: strconv.FormatInt(p.ID, 10), Name: p.Factor.Name, CreatedAt: core.Stamp(p.CreatedAt),
		UsedAt: core.Moment(p.UsedAt), Host: p.stored.Name, Works: !p.Elsewhere}
}

// add stores the passkey that a browser made.
func (h *Handler) add(c echo.Context, in *addPasskeyRequest) (out Passkey, _ error) {
	ctx, u := userOf(c)
	w, err := h.relying()
	if err != nil {
		return out, err
	}
	session, err := h.taken(ctx)
	if err != nil {
		return out, err
	}
	name := in.Body.Name
	if strings.TrimSpace(name) == "" {
		name = accounts.Device(accounts.Agent(c.Request().UserAgent())).T(ctx)
	}
	if name, err = accounts.CheckLabel(name); err != nil {
		return out, err
	}
	made, err := protocol.ParseCredentialCreationResponseBytes([]byte(in.Body.Credential))
	if err != nil {
		return out, h.refused(c, err)
	}
	credential, err := w.CreateCredential(owner{User: u}, session, made)
	if err != nil {
		return out, h.refused(c, err)
	}
	credential.Attestation = webauthn.CredentialAttestation{} // nothing asks for it again
	secret, err := json.Marshal(stored{Name: w.Config.RPID, Credential: *credential})
	if err != nil {
		return out, err
	}
	f, err := h.store.AddFactor(ctx, accounts.Factor{User: u.ID, Kind: accounts.Passkey, Name: name,
		Credential: nameOf(credential.ID), Secret: secret, Confirmed: true})
	if errors.Is(err, accounts.ErrTaken) {
		return out, core.Check(words.New("passkeys.taken"))
	}
	if err != nil {
		return out, err
	}
	h.core.Sessions.EndOffer(ctx)
	h.core.NoteAccess(c, "passkey added", activity.Entry{User: u.ID, Action: activity.PasskeyAdded, Subject: name})
	h.core.TellAccess(ctx, u.ID, core.ToldPasskeyAdded, "Name", words.Plain(name))
	h.core.Sessions.Flash(ctx, words.New("passkeys.added", "Name", name))
	p, err := h.read(f)
	return viewPasskey(p), err
}

// refused logs why a passkey is not accepted. Nobody is told more than that it isn't.
func (h *Handler) refused(c echo.Context, err error) error {
	h.core.Log.Warn("passkey refused", "address", c.RealIP(), "err", err)
	return errAlien
}

// beginSignIn asks the browser for any passkey that it has for this server.
func (h *Handler) beginSignIn(c echo.Context, _ *core.None) (out passkeyOptions, _ error) {
	w, err := h.relying()
	if err != nil {
		return out, err
	}
	asked, session, err := w.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return out, err
	}
	return h.keep(c.Request().Context(), session, asked.Response)
}

type passkeySignInRequest struct {
	Body struct {
		Credential string `json:"credential" doc:"The browser's answer, as PublicKeyCredential.toJSON gives it, in JSON."`
	}
}

// shown returns whose passkey a browser has shown.
func (h *Handler) shown(c echo.Context, credential string) (u accounts.User, err error) {
	ctx := c.Request().Context()
	w, err := h.relying()
	if err != nil {
		return u, err
	}
	session, err := h.taken(ctx)
	if err != nil {
		return u, err
	}
	answer, err := protocol.ParseCredentialRequestResponseBytes([]byte(credential))
	if err != nil {
		return u, h.refused(c, err)
	}
	var p passkey
	whose := func(id, handle []byte) (webauthn.User, error) {
		f, err := h.store.FactorByCredential(ctx, nameOf(id))
		if err != nil {
			return nil, err
		}
		if p, err = h.read(f); err != nil {
			return nil, err
		}
		if string(handle) != string(handleOf(f.User)) || p.Elsewhere {
			return nil, library.ErrNotFound
		}
		u, err = h.core.UserByID(ctx, f.User)
		return owner{User: u, all: []webauthn.Credential{p.stored.Credential}}, err
	}
	_, now, err := w.ValidatePasskeyLogin(whose, session, answer)
	if err == nil && now.Authenticator.CloneWarning {
		err = errors.New("its counter went back: it was copied")
	}
	if err != nil {
		return accounts.User{}, h.refused(c, err)
	}
	now.Attestation = webauthn.CredentialAttestation{}
	secret, err := json.Marshal(stored{Name: p.stored.Name, Credential: *now})
	if err != nil {
		return u, err
	}
	if err = h.store.UsePasskey(ctx, p.Factor, secret); errors.Is(err, library.ErrNotFound) {
		return accounts.User{}, h.refused(c, errors.New("it was removed or used meanwhile"))
	}
	return u, err
}

// signIn signs in who has shown a passkey.
func (h *Handler) signIn(c echo.Context, in *passkeySignInRequest) (out core.None, _ error) {
	u, err := h.shown(c, in.Body.Credential)
	if err != nil {
		return out, err
	}
	return out, h.core.SignIn(c, u, accounts.Arrival{Way: accounts.ByPasskey})
}

// one returns the passkey of the user that a request's path names.
func (h *Handler) one(c echo.Context) (p passkey, err error) {
	ctx, u := userOf(c)
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return p, err
	}
	all, err := h.passkeys(ctx, u.ID)
	if err != nil {
		return p, err
	}
	for _, p := range all {
		if p.ID == id {
			return p, nil
		}
	}
	return p, library.ErrNotFound
}

func (h *Handler) rename(c echo.Context, name string) (p passkey, err error) {
	if p, err = h.one(c); err != nil {
		return p, err
	}
	if name, err = accounts.CheckLabel(name); err != nil {
		return p, err
	}
	p.Factor.Name = name
	return p, h.store.RenameFactor(c.Request().Context(), p.User, p.ID, name)
}

func (h *Handler) remove(c echo.Context) (p passkey, err error) {
	if p, err = h.one(c); err != nil {
		return p, err
	}
	ctx := c.Request().Context()
	err = h.store.RemoveFactor(ctx, p.User, p.ID, h.Works())
	if errors.Is(err, accounts.ErrLastWay) {
		refusal := core.Check(words.New("passkeys.last"))
		refusal.OfAccount = true
		return p, refusal
	}
	if err != nil {
		return p, err
	}
	h.core.NoteAccess(c, "passkey removed", activity.Entry{User: p.User, Action: activity.PasskeyRemoved,
		Subject: p.Factor.Name})
	h.core.TellAccess(ctx, p.User, core.ToldPasskeyRemoved, "Name", words.Plain(p.Factor.Name))
	return p, nil
}

type renamePasskeyRequest struct {
	core.ByID
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"64"`
	}
}

func (h *Handler) renameAPI(c echo.Context, in *renamePasskeyRequest) (out Passkey, _ error) {
	p, err := h.rename(c, in.Body.Name)
	if err != nil {
		return out, err
	}
	return viewPasskey(p), nil
}

func (h *Handler) removeAPI(c echo.Context, _ *core.ByID) (out core.None, _ error) {
	if err := h.core.Proved(c); err != nil {
		return out, err
	}
	_, err := h.remove(c)
	return out, err
}

func (h *Handler) passkeyPage(c echo.Context) error { return h.showPasskey(c, http.StatusOK, "", "") }

func (h *Handler) showPasskey(c echo.Context, status int, name, problem string) error {
	p, err := h.one(c)
	if err != nil {
		return err
	}
	return h.core.ShowSettings(c, status, p.Factor.Name, passkeyPage(passkeyView{p, name, problem}))
}

func (h *Handler) renameForm(c echo.Context) error {
	name := c.FormValue("name")
	p, err := h.rename(c, name)
	if _, wrong := errors.AsType[accounts.InputError](err); wrong {
		said := h.core.Problem(c, err)
		return h.showPasskey(c, said.Status, name, said.Detail)
	}
	if err != nil {
		return err
	}
	return h.core.Done(c, accountPath+"#passkeys", words.New("passkeys.renamed", "Name", p.Factor.Name))
}

func (h *Handler) removeForm(c echo.Context) error {
	p, err := h.remove(c)
	if err != nil {
		return err
	}
	return h.core.Done(c, accountPath+"#passkeys", words.New("passkeys.removed", "Name", p.Factor.Name))
}

// notice offers a passkey on the first page after somebody has signed in with a password, once in a browser.
func (h *Handler) notice(c echo.Context) (*ui.Notice, error) {
	ctx, u := userOf(c)
	if c.Request().URL.Path != "/" || !unable(h.core.URL()).IsZero() || !h.core.Sessions.Offers(c) {
		return nil, nil
	}
	have, err := h.passkeys(ctx, u.ID)
	if err != nil || len(have) > 0 {
		return nil, err
	}
	return &ui.Notice{ID: "passkey", Text: words.T(ctx, "passkeys.offer"), Actions: []ui.Action{
		{ID: "add-passkey", Label: words.T(ctx, "passkeys.offer_button"), URL: accountPath + "#passkeys", Main: true},
		{ID: "no-passkey", Label: words.T(ctx, "passkeys.offer_no"), Post: passkeysPath + "/later"}}}, nil
}

func (h *Handler) laterForm(c echo.Context) error {
	h.core.Sessions.EndOffer(c.Request().Context())
	return c.Redirect(http.StatusSeeOther, "/")
}

// Button returns the button that signs in with a passkey, and leads to a page of ours; nil where none can be used.
func (h *Handler) Button(after string) *ui.Passkeys {
	base := h.core.URL()
	if !unable(base).IsZero() {
		return nil
	}
	return &ui.Passkeys{Origin: base.Scheme + "://" + base.Host, Address: base.String(), After: core.LocalPath(after)}
}
