package activity

import (
	"testing"
	"time"

	"reprise/internal/words"

	"github.com/stretchr/testify/require"
)

func TestEveryActionHasWords(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 21, 0, 0, 0, time.UTC)
	alice := Entry{At: at, ActorID: 1, Actor: "Alice", Connection: "spotify"}
	with := func(e Entry, a Action, subject, detail string) Entry {
		e.Action, e.Subject, e.Detail = a, subject, words.Plain(detail)
		return e
	}
	often := func(e Entry, a Action, subject string, times int) Entry {
		e.Action, e.Subject, e.Times = a, subject, times
		return e
	}
	server := Entry{At: at, Connection: "spotify"}
	operator := Entry{At: at, Actor: Operator.Name}
	ofAlice := Entry{At: at, User: 1}
	for _, row := range []struct {
		want string
		Entry
	}{
		{"Alice paused Spotify.", with(alice, Paused, "", "")},
		{"Alice connected Spotify as alice.", with(alice, Connected, "alice", "")},
		{"Alice disconnected Spotify. What was read was deleted.",
			with(alice, Disconnected, "", "What was read was deleted.")},
		{"Alice sent 1 item again.", with(alice, Redriven, "1", "")},
		{"Alice sent 37 items again.", with(alice, Redriven, "37", "")},
		{"Alice added {who}.", with(alice, UserAdded, "{who}", "")},
		{"Someone with the admin token added Ben.", with(operator, UserAdded, "Ben", "")},
		{"A failed sign-in attempt from 203.0.113.7.", with(ofAlice, SignInFailed, "203.0.113.7", "")},
		{"3 failed sign-in attempts from 203.0.113.7.", often(ofAlice, SignInFailed, "203.0.113.7", 3)},
		{"2 failed sign-in attempts from ::1, with a name that doesn't exist here.",
			often(server, SignInFailed, "::1", 2)},
		{"2 wrong passwords or codes at a confirmation, from ::1.", often(ofAlice, ConfirmFailed, "::1", 2)},
		{"Alice signed in with curl from ::1.", often(alice, SignedIn, "curl from ::1", 1)},
		{"Alice signed in twice with curl from ::1.", often(alice, SignedIn, "curl from ::1", 2)},
		{"Alice signed in 12 times with curl from ::1.", often(alice, SignedIn, "curl from ::1", 12)},
		{"Reprise stopped reading listens from Spotify. It says no.", with(server, Stopped, "listens", "It says no.")},
		{"Reprise no longer contacts Spotify.", with(server, Stopped, "", "")},
		{"Sending to Spotify works again, after 40 minutes.",
			with(server, Recovered, "deliveries", "2026-11-20T20:20:00Z")},
		{"Spotify works again, after 3 hours.", with(server, Recovered, "", "2026-11-20T17:10:00Z")},
		{"Spotify works again, after 4 days.", with(server, Recovered, "", "2026-11-16T17:10:00Z")},
		{"Spotify works again.", with(server, Recovered, "", "2026-11-20T20:59:00Z")},
		{"Spotify isn't responding.", with(server, BreakerOpened, "GET /x", "")},
		{"Spotify: not responding when Reprise reads listens.",
			with(server, BreakerOpened, "GET 127.0.0.1:44333/1/user/{name}/listens", "")},
		{"Spotify: reading playlists works again.", with(server, BreakerClosed, "GET x/v1/me/playlists", "")},
		{"Spotify: not responding when Reprise sends.",
			with(server, BreakerOpened, "POST x track.scrobble", "")},
		{"Alice let Reprise contact Spotify again.", with(alice, BreakerReset, "GET /x", "")},
		{"Alice let Reprise contact GET /x again.",
			with(Entry{ActorID: 1, Actor: "Alice"}, BreakerReset, "GET /x", "")},
	} {
		require.Equal(t, row.want, row.Sentence(words.Plain("Spotify")).String())
	}
	for _, a := range []Action{
		Connected, Reconnected, Disconnected, Paused, Resumed, Synced, Retried, Redriven, Discarded, ForwardingOn,
		ForwardingOff, Imported, BreakerReset, KeyReset, UserAdded, PasswordChanged, UserRemoved, RoleChanged,
		Invited, InvitationRevoked, Joined, ResetLinkMade, Exported, TokenMade, TokenRevoked, PlayerAdded,
		PlayerRenewed, PlayerRemoved, YearShared, YearUnshared,
		ProfileShared, ProfileUnshared, ListShared, ListUnshared,
		ListeningShared, ListeningUnshared,
		ChannelAdded, ChannelChanged, ChannelRemoved, Stopped, Recovered, Held, StillFailing, BreakerOpened,
		BreakerClosed, UplinkLost, UplinkBack, KeyRefused, SignedIn, SignInFailed, ConfirmFailed,
		PasswordReset, SessionEnded, SessionsEnded, SignedOut, Renamed, SettingChanged, SettingReset,
	} {
		text := with(alice, a, "x", "").Sentence(words.Plain("Spotify")).String()
		require.NotEmpty(t, text, a)
		require.NotContains(t, text, "{", a)
	}
}

func TestARequestIsForThoseWhoLookIntoIt(t *testing.T) {
	t.Parallel()
	e := Entry{Connection: "listenbrainz", Action: BreakerOpened, Subject: "GET 127.0.0.1:1/1/user/{name}/listens"}
	require.Equal(t, e.Subject, e.Request())
	require.Equal(t, "ListenBrainz antwortet beim Lesen der Wiedergaben nicht.",
		e.Sentence(words.Plain("ListenBrainz")).In(words.German))
	require.Empty(t, Entry{Action: Paused, Subject: "x"}.Request())
}

func TestActionsReadWellInGerman(t *testing.T) {
	t.Parallel()
	model := words.New("provider.openai")
	require.Equal(t, "Alice hat Sprachmodell pausiert.",
		Entry{Actor: "Alice", ActorID: 1, Action: Paused}.Sentence(model).In(words.German))
	require.Equal(t, "Jemand hat 3-mal erfolglos versucht, sich von anderen Adressen aus anzumelden.",
		Entry{User: 1, Action: SignInFailed, Subject: OtherAddresses, Times: 3}.Sentence(model).In(words.German))
	require.Equal(t, "Jemand, der nicht mehr dabei ist, hat jemand eingeladen.",
		Entry{Actor: "x", ActorID: -1, Action: Invited, Subject: Somebody}.Sentence(model).In(words.German))
	require.Equal(t, "Alice hat die Anmeldung mit Safari auf einem iPhone (::1) beendet.", Entry{Actor: "Alice",
		ActorID: 1, Action: SessionEnded, Subject: "Safari on an iPhone from ::1"}.Sentence(model).In(words.German))
}

func TestTheContextCarriesTheActor(t *testing.T) {
	t.Parallel()
	require.Zero(t, ActorOf(t.Context()))
	ctx := WithActor(t.Context(), Actor{ID: 1, Name: "Alice"})
	require.Equal(t, Actor{ID: 1, Name: "Alice"}, ActorOf(ctx))
	require.Zero(t, ActorOf(WithActor(ctx, Actor{})))
}
