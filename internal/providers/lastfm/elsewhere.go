package lastfm

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"net/url"
	"slices"
	"strings"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// GNU FM, which Libre.fm runs, has Last.fm's API with some differences, see
// https://github.com/foocorp/gnu-fm/tree/main/nixtape/2.0:
//   - Any 32 letters are an API key, and no signature is checked.
//   - People sign in with their name and password (auth.getMobileSession).
//   - user.getRecentTracks knows no from and to, and answers with error 7 for a person without plays.
//   - It ignores a play that it has already with 91, and has swapped 3 and 4.
//   - An error may be an object with "#text" and "code".

// getMobileSession signs in at a GNU FM.
const getMobileSession = "auth.getMobileSession"

// gnuFM is what an adapter of a GNU FM has besides one of Last.fm.
type gnuFM struct {
	at             *url.URL
	user, password string
}

// ourKey is the API key and the shared secret at any GNU FM.
const ourKey = "72657072697365207265707269736521"

// ElsewhereURL is the credential with the address of a GNU FM; it is empty for Libre.fm.
const ElsewhereURL = "url"

// ElsewhereAt returns the server at an address that a person typed; Libre.fm for none. The error is a
// [resilience.SettingError].
func ElsewhereAt(typed string) (*url.URL, error) {
	if strings.TrimSpace(typed) == "" {
		typed = libreFM
	}
	u, err := providers.ServerAddress(ElsewhereURL, typed)
	if err == nil {
		u.Path = strings.TrimSuffix(u.Path, "/2.0")
	}
	return u, err
}

const libreFM = "libre.fm"

// OpenElsewhere returns the adapter for a GNU FM, whose calls are parts of call. It signs in with the name and the
// password, and again whenever its session is refused.
func OpenElsewhere(call resilience.Call, cred library.Credentials, user, password string) providers.Adapter {
	a := &adapter{call: call, sessionKey: cred[sessionField], user: cred[userField]}
	at, err := ElsewhereAt(cred[ElsewhereURL])
	a.gnu = &gnuFM{at: at, user: strings.TrimSpace(user), password: password}
	a.api = api{key: ourKey, secret: ourKey, err: err}
	if err == nil {
		a.base = at.JoinPath("2.0/").String()
	}
	return a
}

// ElsewhereEndpoints are the calls of an adapter from [OpenElsewhere].
func ElsewhereEndpoints() []string {
	return []string{endpoint(getMobileSession), endpoint(recentTracks), endpoint(scrobble), endpoint(nowPlaying)}
}

// The codes of GNU FM that Last.fm doesn't have, or not in this sense.
const (
	noSuchThing    = "7"
	invalidSession = "9"
	alreadyThere   = 91
)

var (
	// signInTable is the error table for signing in. GNU FM answers 4 for a wrong name or password.
	signInTable = slices.Concat(rows(resilience.Meaning{
		Class: resilience.Fatal, Category: resilience.Auth, Scope: resilience.ScopeConnection,
		Advice: words.New("lastfm.password"),
	}, "4", "6", "7"), slices.DeleteFunc(slices.Clone(table), func(r providers.Row) bool { return r.Code == "4" }))

	// gnuIgnoredTable is ignoredTable of a GNU FM.
	gnuIgnoredTable = slices.Concat(
		ignored(words.New("lastfm.artist"), "1"),
		ignored(words.New("lastfm.title"), "2"),
		ignored(words.New("lastfm.future"), "3"),
		ignored(words.New("lastfm.too_old"), "4"),
		ignored(words.New("lastfm.ignored"), withoutReason),
	)
)

// signIn learns a session key, and how the server itself spells the person's name.
func (a *adapter) signIn(ctx context.Context) error {
	hashed := func(text string) string { sum := md5.Sum([]byte(text)); return hex.EncodeToString(sum[:]) }
	params := url.Values{"username": {a.gnu.user},
		"authToken": {hashed(strings.ToLower(a.gnu.user) + hashed(a.gnu.password))}}
	call := a.call
	call.Effect = resilience.Read // it may be done again
	var body sessionBody
	if err := a.ask(ctx, call, getMobileSession, params, signInTable, &body); err != nil {
		return err
	}
	if body.Session.Name == "" || body.Session.Key == "" {
		return providers.Broken(endpoint(getMobileSession), "a session without a name or a key")
	}
	a.sessionKey, a.user = body.Session.Key, body.Session.Name
	return nil
}

// proveElsewhere is Prove at a GNU FM.
func (a *adapter) proveElsewhere(ctx context.Context) (providers.Account, error) {
	if err := a.signIn(ctx); err != nil {
		return providers.Account{}, err
	}
	account := providers.Account{ID: a.gnu.at.Host + "#" + strings.ToLower(a.user), Name: a.user,
		Learned: library.Credentials{sessionField: a.sessionKey, userField: a.user}}
	if a.gnu.at.Host != libreFM {
		account.Label, account.Learned[ElsewhereURL] = a.gnu.at.Host, a.gnu.at.String()
	}
	return account, nil
}

// refusedWith reports whether err is the server's refusal with this code.
func refusedWith(err error, code string) bool {
	e, ok := errors.AsType[*resilience.AnswerError](err)
	return ok && e.Code == code
}

// ElsewhereTables returns the error tables of an adapter from [OpenElsewhere] for docs/providers.md.
func ElsewhereTables(provider string) providers.Tables {
	t := tables()
	t.Provider, t.Sources = provider, []string{"https://github.com/foocorp/gnu-fm/tree/main/nixtape/2.0"}
	t.Reading = "GNU FM has Last.fm's API. A person without plays is error 7, which is no failure, and so is 91 for " +
		"a play that it has already. user.getRecentTracks ignores from and to: asking it for the first seconds of " +
		"1970 shows that, and its months are then not compared."
	t.Of = []providers.NamedTable{
		{Calls: "signing in", Table: signInTable},
		{Calls: "reading plays", Table: userTable},
		{Calls: "sending plays", Table: scrobbleTable},
		{Calls: "plays that are ignored", Table: gnuIgnoredTable},
	}
	return t
}
