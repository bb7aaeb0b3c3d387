package people

import (
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/removal"
	"reprise/internal/words"
	"reprise/web/ui/uitest"
)

var hostile = accounts.User{ID: 2, Name: uitest.Hostile, Role: accounts.Member, CreatedAt: time.Now()}

func TestPagesOfPeopleAreSound(t *testing.T) {
	t.Parallel()
	admin := accounts.User{ID: 1, Name: "Ann", Role: accounts.Admin, CreatedAt: time.Now()}
	list1 := listView{People: []seen{{User: admin, At: time.Now()}, {User: hostile}}, You: 1, Form: "invite",
		Problem: "What is wrong.", Name: uitest.Hostile, Open: []accounts.Link{
			{ID: 1, Kind: accounts.Invitation, Role: accounts.Member, ExpiresAt: time.Now()},
			{ID: 2, Kind: accounts.Invitation, Name: uitest.Hostile, Role: accounts.Admin, ExpiresAt: time.Now()}}}
	link := accounts.Link{Kind: accounts.Reset, Name: uitest.Hostile, ExpiresAt: time.Now()}
	for name, page := range map[string]templ.Component{
		"the list":     list(list1),
		"a person":     person(personView{about: about{User: hostile}, Sessions: 2}),
		"their name":   person(personView{about: about{User: hostile}, Problem: "Wrong.", Name: uitest.Hostile}),
		"oneself":      person(personView{about: about{User: admin, Self: true, Only: true}}),
		"a removal":    removing(removalView{about: about{User: hostile}}),
		"an own one":   removing(removalView{about: about{User: admin, Self: true}}),
		"the only one": removing(removalView{about: about{User: admin, Self: true, Only: true}}),
		"a reset":      newLink(madeLink{Link: link, URL: "https://reprise.example.org/reset/code"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			uitest.Sound(t, func(*words.Language) templ.Component { return page })
		})
	}
}

// Of somebody without a password nothing is said that is true of one.
func TestWhoHasNoPasswordIsToldOfRightly(t *testing.T) {
	t.Parallel()
	page := func(hash string) string {
		u := accounts.User{ID: 2, Name: "Bea", Role: accounts.Member, CreatedAt: time.Now(), PasswordHash: hash}
		return uitest.HTML(t, words.English, person(personView{about: about{User: u}, Sessions: 2}))
	}
	for _, said := range []string{"the old password works", "They sign in with it", "The password stays the same"} {
		require.Contains(t, page("a hash"), said)
		require.NotContains(t, page(""), said)
	}
	require.Contains(t, page(""), "Bea signs in without a password.")
}

func TestWhoseRoleCanBeChanged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		about about
		to    string // the role that the button gives; empty for none
	}{
		"a member":                   {about{User: accounts.User{Role: accounts.Member}}, accounts.Admin},
		"an administrator":           {about{User: accounts.User{Role: accounts.Admin}}, accounts.Member},
		"oneself, one of several":    {about{User: accounts.User{Role: accounts.Admin}, Self: true}, accounts.Member},
		"the only one":               {about{User: accounts.User{Role: accounts.Admin}, Only: true}, ""},
		"oneself, and the only one ": {about{User: accounts.User{Role: accounts.Admin}, Only: true, Self: true}, ""},
	} {
		lead, do := personView{about: c.about}.role(t.Context())
		require.NotEmpty(t, lead, name)
		if c.to == "" {
			require.Empty(t, do, name)
			continue
		}
		require.Equal(t, c.to, do[0].Fields[0].Value, name)
	}
}

// What is deleted with an account is said first: always the listens, and else what there is.
func TestARemovalSaysWhatGoes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		has  removal.Counts
		want []string
	}{
		"nothing": {removal.Counts{}, []string{"0 listens"}},
		"much": {removal.Counts{Listens: 1, Playlists: 2, Tokens: 1},
			[]string{"1 listen", "2 playlists", "1 access token"}},
	} {
		got := removalView{about: about{User: hostile, Has: c.has}}.goes(t.Context())
		require.Len(t, got, len(c.want), name)
		for i, want := range c.want {
			require.Contains(t, got[i], want, name)
		}
	}
}
