package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/words"
)

func TestSettingsOfAMemberAndAnAdministrator(t *testing.T) {
	t.Parallel()
	labels := func(l *words.Language, role string) (all []string) {
		for _, e := range Settings(words.With(t.Context(), l), accounts.User{Role: role}) {
			require.NotEmpty(t, e.Lead)
			all = append(all, e.Label+" "+e.URL)
		}
		return all
	}
	require.Equal(t, []string{"Services /settings/services", "Notifications /settings/notifications",
		"Your account /settings/account",
		"Public profile /settings/profile", "Programs /settings/programs"}, labels(words.English, accounts.Member))
	require.Equal(t, []string{"Dienste /settings/services", "Benachrichtigungen /settings/notifications",
		"Dein Konto /settings/account", "Öffentliches Profil /settings/profile",
		"Personen /settings/people", "Dieser Server /settings/server",
		"Programme /settings/programs"}, labels(words.German, accounts.Admin))
}
