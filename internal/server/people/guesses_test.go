package people_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/server/servertest"
)

// signIn tries a password from an address, with the cookies of a browser.
func signIn(h *servertest.Household, address, name, typed string, browser ...*http.Cookie) *httptest.ResponseRecorder {
	h.T.Helper()
	body := fmt.Sprintf(`{"name":%q,"password":%q}`, name, typed)
	r := httptest.NewRequestWithContext(h.T.Context(), http.MethodPost, "/api/v1/session", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.RemoteAddr = "[" + address + "]:1"
	for _, c := range browser {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// waitOf returns the wait that a refusal asks for, which it also says in words.
func waitOf(t *testing.T, w *httptest.ResponseRecorder) time.Duration {
	t.Helper()
	require.Equal(t, http.StatusTooManyRequests, w.Code, w.Body)
	seconds, err := strconv.Atoi(w.Header().Get("Retry-After"))
	require.NoError(t, err)
	require.Positive(t, seconds)
	require.Regexp(t, `Please wait (a second|\d+ seconds|a minute|\d+ minutes), then try again\.`, w.Body.String())
	return time.Duration(seconds) * time.Second
}

// device returns the cookie by which a browser is known, without the one of its session.
func device(t *testing.T, w *httptest.ResponseRecorder) *http.Cookie {
	t.Helper()
	require.Equal(t, http.StatusCreated, w.Code, w.Body)
	for _, c := range w.Result().Cookies() {
		if strings.HasSuffix(c.Name, "reprise_device") {
			return c
		}
	}
	require.FailNow(t, "no cookie of a device")
	return nil
}

// Nothing in the answers tells a name that exists from one that does not.
func TestGuessesFromManyAddressesAreSlowed(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.Public(t)
		guess := func(name string) (answers []string) {
			for i := range 40 {
				w := signIn(h, servertest.Address(i), name, "guess number "+fmt.Sprint(i))
				answers = append(answers, fmt.Sprint(w.Code, w.Header(), w.Body))
				if i >= 10 {
					waitOf(t, w)
				} else {
					require.Equal(t, http.StatusUnauthorized, w.Code)
				}
			}
			return answers
		}
		known := guess("bea ")
		time.Sleep(time.Hour)
		require.Equal(t, known, guess("Nobody"))
	})
}

// Another way to write a name brings no more tries at its account.
func TestANameHasTenTriesHoweverItIsWritten(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.Public(t)
		for _, spellings := range [][4]string{{"BEA", "Bea", "bea", " bEa "}, {"CAI", "Cai", "cai", " cAi "}} {
			for i := range 10 {
				w := signIn(h, servertest.Address(i), spellings[i%4], "guess")
				require.Equal(t, http.StatusUnauthorized, w.Code)
			}
			for i, name := range spellings {
				waitOf(t, signIn(h, servertest.Address(20+i), name, servertest.Password))
			}
			time.Sleep(time.Minute) // in which address, network and everybody recover
		}
	})
}

// Fifty strangers at once are everybody's limit. A refused try costs nothing, and the wait is that of all limits.
func TestEverybodyTogetherIsSlowed(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.Public(t)
		for i := range 50 {
			w := signIn(h, servertest.Address(i), fmt.Sprint("name ", i), "guess")
			require.Equal(t, http.StatusUnauthorized, w.Code)
		}
		for range 12 {
			waitOf(t, signIn(h, servertest.Address(60), "Bea", servertest.Password))
		}
		time.Sleep(time.Second)
		device(t, signIn(h, servertest.Address(60), "Bea", servertest.Password))
		time.Sleep(time.Hour)
		for range 10 {
			require.Equal(t, http.StatusUnauthorized, signIn(h, servertest.Address(61), "Bea", "guess").Code)
		}
		require.Equal(t, time.Minute, waitOf(t, signIn(h, servertest.Address(61), "Bea", servertest.Password)),
			"of the account")
	})
}

func TestKnownDeviceIsNeverLockedOut(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.Public(t)
		w := signIn(h, "192.0.2.1", "Bea", servertest.Password)
		known := device(t, w)
		require.Equal(t, "__Host-reprise_device", known.Name)
		require.True(t, known.HttpOnly && known.Secure && known.SameSite == http.SameSiteStrictMode)
		require.Greater(t, known.MaxAge, 300*24*60*60, "seconds")

		for i := range 40 { // at her account, and from her network
			signIn(h, "192.0.2.1", "Bea", "guess")
			signIn(h, servertest.Address(i), "Bea", "guess")
		}
		wait := waitOf(t, signIn(h, "192.0.2.1", "Bea", servertest.Password))
		again := device(t, signIn(h, "192.0.2.1", "Bea", servertest.Password, known))
		device(t, signIn(h, "192.0.2.99", "Bea", servertest.Password, again))
		other := &http.Cookie{Name: known.Name, Value: known.Value[:len(known.Value)-3] + "xyz"}
		waitOf(t, signIn(h, servertest.Address(50), "Bea", servertest.Password, other))
		time.Sleep(wait)
		device(t, signIn(h, "192.0.2.1", "Bea", servertest.Password)) // from a new device after the wait
	})
}

// A thief of the cookie guesses no faster than anybody else, and not at other accounts.
func TestKnownDeviceHasLimitsOfItsOwn(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.Public(t)
		_, err := h.Accounts.Create(t.Context(), "Cai", servertest.Password, "member", false)
		require.NoError(t, err)
		stolen := device(t, signIn(h, "192.0.2.1", "Bea", servertest.Password))
		for i := range 10 {
			require.Equal(t, http.StatusUnauthorized, signIn(h, servertest.Address(i), "Bea", "guess", stolen).Code)
		}
		waitOf(t, signIn(h, servertest.Address(11), "Bea", "guess", stolen))
		device(t, signIn(h, servertest.Address(11), "Bea", servertest.Password)) // which slows nobody else
		for i := range 10 {
			require.Equal(t, http.StatusUnauthorized, signIn(h, servertest.Address(i), "Cai", "guess", stolen).Code)
		}
		waitOf(t, signIn(h, servertest.Address(11), "Cai", servertest.Password, stolen))
	})
}

// A browser that two people share is known to both.
func TestSharedBrowserIsKnownToBoth(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.Public(t)
		_, err := h.Accounts.Create(t.Context(), "Cai", servertest.Password, "member", false)
		require.NoError(t, err)
		shared := device(t, signIn(h, "192.0.2.1", "Bea", servertest.Password))
		shared = device(t, signIn(h, "192.0.2.1", "Cai", servertest.Password, shared))
		for i := range 12 {
			signIn(h, servertest.Address(i), "Bea", "guess")
			signIn(h, servertest.Address(i), "Cai", "guess")
		}
		device(t, signIn(h, servertest.Address(20), "Bea", servertest.Password, shared))
		device(t, signIn(h, servertest.Address(21), "Cai", servertest.Password, shared))
	})
}

func TestNewPasswordForgetsTheDevices(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.Public(t)
		known := device(t, signIn(h, "192.0.2.1", "Bea", servertest.Password))
		require.NoError(t, h.Accounts.ResetPassword(t.Context(), "Bea", "some other random words"))
		for i := range 10 {
			w := signIn(h, servertest.Address(i), "Bea", servertest.Password, known)
			require.Equal(t, http.StatusUnauthorized, w.Code)
		}
		waitOf(t, signIn(h, servertest.Address(11), "Bea", "some other random words", known))
		time.Sleep(time.Minute)
		known = device(t, signIn(h, "192.0.2.1", "Bea", "some other random words"))
		time.Sleep(399 * 24 * time.Hour)
		known = device(t, signIn(h, "192.0.2.1", "Bea", "some other random words", known))
		time.Sleep(401 * 24 * time.Hour)
		for i := range 10 {
			signIn(h, servertest.Address(i), "Bea", "guess")
		}
		waitOf(t, signIn(h, "192.0.2.1", "Bea", "some other random words", known)) // it has ended
	})
}

// One customer of a provider has a /64, and can send each try from another address of it.
func TestIPv6NetworkIsOneAddress(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.Public(t)
		for i := range 10 {
			w := signIn(h, fmt.Sprintf("2001:db8:1:2::%x", i+1), fmt.Sprint("name ", i), "guess")
			require.Equal(t, http.StatusUnauthorized, w.Code)
		}
		waitOf(t, signIn(h, "2001:db8:1:2::ffff", "another", "guess"))
		require.Equal(t, http.StatusUnauthorized, signIn(h, "2001:db8:1:3::1", "one more", "guess").Code)
		h = servertest.Public(t) // with empty buckets, which addresses may share by chance
		for i := range 60 {      // the /24 that somebody rents
			w := signIn(h, fmt.Sprintf("198.51.100.%d", i), fmt.Sprint("rented ", i), "guess")
			require.Equal(t, i < 30, w.Code == http.StatusUnauthorized, "%d: %d %s", i, w.Code, w.Body)
		}
	})
}

func TestOldPasswordIsNotGuessedFast(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.Public(t)
		w := signIn(h, "198.51.100.1", "Bea", servertest.Password)
		all := w.Result().Cookies()
		h.Session = all[:1] // of the stolen session
		change := func(old string, status int) *httptest.ResponseRecorder {
			return h.Submit("/settings/account/password", status, "old", old, "new", "some other random words")
		}
		for range 10 {
			change("guess", http.StatusUnprocessableEntity)
		}
		w = change("guess", http.StatusTooManyRequests)
		require.NotEmpty(t, w.Header().Get("Retry-After"))
		require.Contains(t, servertest.Text(w), "Please wait")
		h.Session = all // in the browser of its owner
		change(servertest.Password, http.StatusSeeOther)
	})
}

// Guesses from elsewhere do not lock out the operator's own machine.
func TestAdminTokenIsNotGuessedFast(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.AdminToken = "sixteen-characters-and-more"
		h.As(0)
		ask := func(address, token string) int {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/admin/users", nil)
			r.Header.Set("Authorization", "Bearer "+token)
			r.RemoteAddr = address + ":1"
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w.Code
		}
		right := string(h.AdminToken)
		require.Equal(t, http.StatusOK, ask("192.0.2.1", right))
		got := map[int]int{}
		for i := range 100 {
			got[ask(servertest.Address(i), "guess")]++
		}
		require.Equal(t, map[int]int{http.StatusUnauthorized: 30, http.StatusTooManyRequests: 70}, got)
		for range 100 {
			require.Equal(t, http.StatusOK, ask("192.0.2.1", right))
		}
		require.Equal(t, http.StatusTooManyRequests, ask(servertest.Address(1), right), "nor is it found out now")
	})
}

// The form says the same as the API.
func TestFormSaysHowLongToWait(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.Public(t)
		for i := range 10 {
			signIn(h, servertest.Address(i), "Bea", "guess")
		}
		w := h.Submit("/login", http.StatusTooManyRequests, "name", "Bea", "password", servertest.Password)
		require.NotEmpty(t, w.Header().Get("Retry-After"))
		require.Contains(t, servertest.Text(w), "Please wait a minute, then try again.")
		for i := range 40 { // guesses at the code of the first account
			form := url.Values{"code": {fmt.Sprint(i)}}
			w = h.Do(http.MethodPost, "/setup", form.Encode(), "application/x-www-form-urlencoded")
		}
		require.Equal(t, http.StatusTooManyRequests, w.Code)
	})
}

func TestOwnerSeesWhoTriedToGetIn(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.Public(t)
		for range 3 {
			signIn(h, "203.0.113.7", "bea", "guess")
		}
		signIn(h, "203.0.113.8", "my own password", "guess")
		w := signIn(h, "192.0.2.1", "Bea", servertest.Password)
		h.Session = w.Result().Cookies()
		signIn(h, "192.0.2.1", "Bea", servertest.Password)
		h.Submit("/settings/account/password", http.StatusSeeOther, "old", servertest.Password,
			"new", "some other random words")
		page := h.Page("/activity")
		for _, sentence := range []string{"3 failed sign-in attempts from 203.0.113.7.",
			"Bea signed in twice with a program from 192.0.2.1.", "Bea changed the password."} {
			require.Contains(t, page, sentence)
		}
		require.NotContains(t, page, "203.0.113.8")
		entries := h.Call(http.MethodGet, "/activity", "", http.StatusOK)["activity"].([]any)
		require.Len(t, entries, 3)
		tries := entries[2].(map[string]any)
		require.Equal(t, "sign_in_failed", tries["action"])
		require.Equal(t, []any{float64(3), nil}, []any{tries["times"], tries["actor"]})
		h.As(h.User) // the administrator
		page = h.Page("/activity")
		require.NotContains(t, page, "203.0.113.7", "it is Bea's own")
		// written like one at a name that exists, also because the time to write it would tell which names do
		require.Contains(t, page, "A failed sign-in attempt from 203.0.113.8, with a name that doesn&#39;t exist here.")
		require.NotContains(t, page, "my own password", "people type their password there")
	})
}

// The call that makes an account, or finds the same one there, is no way around the limits.
func TestAddingAccountsTriesNoPasswordsFast(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.Public(t)
		h.AdminToken = "a token of the operator"
		h.Restart()
		add := func(name, typed string) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/admin/users", strings.NewReader(
				fmt.Sprintf(`{"name":%q,"password":%q,"role":"member"}`, name, typed)))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer a token of the operator")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w
		}
		require.Equal(t, http.StatusOK, add("Bea", servertest.Password).Code, "may be repeated")
		time.Sleep(time.Hour)
		for i := range 10 {
			require.Equal(t, http.StatusConflict, add("Bea", fmt.Sprint("guess number ", i)).Code)
		}
		waitOf(t, add("Bea", servertest.Password))
		require.Equal(t, http.StatusCreated, add("Cai", servertest.Password).Code, "others are made as before")
	})
}

// A flood from everywhere fills neither the log nor the disk.
func TestFloodWritesFewLinesOfTheLog(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.Public(t)
		var log bytes.Buffer
		h.Log = slog.New(slog.NewJSONHandler(&log, nil))
		h.As(0)
		for i := range 1000 {
			signIn(h, servertest.Address(i), "Bea", "guess")
		}
		require.Equal(t, 10, strings.Count(log.String(), "wrong_password"))
		require.Equal(t, 60, strings.Count(log.String(), "too_many_tries"))
	})
}
