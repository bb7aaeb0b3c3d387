package factors_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/notify"
	"reprise/internal/server/servertest"
)

// person is somebody who signs in to a household with a name and a password.
type person struct {
	*servertest.Household
	name string
}

// bea is a person of a household, in a browser that is not signed in.
func bea(t *testing.T) *person { return &person{servertest.Public(t), "Bea"} }

// fresh is another browser.
func (p *person) fresh() { p.As(0) }

// types signs in by the form, and returns where that leads.
func (p *person) types(password string) string {
	p.T.Helper()
	return p.Submit("/login", http.StatusSeeOther, "name", p.name, "password", password).Header().Get("Location")
}

// codeOf returns the code that oathtool shows for a key at a time.
func codeOf(t testing.TB, key string, at time.Time) string {
	t.Helper()
	out, err := exec.Command("oathtool", "--totp", "--base32", "--now", at.UTC().Format("2006-01-02 15:04:05 UTC"),
		key).Output()
	require.NoError(t, err, "oathtool has to be installed: `make test` does it")
	return strings.TrimSpace(string(out))
}

// turnsOn sets up the second step by the API, and returns its key and the recovery codes.
func (p *person) turnsOn() (key string, recovery []any) {
	p.T.Helper()
	key = p.Call(http.MethodPost, "/account/second-step", "", http.StatusCreated)["key"].(string)
	answer := p.Call(http.MethodPost, "/account/second-step/confirm",
		fmt.Sprintf(`{"code":%q}`, codeOf(p.T, key, time.Now())), http.StatusOK)
	return key, answer["recovery_codes"].([]any)
}

// A person sets the second step up on the pages, and signs in with it from then on.
func TestASecondStepIsAskedFor(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		require.Equal(t, "/", p.types(servertest.Password))
		require.Contains(t, p.Page("/settings/account"), "Set up…")
		require.Contains(t, p.Page("/settings/account/second-step"), "Show the picture to scan")
		p.Submit("/settings/account/second-step", http.StatusSeeOther)
		page := p.Page("/settings/account/second-step")
		typed := regexp.MustCompile(`id="second-step-key">([^<]+)<`).FindStringSubmatch(page)
		require.Len(t, typed, 2)
		key := strings.ReplaceAll(typed[1], " ", "")
		picture := p.Do(http.MethodGet, "/settings/account/second-step/code.png", "", "")
		require.Equal(t, "image/png", picture.Header().Get("Content-Type"))
		require.Equal(t, "no-store", picture.Header().Get("Cache-Control"))

		w := p.Submit("/settings/account/second-step/confirm", http.StatusUnprocessableEntity, "code", "000000")
		require.Contains(t, servertest.Text(w), "That&#39;s not the code.")
		require.Contains(t, p.Page("/activity"), "A wrong password or code at a confirmation, from")
		require.NotContains(t, p.Page("/activity"), "failed sign-in")
		shown := p.Submit("/settings/account/second-step/confirm", http.StatusSeeOther, "code",
			codeOf(t, key, time.Now())).Header().Get("Location")
		codes := regexp.MustCompile(`<code>([a-z2-7-]{29})</code>`).FindAllStringSubmatch(p.Page(shown), -1)
		require.Len(t, codes, 10)
		require.Contains(t, p.Page("/settings/account"), "You have 10 recovery codes left.")
		require.Equal(t, http.StatusNotFound,
			p.Do(http.MethodGet, "/settings/account/second-step/code.png", "", "").Code, "no key is shown again")
		require.Contains(t, p.Page("/activity"), "turned on the second step for signing in.")

		p.fresh()
		require.Equal(t, "/login/code", p.types(servertest.Password))
		require.Equal(t, http.StatusSeeOther, p.Do(http.MethodGet, "/listens", "", "").Code, "half way is not in")
		require.Contains(t, p.Page("/login/code"), `inputmode="numeric"`)
		w = p.Submit("/login/code", http.StatusUnauthorized, "code", "123456")
		require.Contains(t, servertest.Text(w), "The code is wrong, or it was used before.")
		time.Sleep(time.Minute)
		require.Equal(t, "/", p.Submit("/login/code", http.StatusSeeOther, "code",
			codeOf(t, key, time.Now())).Header().Get("Location"))
		require.Equal(t, "code", p.way())

		p.fresh()
		p.types(servertest.Password)
		recovery := codes[0][1]
		require.Contains(t, p.Page("/login/code?recovery=yes"), "Recovery code")
		p.Submit("/login/code?recovery=yes", http.StatusSeeOther, "code", " "+strings.ToUpper(recovery))
		require.Contains(t, p.Page("/"), "You&#39;ve used a recovery code; 9 are left.")
		p.fresh()
		p.types(servertest.Password)
		p.Submit("/login/code?recovery=yes", http.StatusUnauthorized, "code", recovery)
	})
}

// Who turns the second step off doesn't close what warns of that by looking; another browser of the person does.
func TestNobodyClosesWhatWarnsOfThem(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		p.types(servertest.Password)
		key, _ := p.turnsOn()
		time.Sleep(time.Minute)
		desk := &servertest.Browser{Household: p.Household, Agent: servertest.Firefox, Address: "10.1.1.1"}
		w := desk.Ask(http.MethodPost, "/api/v1/session", fmt.Sprintf(`{"name":"Bea","password":%q,"code":%q}`,
			servertest.Password, codeOf(t, key, time.Now())))
		require.Equal(t, http.StatusCreated, w.Code, w.Body)
		desk.Cookies = w.Result().Cookies()
		time.Sleep(time.Minute)
		p.Call(http.MethodDelete, "/account/second-step", "", http.StatusNoContent)
		warns := func() bool {
			u, err := p.DB.UserByName(t.Context(), "Bea")
			require.NoError(t, err)
			open, err := p.DB.Notifications(t.Context(), u.ID, true)
			require.NoError(t, err)
			return slices.ContainsFunc(open, func(n notify.Notification) bool { return n.Cause == "second_step_off" })
		}
		p.Page("/settings/account")
		require.True(t, warns())
		require.Equal(t, http.StatusOK, desk.Ask(http.MethodGet, "/settings/account", "").Code)
		require.False(t, warns())
	})
}

// Nobody tells the only administrator to ask one.
func TestAnAdministratorIsToldWhatTheyCanDo(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		_, err := p.Accounts.Create(t.Context(), "Dana", servertest.Password, accounts.Admin, false)
		require.NoError(t, err)
		for _, one := range []*person{p, {p.Household, "Dana"}} {
			one.fresh()
			one.types(servertest.Password)
			one.turnsOn()
			page := one.Page("/notifications")
			require.Equal(t, one.name == "Dana", strings.Contains(page, "the command server reset-password"), one.name)
			require.Equal(t, one.name == "Bea", strings.Contains(page, "ask an administrator to turn"), one.name)
		}
	})
}

// A clock may be half a minute off, and no further. A code that was used is of no use again, nor is an earlier one.
func TestACodeIsGoodOnceAndNotForLong(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		p.types(servertest.Password)
		key, _ := p.turnsOn()
		try := func(code string, status int) {
			t.Helper()
			p.fresh()
			body := fmt.Sprintf(`{"name":"bea","password":%q,"code":%q}`, servertest.Password, code)
			p.Call(http.MethodPost, "/session", body, status)
		}
		try(codeOf(t, key, time.Now()), http.StatusUnauthorized) // it was used to turn the second step on
		time.Sleep(5 * time.Minute)
		late, early := codeOf(t, key, time.Now().Add(-time.Minute)), codeOf(t, key, time.Now().Add(time.Minute))
		try(late, http.StatusUnauthorized)
		try(early, http.StatusUnauthorized)
		now, slow := codeOf(t, key, time.Now()), codeOf(t, key, time.Now().Add(-30*time.Second))
		try(slow, http.StatusCreated)
		try(slow, http.StatusUnauthorized)
		try(now[:3]+" "+now[3:], http.StatusCreated)
		try(now, http.StatusUnauthorized)
		try(slow, http.StatusUnauthorized)
		fast := codeOf(t, key, time.Now().Add(30*time.Second))
		time.Sleep(10 * time.Minute)
		try(fast, http.StatusUnauthorized)
		own, err := totp.GenerateCode(key, time.Now())
		require.NoError(t, err)
		require.Equal(t, codeOf(t, key, time.Now()), own)
		try(own, http.StatusCreated)
	})
}

// A program learns that a code is missing.
func TestAProgramIsToldThatACodeIsNeeded(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		p.types(servertest.Password)
		p.turnsOn()
		p.fresh()
		problem := p.Call(http.MethodPost, "/session", fmt.Sprintf(`{"name":"bea","password":%q}`, servertest.Password),
			http.StatusUnauthorized)
		require.Contains(t, problem["fields"], "code")
		wrong := `{"name":"bea","password":"not this one"}`
		problem = p.Call(http.MethodPost, "/session", wrong, http.StatusUnauthorized)
		require.NotContains(t, problem, "fields", "nobody learns who has a second step")
		p.Call(http.MethodGet, "/connections", "", http.StatusUnauthorized)
	})
}

// Somebody who has the password guesses codes from everywhere, 10,000 times, for days.
func TestTenThousandGuessesFindNoCode(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		p.types(servertest.Password)
		key, recovery := p.turnsOn()
		b := &servertest.Browser{Household: p.Household, Agent: servertest.Firefox}
		checked, waited := 0, 0
		for i := range 10_000 {
			b.Address, b.Cookies = servertest.Address(i%4000), nil
			w := b.Ask(http.MethodPost, "/api/v1/session",
				fmt.Sprintf(`{"name":"bea","password":%q,"code":"%06d"}`, servertest.Password, 100_000+i))
			switch w.Code {
			case http.StatusUnauthorized:
				checked++
			case http.StatusTooManyRequests:
				waited++
			default:
				require.Equal(t, codeOf(t, key, time.Now()), fmt.Sprintf("%06d", 100_000+i), "only by luck")
			}
			time.Sleep(time.Second / 4)
		}
		// 42 minutes: ten at once, then one a minute
		require.LessOrEqual(t, checked, 55)
		require.Greater(t, waited, 9_900)

		// Bea waits no longer than for the guesses of her password.
		time.Sleep(time.Minute)
		b.Address, b.Cookies = "10.99.1.2", nil
		require.Equal(t, http.StatusCreated, b.Ask(http.MethodPost, "/api/v1/session",
			fmt.Sprintf(`{"name":"bea","password":%q,"code":%q}`, servertest.Password, recovery[0])).Code)
	})
}

// Half way in lasts five minutes, ends with the password, and is bound to the browser.
func TestHalfWayInEnds(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		p.types(servertest.Password)
		key, _ := p.turnsOn()
		p.fresh()
		require.Equal(t, "/login", p.Do(http.MethodGet, "/login/code", "", "").Header().Get("Location"))
		p.Submit("/login", http.StatusSeeOther, "name", p.name, "password", servertest.Password, "after", "/listens")
		time.Sleep(6 * time.Minute)
		again := "/login?local&after=%2Flistens"
		require.Equal(t, again, p.Submit("/login/code", http.StatusSeeOther, "code",
			codeOf(t, key, time.Now())).Header().Get("Location"))
		require.Contains(t, p.Page("/login"), "That took more than five minutes.")

		p.Submit("/login", http.StatusSeeOther, "name", p.name, "password", servertest.Password, "after", "/listens")
		half := p.Session
		require.NoError(t, p.Accounts.ResetPassword(t.Context(), p.name, "another of these words"))
		require.Equal(t, again, p.Submit("/login/code", http.StatusSeeOther, "code",
			codeOf(t, key, time.Now())).Header().Get("Location"))
		require.NotEmpty(t, half)

		p.Submit("/login", http.StatusSeeOther, "name", p.name, "password", "another of these words", "after",
			"/listens")
		require.Equal(t, "/listens", p.Submit("/login/code", http.StatusSeeOther, "code",
			codeOf(t, key, time.Now())).Header().Get("Location"))
	})
}

// A link for a new password does not go round the second step.
func TestAResetLinkDoesNotGoRoundTheSecondStep(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		p.types(servertest.Password)
		key, _ := p.turnsOn()
		user, err := p.DB.UserByName(t.Context(), p.name)
		require.NoError(t, err)
		p.As(p.User)
		link := p.Call(http.MethodPost, fmt.Sprintf("/admin/users/%d/reset", user.ID), "", http.StatusCreated)
		p.fresh()
		p.Do(http.MethodGet, link["url"].(string), "", "")
		w := p.Submit("/reset", http.StatusSeeOther, "password", "another of these words")
		require.Equal(t, "/login/code", w.Header().Get("Location"))
		p.Call(http.MethodGet, "/connections", "", http.StatusUnauthorized)
		time.Sleep(time.Minute)
		p.Submit("/login/code", http.StatusSeeOther, "code", codeOf(t, key, time.Now()))
		p.Call(http.MethodGet, "/connections", "", http.StatusOK)
	})
}

// A link for a new password ends the session of the browser in which it is opened, and the page for the code works.
func TestAResetLinkIsOpenedByWhoIsSignedIn(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		user, err := p.DB.UserByName(t.Context(), p.name)
		require.NoError(t, err)
		p.As(p.User)
		link := p.Call(http.MethodPost, fmt.Sprintf("/admin/users/%d/reset", user.ID), "", http.StatusCreated)
		p.fresh()
		p.types(servertest.Password)
		key, _ := p.turnsOn()
		p.Do(http.MethodGet, link["url"].(string), "", "")
		p.Submit("/reset", http.StatusSeeOther, "password", "another of these words")
		require.Contains(t, p.Page("/login/code"), `name="code"`)
		p.Call(http.MethodGet, "/connections", "", http.StatusUnauthorized)
		time.Sleep(time.Minute)
		p.Submit("/login/code", http.StatusSeeOther, "code", codeOf(t, key, time.Now()))
		p.Call(http.MethodGet, "/connections", "", http.StatusOK)
	})
}

// Everybody needs a second step: who has none sets it up and reaches nothing else before; programs go on.
func TestASecondStepIsRequired(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		p.types(servertest.Password)
		token := p.Call(http.MethodPost, "/tokens", `{"name":"script","scope":"read"}`, http.StatusCreated)["token"]
		p.SecondStep = "administrators"
		p.fresh()
		p.types(servertest.Password)
		p.Page("/listens") // she does not administer
		p.SecondStep = "everybody"
		p.fresh()
		p.types(servertest.Password)
		for _, path := range []string{"/", "/listens", "/settings/account", "/settings/programs", "/notifications"} {
			w := p.Do(http.MethodGet, path, "", "")
			require.Equal(t, "/settings/account/second-step", w.Header().Get("Location"), path)
		}
		p.Submit("/settings/account/name", http.StatusSeeOther, "name", "Beatrix")
		p.Call(http.MethodGet, "/account", "", http.StatusForbidden)
		p.Call(http.MethodPost, "/tokens", `{"name":"more","scope":"read"}`, http.StatusForbidden)
		require.Equal(t, http.StatusUnauthorized, p.Do(http.MethodGet, "/api/v1/events/sse", "", "").Code)
		w := p.Knock(http.MethodGet, "/api/v1/listens", "Authorization", "Bearer "+token.(string))
		require.Equal(t, http.StatusOK, w.Code)

		require.Contains(t, p.Page("/settings/account/second-step"), "ask for a second step. Set it up to go on.")
		time.Sleep(11 * time.Minute)
		confirm := p.Submit("/settings/account/second-step", http.StatusSeeOther).Header().Get("Location")
		require.Contains(t, confirm, "/confirm?after=")
		require.Contains(t, p.Page(confirm), "Is it you?")
		for _, path := range []string{"/recovery", "/off"} {
			w := p.Do(http.MethodGet, "/settings/account/second-step"+path, "", "")
			require.Equal(t, "/settings/account/second-step", w.Header().Get("Location"), path)
		}
		p.Submit(confirm, http.StatusSeeOther, "password", servertest.Password)
		p.Submit("/settings/account/second-step", http.StatusSeeOther)
		time.Sleep(16 * time.Minute)
		p.Call(http.MethodPost, "/account/second-step/confirm", `{"code":"123456"}`, http.StatusNotFound)
		p.Call(http.MethodPost, "/account/confirm", fmt.Sprintf(`{"password":%q}`, servertest.Password),
			http.StatusNoContent)
		key, _ := p.turnsOn()
		require.Contains(t, p.Page("/settings/account"), "Bea")
		answer := p.Call(http.MethodGet, "/account/factors", "", http.StatusOK)["second_step"].(map[string]any)
		require.Equal(t, []any{true, true, 10.0},
			[]any{answer["on"], answer["required"], answer["recovery_codes_left"]})

		require.Contains(t, p.Page("/settings/account/second-step/off"), "you&#39;ll set it up again right away")
		p.Submit("/settings/account/second-step/off", http.StatusSeeOther)
		require.Equal(t, http.StatusSeeOther, p.Do(http.MethodGet, "/listens", "", "").Code)
		p.SecondStep = "nobody"
		session := p.Session
		p.fresh()
		p.Session = session
		p.Page("/listens")
		require.NotEmpty(t, key)
	})
}

// Two browsers have to set it up: what one of them did lets the other in only with a code.
func TestTheSecondStepIsSetUpInOneBrowserOnly(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		p.SecondStep = "everybody"
		p.fresh()
		p.types(servertest.Password)
		thief := p.Session
		p.fresh()
		p.types(servertest.Password)
		p.turnsOn()
		p.Page("/settings/account")
		p.fresh()
		p.Session = thief
		p.Call(http.MethodPost, "/account/second-step", "", http.StatusUnauthorized)
	})
}

// New recovery codes take the place of the earlier ones; with the second step off, none works.
func TestRecoveryCodesAreRenewed(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		p.types(servertest.Password)
		p.Call(http.MethodPost, "/account/second-step/recovery-codes", "", http.StatusNotFound)
		_, old := p.turnsOn()
		require.Contains(t, p.Page("/settings/account/second-step/recovery"), "The earlier ones stop working.")
		page := p.Page(p.Submit("/settings/account/second-step/recovery", http.StatusSeeOther).Header().Get("Location"))
		require.NotContains(t, page, old[0])
		fresh := p.Call(http.MethodPost, "/account/second-step/recovery-codes", "", http.StatusOK)["recovery_codes"]
		try := func(code any) *httptest.ResponseRecorder {
			b := &servertest.Browser{Household: p.Household, Agent: servertest.Firefox, Address: "10.1.1.1"}
			return b.Ask(http.MethodPost, "/api/v1/session",
				fmt.Sprintf(`{"name":"bea","password":%q,"code":%q}`, servertest.Password, code))
		}
		require.Equal(t, http.StatusUnauthorized, try(old[0]).Code)
		require.Equal(t, http.StatusCreated, try(fresh.([]any)[3]).Code)
		p.Call(http.MethodDelete, "/account/second-step", "", http.StatusNoContent)
		p.Call(http.MethodDelete, "/account/second-step", "", http.StatusNoContent)
		require.Equal(t, http.StatusCreated, try("nonsense").Code, "nothing asks for it")
		user, err := p.DB.UserByName(t.Context(), "Bea")
		require.NoError(t, err)
		left, err := p.DB.RecoveryLeft(t.Context(), user.ID)
		require.NoError(t, err)
		require.Zero(t, left)
	})
}

// Who comes from elsewhere has no password, and no second step.
func TestNoSecondStepWithoutAPassword(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		p := bea(t)
		u, err := p.DB.AddUser(t.Context(), accounts.User{Name: "Cas", Role: accounts.Member, CreatedAt: time.Now()},
			false)
		require.NoError(t, err)
		p.SecondStep = "everybody"
		p.As(u.ID)
		require.Contains(t, p.Page("/settings/account"), "there&#39;s no second step.")
		p.Call(http.MethodPost, "/account/second-step", "", http.StatusUnprocessableEntity)
	})
}
