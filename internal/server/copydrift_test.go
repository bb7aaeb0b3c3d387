package server

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
)

// days lets n days pass. Deliveries run for a minute and a half at the end of each: a bubble in which they run all day
// is slow.
func (h *household) days(n int) {
	h.t.Helper()
	for range n {
		time.Sleep(24*time.Hour + time.Minute)
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { assert.NoError(h.t, h.Deliveries.Run(ctx)) })
		time.Sleep(90 * time.Second)
		cancel()
		running.Wait()
	}
}

// copied returns the path of a copy at Navidrome that has been written, of a playlist with two tracks.
func (h *household) copied() (path string) {
	h.t.Helper()
	id := h.playlist("Rain", "One", "Two")
	for i, title := range []string{"One", "Two"} {
		h.far.has = append(h.far.has, library.Track{Title: title, Artist: "Sigur Rós", Duration: 3 * time.Minute,
			SourceID: string(rune('1' + i))})
	}
	h.far.named = "made here"
	path = "/playlists/" + id + "/copies/navidrome"
	h.call(http.MethodPut, path, "", http.StatusAccepted)
	h.carry()
	require.Equal(h.t, true, h.call(http.MethodGet, path, "", http.StatusOK)["up_to_date"])
	require.Equal(h.t, []string{"1", "2"}, h.far.list)
	require.Equal(h.t, "Rain", h.far.named)
	return path
}

// questions returns the open notifications about the copy.
func (h *household) questions() (titles []string) {
	h.t.Helper()
	for _, n := range h.call(http.MethodGet, "/notifications?open=true", "", http.StatusOK)["notifications"].([]any) {
		titles = append(titles, n.(map[string]any)["title"].(string))
	}
	return titles
}

func TestAnUntouchedCopyCostsOneCallADay(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		h.copied()
		h.days(1) // its tracks are read once, to know the service's own mark of them
		listed, opened := h.far.listed, h.far.opened
		h.days(5)
		require.Equal(t, 5, h.far.listed-listed)
		require.Equal(t, opened, h.far.opened)
		require.Empty(t, h.questions())
	})
}

func TestADeletedCopyIsAskedAboutOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		path := h.copied()
		h.far.gone = true
		h.days(3)
		require.Equal(t, []string{"Rain was deleted on Navidrome"}, h.questions(), "said once in three days")
		require.True(t, h.far.gone, "nothing is written before the person says so")
		c := h.call(http.MethodGet, path, "", http.StatusOK)
		require.Equal(t, []any{"gone", "ask", false}, []any{c["drift"], c["when_changed"], c["up_to_date"]})
		html := h.page("/notifications")
		require.Contains(t, html, "Write it again</button>")
		require.Contains(t, html, "Leave it as it is</button>")

		h.submit(path, http.StatusSeeOther, "write", "rewrite")
		require.Empty(t, h.questions())
		h.carry()
		require.False(t, h.far.gone)
		require.Equal(t, []string{"1", "2"}, h.far.list)
		require.Equal(t, true, h.call(http.MethodGet, path, "", http.StatusOK)["up_to_date"])
		h.far.gone = true
		h.days(1)
		require.False(t, h.far.gone, "the choice is remembered")
		require.Empty(t, h.questions())
	})
}

func TestACopyThatIsLeftIsNeverAskedAboutAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		path := h.copied()
		h.far.gone = true
		h.days(1)
		require.Len(t, h.questions(), 1)
		h.submit(path, http.StatusSeeOther, "write", "leave")
		require.Empty(t, h.questions())
		listed := h.far.listed
		h.days(3)
		require.Empty(t, h.questions())
		require.Equal(t, listed, h.far.listed, "nor looked at")
		h.playlist("Rain", "Two", "One") // ours changes
		h.carry()
		require.True(t, h.far.gone)
		require.Contains(t, h.page(path[:len("/playlists/1")]), "Reprise leaves it deleted.")
		h.call(http.MethodPatch, path, `{"when_changed":"write"}`, http.StatusOK)
		h.carry()
		require.False(t, h.far.gone, "until the person thinks better of it")
		require.Equal(t, []string{"2", "1"}, h.far.list)
	})
}

func TestACopyEditedThereIsKeptOrWrittenOver(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		path := h.copied()
		h.days(1)
		theirs := []string{"2", "1", "7"}
		h.far.list = theirs
		h.days(1)
		require.Equal(t, []string{"Rain was changed on Navidrome"}, h.questions())
		html := h.page(path[:len("/playlists/1")])
		require.Contains(t, html, "Overwrite it</button>")
		require.Contains(t, html, "Leave it as it is</button>")
		h.playlist("Rain", "Two") // ours changes before the person has said anything
		h.carry()
		require.Equal(t, theirs, h.far.list)
		h.submit(path, http.StatusSeeOther, "write", "leave")
		h.days(2)
		require.Equal(t, theirs, h.far.list)
		require.Empty(t, h.questions())
		h.submit(path, http.StatusSeeOther, "write", "rewrite")
		h.carry()
		require.Equal(t, []string{"2"}, h.far.list)
		h.call(http.MethodPatch, path, `{"when_changed":"sometimes"}`, http.StatusUnprocessableEntity)
	})
}

// Ours changes before the day is over: their change is noticed then, and not lost.
func TestAnEditIsNoticedBeforeItIsWrittenOver(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		path := h.copied()
		theirs := []string{"2"}
		h.far.list = theirs
		h.playlist("Rain", "Two", "One")
		h.carry()
		require.Equal(t, theirs, h.far.list)
		require.Equal(t, []string{"Rain was changed on Navidrome"}, h.questions())
		require.Equal(t, "edited", h.call(http.MethodGet, path, "", http.StatusOK)["drift"])
		h.submit(path, http.StatusSeeOther, "write", "rewrite")
		h.carry()
		require.Equal(t, []string{"2", "1"}, h.far.list)
	})
}

func TestNoCopyIsComparedAgainstAHold(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		h.copied()
		h.far.gone = true
		h.far.fail(answer(http.StatusUnauthorized, 0, 0, ""))
		h.days(1)
		listed := h.far.listed
		h.days(2)
		require.LessOrEqual(t, h.far.listed-listed, 1, "a connection that was stopped is left alone")
		require.NotContains(t, h.questions(), "Rain was deleted on Navidrome")
	})
}
