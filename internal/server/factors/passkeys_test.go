package factors_test

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"
	"github.com/stretchr/testify/require"

	"reprise/internal/server/servertest"
)

// here is how browsers know the household.
var here = virtualwebauthn.RelyingParty{Name: "Reprise", ID: "music.example.org", Origin: "https://music.example.org"}

// device is what keeps passkeys, such as a phone.
type device struct {
	*person
	virtualwebauthn.Authenticator
	at  virtualwebauthn.RelyingParty
	key virtualwebauthn.Credential
}

func (p *person) device() *device {
	return &device{person: p, Authenticator: virtualwebauthn.NewAuthenticator(), at: here,
		key: credential()}
}

// credential returns a new key. One in 128 has a coordinate that begins with a zero byte, which virtualwebauthn leaves
// out, so no server can read it.
func credential() virtualwebauthn.Credential {
	for {
		made := virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2)
		key, err := x509.ParsePKCS8PrivateKey(made.Key.Data)
		if err != nil {
			panic(err)
		}
		public, err := key.(*ecdsa.PrivateKey).PublicKey.Bytes() // 4, then both coordinates in 32 bytes each
		if err != nil {
			panic(err)
		}
		if public[1] != 0 && public[33] != 0 {
			return made
		}
	}
}

func body(fields map[string]string) string {
	b, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// asked returns what a call asks the device.
func (d *device) asked(path string) string {
	d.T.Helper()
	return d.Call(http.MethodPost, path+"/options", "", http.StatusOK)["options"].(string)
}

// adds makes a passkey and adds it.
func (d *device) adds(name string, status int) map[string]any {
	d.T.Helper()
	asked, err := virtualwebauthn.ParseAttestationOptions(d.asked("/account/passkeys"))
	require.NoError(d.T, err)
	d.Options.UserHandle = []byte(asked.UserID)
	made := virtualwebauthn.CreateAttestationResponse(d.at, d.Authenticator, d.key, *asked)
	return d.Call(http.MethodPost, "/account/passkeys", body(map[string]string{"name": name, "credential": made}),
		status)
}

// answer returns the device's answer to what was asked.
func (d *device) answer(asked string) string {
	d.T.Helper()
	options, err := virtualwebauthn.ParseAssertionOptions(asked)
	require.NoError(d.T, err)
	d.key.Counter++
	return body(map[string]string{"credential": virtualwebauthn.CreateAssertionResponse(d.at, d.Authenticator, d.key,
		*options)})
}

// signsIn signs in with the passkey in another browser.
func (d *device) signsIn(status int) map[string]any {
	d.T.Helper()
	d.fresh()
	return d.Call(http.MethodPost, "/session/passkey", d.answer(d.asked("/session/passkey")), status)
}

// way returns how this browser came in.
func (p *person) way() any {
	p.T.Helper()
	for _, one := range p.Call(http.MethodGet, "/sessions", "", http.StatusOK)["sessions"].([]any) {
		if s := one.(map[string]any); s["current"] == true {
			return s["way"]
		}
	}
	return nil
}

// passkeys returns the passkeys of who is signed in.
func (p *person) passkeys() (all []map[string]any) {
	p.T.Helper()
	for _, one := range p.Call(http.MethodGet, "/account/factors", "", http.StatusOK)["passkeys"].([]any) {
		all = append(all, one.(map[string]any))
	}
	return all
}

// A passkey is the only thing needed: also for somebody with a second step, and by no name.
func TestAPasskeyIsEnough(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		require.Contains(t, p.Page("/login"), "Sign in with a passkey")
		p.types(servertest.Password)
		session := p.Session
		require.Contains(t, p.Page("/"), "add a passkey on this device")
		p.Session = append(p.Session, session...)
		p.turnsOn()
		phone, tablet := p.device(), p.device()
		added := phone.adds("Phone", http.StatusCreated)
		require.Equal(t, []any{"Phone", "music.example.org", true, nil},
			[]any{added["name"], added["host"], added["works"], added["last_used_at"]})
		require.NotContains(t, p.Page("/"), "add a passkey on this device")
		tablet.adds("", http.StatusCreated)
		require.Len(t, p.passkeys(), 2)
		require.NotEmpty(t, p.passkeys()[1]["name"])

		phone.signsIn(http.StatusCreated)
		p.Page("/listens")
		require.Equal(t, "passkey", p.way())
		require.NotNil(t, p.passkeys()[0]["last_used_at"])
		require.Contains(t, p.Page("/activity"), "Bea added the passkey Phone.")
		require.Contains(t, p.Page("/notifications"), "“Phone” signs you in from now on.")
		tablet.signsIn(http.StatusCreated)

		id := p.passkeys()[0]["id"].(string)
		require.Contains(t, p.Page("/settings/account"), "Manage…")
		require.Contains(t, p.Page("/settings/account/passkeys/"+id), "It no longer signs you in.")
		p.Submit("/settings/account/passkeys/"+id, http.StatusUnprocessableEntity, "name", " ")
		p.Submit("/settings/account/passkeys/"+id, http.StatusSeeOther, "name", "Old phone")
		require.Equal(t, "Older", p.Call(http.MethodPatch, "/account/passkeys/"+id, `{"name":"Older"}`,
			http.StatusOK)["name"])
		p.Submit("/settings/account/passkeys/"+id+"/remove", http.StatusSeeOther)
		phone.signsIn(http.StatusUnauthorized)
		tablet.signsIn(http.StatusCreated)
		p.Call(http.MethodDelete, "/account/passkeys/"+p.passkeys()[0]["id"].(string), "", http.StatusNoContent)
		require.Empty(t, p.passkeys())
		tablet.signsIn(http.StatusUnauthorized)
	})
}

// What the browser offers once, it does not offer again.
func TestAPasskeyIsOfferedOnce(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		p.types(servertest.Password)
		w := p.Do(http.MethodGet, "/", "", "")
		require.Contains(t, servertest.Text(w), "add a passkey on this device")
		require.Contains(t, fmt.Sprint(w.Result().Header["Set-Cookie"]), "__Host-reprise_offered=yes")
		b := &servertest.Browser{Household: p.Household, Agent: servertest.Firefox, Address: "10.1.1.1",
			Cookies: w.Result().Cookies()}
		again := b.Ask(http.MethodPost, "/api/v1/session", fmt.Sprintf(`{"name":"bea","password":%q}`,
			servertest.Password))
		b.Cookies = append(b.Cookies, again.Result().Cookies()...)
		require.NotContains(t, servertest.Text(b.Ask(http.MethodGet, "/", "")), "add a passkey on this device")

		p.fresh()
		p.types(servertest.Password)
		p.Submit("/settings/account/passkeys/later", http.StatusSeeOther)
		require.NotContains(t, p.Page("/"), "add a passkey on this device")
	})
}

// Another site asks for the passkey and passes the answer on.
func TestAPasskeyOfAnotherOriginIsRefused(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		p.types(servertest.Password)
		d := p.device()
		d.adds("Phone", http.StatusCreated)
		for _, at := range []virtualwebauthn.RelyingParty{
			{ID: here.ID, Origin: "https://music.example.org.evil.example"},
			{ID: here.ID, Origin: "https://evil.example"},
			{ID: here.ID, Origin: "http://music.example.org"},
			{ID: here.ID, Origin: "https://music.example.org:8443"},
			{ID: "evil.example", Origin: here.Origin},
		} {
			d.at = at
			d.signsIn(http.StatusUnauthorized)
			p.Call(http.MethodGet, "/account", "", http.StatusUnauthorized)
		}
		d.at = here
		d.signsIn(http.StatusCreated)
		other := p.device()
		other.at.Origin = "https://evil.example"
		other.adds("Theirs", http.StatusUnauthorized)
		require.Len(t, p.passkeys(), 1)
	})
}

// An answer that somebody has recorded, one that comes late, and one without the finger or the PIN.
func TestAnAnswerOfAPasskeyIsGoodOnce(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		p.types(servertest.Password)
		d := p.device()
		d.adds("Phone", http.StatusCreated)
		p.fresh()
		answer := d.answer(d.asked("/session/passkey"))
		p.Call(http.MethodPost, "/session/passkey", answer, http.StatusCreated)
		p.fresh()
		p.Call(http.MethodPost, "/session/passkey", answer, http.StatusUnprocessableEntity)
		d.asked("/session/passkey")
		p.Call(http.MethodPost, "/session/passkey", answer, http.StatusUnauthorized)

		late := d.answer(d.asked("/session/passkey"))
		time.Sleep(6 * time.Minute)
		p.Call(http.MethodPost, "/session/passkey", late, http.StatusUnauthorized)

		d.Options.UserNotVerified = true
		d.signsIn(http.StatusUnauthorized)
		d.Options.UserNotVerified = false
		d.key.Counter = 0 // a copy of the device is behind the device
		d.signsIn(http.StatusUnauthorized)
		d.key.Counter = 10
		d.signsIn(http.StatusCreated)
		d.Options.UserHandle = []byte("reprise-1") // it says that it is Ann's
		d.signsIn(http.StatusUnauthorized)
		d.asked("/session/passkey")
		p.Call(http.MethodPost, "/session/passkey", `{"credential":"{}"}`, http.StatusUnauthorized)
	})
}

// The server gets another name: its passkeys are listed, with a sentence, and a new one works.
func TestPasskeysAfterTheNameChanged(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		p.types(servertest.Password)
		d := p.device()
		d.adds("Phone", http.StatusCreated)
		p.BaseURL = "https://tunes.example.org/music"
		d.at = virtualwebauthn.RelyingParty{ID: "tunes.example.org", Origin: "https://tunes.example.org"}
		d.signsIn(http.StatusUnauthorized)
		p.fresh()
		p.types(servertest.Password)
		require.Contains(t, p.Page("/settings/account"), "A passkey made for music.example.org works only while")
		require.Equal(t, false, p.passkeys()[0]["works"])
		fresh := p.device()
		fresh.at = d.at
		fresh.adds("Phone again", http.StatusCreated)
		fresh.signsIn(http.StatusCreated)
	})
}

// Browsers allow no passkeys at an IP address or without TLS: a sentence says what to do.
func TestWherePasskeysCannotWork(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		for base, says := range map[string]string{
			"http://192.168.1.7:8420":  "at an IP address such as http://192.168.1.7:8420.",
			"https://192.168.1.7":      "at an IP address",
			"http://music.lan":         "without TLS, as at http://music.lan.",
			"http://localhost:8420":    "A passkey signs you in without a password",
			"https://home.example/rep": "A passkey signs you in without a password",
		} {
			p.BaseURL = base
			p.fresh()
			works := says[0] == 'A'
			require.Equal(t, works, strings.Contains(p.Page("/login"), "Sign in with a passkey"), base)
			status := http.StatusUnprocessableEntity
			if works {
				status = http.StatusOK
			}
			p.Call(http.MethodPost, "/session/passkey/options", "", status)
			p.types(servertest.Password)
			require.Contains(t, p.Page("/settings/account"), says, base)
			p.Call(http.MethodPost, "/account/passkeys/options", "", status)
		}
	})
}
