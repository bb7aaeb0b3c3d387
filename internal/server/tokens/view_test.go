package tokens

import (
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/words"
	"reprise/web/ui/uitest"
)

func TestTheProgramsPage(t *testing.T) {
	t.Parallel()
	past, later := time.Now().Add(-time.Hour), time.Now().AddDate(0, 1, 0)
	all := []accounts.Token{
		{ID: 1, Name: uitest.Hostile, LastFour: "abcd", Scope: accounts.Read, LastUsedAt: past, ExpiresAt: later},
		{ID: 2, Name: "Old", LastFour: "efgh", Scope: accounts.Operate, ExpiresAt: past}}
	member := pageView{Tokens: all, Problem: "What is wrong.", Name: uitest.Hostile}
	admin := member
	admin.Admin = true
	for _, v := range []pageView{{}, member, admin} {
		uitest.Sound(t, func(*words.Language) templ.Component { return programs(v) })
	}
	html := uitest.HTML(t, words.English, programs(member))
	require.Equal(t, 1, strings.Count(html, ">expired<"), "one of the two has ended")
	require.Equal(t, 2, strings.Count(html, "/revoke"))
	// Only an administrator may make a token that administers.
	choice := `value="` + string(accounts.Full) + `"`
	require.NotContains(t, html, choice)
	require.Contains(t, uitest.HTML(t, words.English, programs(admin)), choice)
}

func TestANewTokenSaysHowLongItWorks(t *testing.T) {
	t.Parallel()
	v := madeView{Token: accounts.Token{Name: uitest.Hostile, Scope: accounts.Read}, Secret: "the-secret"}
	require.Contains(t, v.facts(t.Context()), "It never expires.")
	v.ExpiresAt = time.Date(2027, time.March, 1, 12, 0, 0, 0, time.UTC)
	require.Contains(t, v.facts(t.Context()), "1 March 2027")
	v.Demo = true
	require.Contains(t, v.facts(t.Context()), "It works in this demo only, and ends with it.")
	uitest.Sound(t, func(*words.Language) templ.Component { return made(v) })
	require.Contains(t, uitest.HTML(t, words.German, made(v)), "the-secret")
}
