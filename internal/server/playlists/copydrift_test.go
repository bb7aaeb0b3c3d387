package playlists_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/server/servertest"
)

// Promise: A copy of a playlist is compared: after 24 h: one call for all of a connection, and one for each that
// changed; what was deleted or edited there is noticed.
func TestAnUntouchedCopyCostsOneCallADay(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Copied()
		h.Days(1) // its tracks are read once, to know the service's own mark of them
		listed, opened := h.Far.Listed, h.Far.Opened
		h.Days(5)
		require.Equal(t, 5, h.Far.Listed-listed)
		require.Equal(t, opened, h.Far.Opened)
		require.Empty(t, h.Questions())
	})
}

func TestADeletedCopyIsAskedAboutOnce(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		path := h.Copied()
		h.Far.Gone = true
		h.Days(3)
		require.Equal(t, []string{"Rain was deleted on Navidrome"}, h.Questions(), "said once in three days")
		require.True(t, h.Far.Gone, "nothing is written before the person says so")
		c := h.Call(http.MethodGet, path, "", http.StatusOK)
		require.Equal(t, []any{"gone", "ask", false}, []any{c["drift"], c["when_changed"], c["up_to_date"]})
		html := h.Page("/notifications")
		require.Contains(t, html, "Write it again</button>")
		require.Contains(t, html, "Leave it as it is</button>")

		h.Submit(path, http.StatusSeeOther, "write", "rewrite")
		require.Empty(t, h.Questions())
		h.Carry()
		require.False(t, h.Far.Gone)
		require.Equal(t, []string{"1", "2"}, h.Far.List)
		require.Equal(t, true, h.Call(http.MethodGet, path, "", http.StatusOK)["up_to_date"])
		h.Far.Gone = true
		h.Days(1)
		require.False(t, h.Far.Gone, "the choice is remembered")
		require.Empty(t, h.Questions())
	})
}

// If a replacement in several calls breaks off, what it leaves behind doesn't count as a change by the person.
func TestAReplacementThatBrokeOffIsGoneOnWith(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		path := h.Copied()
		p := *h.Registry.Get("navidrome")
		p.Takes.Piecewise = true
		h.Registry.Replace(&p)
		h.Far.Halfway = []string{"1", "2", "2"} // the new tracks are added, and the old ones not yet removed
		h.Playlist("Rain", "Two")
		h.Carry()
		require.Equal(t, []string{"1", "2", "2"}, h.Far.List)
		h.Days(1)
		require.Empty(t, h.Questions())
		require.Equal(t, []string{"2"}, h.Far.List)
		require.Equal(t, true, h.Call(http.MethodGet, path, "", http.StatusOK)["up_to_date"])
	})
}

func TestACopyThatIsLeftIsNeverAskedAboutAgain(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		path := h.Copied()
		h.Far.Gone = true
		h.Days(1)
		require.Len(t, h.Questions(), 1)
		h.Submit(path, http.StatusSeeOther, "write", "leave")
		require.Empty(t, h.Questions())
		listed := h.Far.Listed
		h.Days(3)
		require.Empty(t, h.Questions())
		require.Equal(t, listed, h.Far.Listed, "nor looked at")
		h.Playlist("Rain", "Two", "One") // ours changes
		h.Carry()
		require.True(t, h.Far.Gone)
		require.Contains(t, h.Page(path[:len("/playlists/1")]), "Reprise leaves it deleted.")
		h.Call(http.MethodPatch, path, `{"when_changed":"write"}`, http.StatusOK)
		h.Carry()
		require.False(t, h.Far.Gone, "until the person thinks better of it")
		require.Equal(t, []string{"2", "1"}, h.Far.List)
	})
}

func TestACopyEditedThereIsKeptOrWrittenOver(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		path := h.Copied()
		h.Days(1)
		theirs := []string{"2", "1", "7"}
		h.Far.List = theirs
		h.Days(1)
		require.Equal(t, []string{"Rain was changed on Navidrome"}, h.Questions())
		html := h.Page(path[:len("/playlists/1")])
		require.Contains(t, html, "Overwrite it</button>")
		require.Contains(t, html, "Leave it as it is</button>")
		h.Playlist("Rain", "Two") // ours changes before the person has said anything
		h.Carry()
		require.Equal(t, theirs, h.Far.List)
		h.Submit(path, http.StatusSeeOther, "write", "leave")
		h.Days(2)
		require.Equal(t, theirs, h.Far.List)
		require.Empty(t, h.Questions())
		h.Submit(path, http.StatusSeeOther, "write", "rewrite")
		h.Carry()
		require.Equal(t, []string{"2"}, h.Far.List)
		h.Call(http.MethodPatch, path, `{"when_changed":"sometimes"}`, http.StatusUnprocessableEntity)
	})
}

// Ours changes before the day is over: their change is noticed then, and not lost.
func TestAnEditIsNoticedBeforeItIsWrittenOver(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		path := h.Copied()
		theirs := []string{"2"}
		h.Far.List = theirs
		h.Playlist("Rain", "Two", "One")
		h.Carry()
		require.Equal(t, theirs, h.Far.List)
		require.Equal(t, []string{"Rain was changed on Navidrome"}, h.Questions())
		require.Equal(t, "edited", h.Call(http.MethodGet, path, "", http.StatusOK)["drift"])
		h.Submit(path, http.StatusSeeOther, "write", "rewrite")
		h.Carry()
		require.Equal(t, []string{"2", "1"}, h.Far.List)
	})
}

func TestNoCopyIsComparedAgainstAHold(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Copied()
		h.Far.Gone = true
		h.Far.Fail(servertest.Answer(http.StatusUnauthorized, 0, 0, ""))
		h.Days(1)
		listed := h.Far.Listed
		h.Days(2)
		require.LessOrEqual(t, h.Far.Listed-listed, 1, "a connection that was stopped is left alone")
		require.NotContains(t, h.Questions(), "Rain was deleted on Navidrome")
	})
}
