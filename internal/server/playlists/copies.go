package playlists

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/server/connections"
	"reprise/internal/server/core"
	"reprise/internal/server/deliveries"
	"reprise/internal/words"
)

// copies answers for the copies of playlists at other providers.
type copies struct {
	core       *core.Core
	store      Store
	deliveries *delivery.Deliveries
	statuses   *connections.Statuses
	names      *deliveries.Namer
}

// Copy is a provider's copy of a playlist.
type Copy struct {
	Connection  string               `json:"connection" doc:"Its provider, and from the second connection on, a number."`
	Provider    string               `json:"provider"`
	DisplayName string               `json:"display_name"`
	Enabled     bool                 `json:"enabled"`
	Consent     *string              `json:"consent" doc:"The page on which the person allows Reprise to write playlists there; null if that needs no permission of its own, or it was given."`
	UpToDate    bool                 `json:"up_to_date"`
	Drift       string               `json:"drift" enum:",gone,edited,conflict" doc:"Whether the copy was deleted or changed there; compared once a day. Then nothing is written until its person decides. conflict: kept equal both ways, and the changes of both sides can't be merged."`
	WhenChanged string               `json:"when_changed" enum:"ask,write,leave,both" doc:"What is done then: ask, write it again, leave it as it is there, or bring the changes back to the playlist (both ways)."`
	OneWay      string               `json:"one_way" enum:",recipe,service,locked,consent,gone" doc:"Why the playlist can't be kept equal both ways: Reprise makes it, can't write to its service, the account can't change it, the person hasn't allowed it yet, or it's gone. Empty if it can."`
	BringsBack  *deliveries.Delivery `json:"brings_back" doc:"What brings changes of the copy back to the playlist; null if nothing had to be."`
	WrittenAt   core.MaybeTime       `json:"written_at"`
	Delivery    *deliveries.Delivery `json:"delivery"`
	Report      *delivery.Report     `json:"report"`

	allow string // the page on which the person allows changes of the playlist, if that is why it is one way
}

// ask is what people read and write for a choice that is not made.
const ask = "ask"

// choiceOf reads a choice about copies that are deleted or changed at their provider.
func choiceOf(text string) (delivery.Choice, error) {
	switch c := delivery.Choice(text); {
	case text == ask:
		return "", nil
	case c == delivery.Rewrite, c == delivery.Leave, c == delivery.Both:
		return c, nil
	}
	refused := core.NotAChoice("when_changed", text, ask, string(delivery.Rewrite), string(delivery.Leave),
		string(delivery.Both))
	refused.Status = http.StatusUnprocessableEntity
	return "", refused
}

// writer returns the playlist and the connection that a request names, if the playlist can be written there.
func (h *copies) writer(c echo.Context) (playlist int64, to library.Connection, err error) {
	conn, p, err := h.core.ConnectionIn(c, "connection")
	if err != nil {
		return 0, to, err
	}
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return 0, to, err
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	list, err := h.store.PlaylistOnly(ctx, user, id)
	if err == nil && (!p.Takes.Playlists || list.Connection == conn) {
		err = delivery.ErrNotTaken
	}
	if err != nil {
		return 0, to, err
	}
	others, err := h.others(ctx, user, list.Connection)
	if err != nil {
		return 0, to, err
	}
	if i := slices.IndexFunc(others, func(c library.Connection) bool { return c.ID == conn }); i >= 0 {
		return id, others[i], nil
	}
	if _, err := h.statuses.Status(ctx, user, conn); err != nil {
		return 0, to, err
	}
	return 0, to, delivery.ErrNotTaken // it leads to the account that the playlist comes from
}

// others returns a user's connections that lead to other accounts than one of them does.
func (h *copies) others(ctx context.Context, user int64, from library.ConnectionID) ([]library.Connection, error) {
	all, err := h.store.UserConnections(ctx, user)
	source := library.Connection{ID: from}
	for _, c := range all {
		if c.ID == from {
			source = c
		}
	}
	return slices.DeleteFunc(all, source.SameAccount), err
}

// mayWrite reports whether the person allows Reprise to write playlists at a connection.
func (h *copies) mayWrite(c library.Connection) bool {
	return h.core.Registry.Get(c.Provider()).May(providers.WritePlaylists, c.Credentials)
}

// label returns what people read for a connection.
func (h *copies) label(c library.Connection) string {
	return c.Label(h.core.Registry.Get(c.Provider()).DisplayName)
}

func (h *copies) one(ctx context.Context, playlist int64, c library.Connection) (Copy, error) {
	return h.of(ctx, delivery.RefOf(playlist, 0), c)
}

// ofVersion returns what became of writing a version.
func (h *copies) ofVersion(ctx context.Context, v found, c library.Connection) (Copy, error) {
	return h.of(ctx, delivery.RefOf(v.id, v.at.Number), c)
}

// of returns the copy of what a reference names; see delivery.RefOf.
func (h *copies) of(ctx context.Context, ref string, c library.Connection) (Copy, error) {
	user := c.User
	v := Copy{Provider: c.Provider(), Connection: string(c.ID), DisplayName: h.label(c), WhenChanged: ask}
	playlist, _, ofVersion := strings.Cut(ref, "@")
	if !h.mayWrite(c) {
		v.Consent = core.Text(connections.AllowPath(c.ID, providers.WritePlaylists, "/playlists/"+playlist))
	}
	kept, err := h.store.Copy(ctx, user, c.ID, delivery.WritePlaylist, ref)
	if errors.Is(err, library.ErrNotFound) {
		return v, nil
	}
	if err != nil {
		return v, err
	}
	v.Enabled, v.WrittenAt = true, core.Moment(kept.WrittenAt)
	v.UpToDate = kept.Written == kept.Wanted && kept.Drift == ""
	v.Drift, v.WhenChanged = string(kept.Drift), cmp.Or(string(kept.Choice), ask)
	if kept.Report != "" {
		report := delivery.ReportOf(kept)
		v.Report = &report
	}
	if v.Delivery, err = h.delivery(ctx, user, c.ID, ref); err != nil || ofVersion {
		return v, err
	}
	return v, h.bothWays(ctx, user, playlist, &v)
}

// delivery returns the view of the latest delivery of a copy; nil if there is none.
func (h *copies) delivery(ctx context.Context, user int64, conn library.ConnectionID, ref string) (
	*deliveries.Delivery, error) {
	d, err := h.store.CopyDelivery(ctx, user, conn, delivery.WritePlaylist, ref)
	if errors.Is(err, library.ErrNotFound) { // removed after it was done, or discarded
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names, err := h.names.For(ctx, user, d)
	view := names.View(d)
	return &view, err
}

// bothWays adds whether a copy can be kept equal with its playlist both ways, and what is brought back.
func (h *copies) bothWays(ctx context.Context, user int64, playlist string, v *Copy) error {
	id, err := strconv.ParseInt(playlist, 10, 64)
	if err != nil {
		return err
	}
	why, err := h.deliveries.OneWay(ctx, user, id)
	if err != nil {
		return err
	}
	list, err := h.store.PlaylistOnly(ctx, user, id)
	if v.OneWay = string(why); why == delivery.NoConsent {
		v.allow = connections.AllowPath(list.Connection, providers.WritePlaylists, "/playlists/"+playlist)
	}
	if err == nil && v.WhenChanged == string(delivery.Both) {
		v.BringsBack, err = h.delivery(ctx, user, list.Connection, delivery.BackRef(id))
	}
	return err
}

// all returns the copies of a playlist at the connected providers that take playlists.
func (h *copies) all(
	ctx context.Context, user int64, id string, from library.ConnectionID,
) (views []Copy, err error) {
	playlist, err := core.Number(id)
	if err != nil {
		return nil, err
	}
	others, err := h.others(ctx, user, from)
	if err != nil {
		return nil, err
	}
	for _, p := range h.core.Registry.All() {
		for _, c := range others {
			if c.Provider() != p.Name || !p.TakesPlaylists(c.Credentials) {
				continue
			}
			v, err := h.one(ctx, playlist, c)
			if err != nil {
				return nil, err
			}
			views = append(views, v)
		}
	}
	return views, nil
}

type getCopyRequest struct {
	core.ByID
	core.Target
}

func (h *copies) oneAPI(c echo.Context, _ *getCopyRequest) (Copy, error) {
	return h.answer(c, func(context.Context, int64, int64, library.ConnectionID) error { return nil })
}

type startCopyRequest struct {
	core.ByID
	core.Target
	Into int64 `query:"into" minimum:"0" doc:"The id of a playlist of that connection that becomes the copy, and loses its tracks; left out, a new one is made."`
}

func (h *copies) writeAPI(c echo.Context, in *startCopyRequest) (Copy, error) {
	return h.answer(c, func(ctx context.Context, user, playlist int64, conn library.ConnectionID) error {
		if in.Into == 0 {
			return h.deliveries.WritePlaylist(ctx, user, playlist, conn)
		}
		if p, err := h.store.PlaylistOnly(ctx, user, in.Into); err != nil || p.Connection != conn {
			return errors.Join(err, library.ErrNotFound)
		}
		return h.deliveries.WriteInto(ctx, user, playlist, in.Into)
	})
}

// answer calls do for a copy, and answers with its state afterwards.
func (h *copies) answer(c echo.Context, do func(ctx context.Context, user, playlist int64,
	conn library.ConnectionID) error) (out Copy, _ error) {
	id, to, err := h.writer(c)
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	if err == nil {
		err = do(ctx, user, id, to.ID)
	}
	if err != nil {
		return out, err
	}
	return h.one(ctx, id, to)
}

type chooseForCopyRequest struct {
	core.ByID
	core.Target
	Body struct {
		WhenChanged string `json:"when_changed" enum:"ask,write,leave,both"`
	}
}

func (h *copies) chooseAPI(c echo.Context, in *chooseForCopyRequest) (out Copy, _ error) {
	choice, err := choiceOf(in.Body.WhenChanged)
	if err != nil {
		return out, err
	}
	return h.answer(c, func(ctx context.Context, user, playlist int64, conn library.ConnectionID) error {
		return h.deliveries.ChooseForCopy(ctx, user, playlist, conn, choice)
	})
}

type stopCopyRequest struct {
	core.ByID
	core.Target
}

func (h *copies) stopAPI(c echo.Context, _ *stopCopyRequest) (out core.None, _ error) {
	id, to, err := h.writer(c)
	if err == nil {
		err = h.deliveries.StopWriting(c.Request().Context(), core.UserOf(c).ID, id, to.ID)
	}
	return out, err
}

func (h *copies) form(c echo.Context) error {
	id, to, err := h.writer(c)
	if err != nil {
		return err
	}
	ctx, user, label := c.Request().Context(), core.UserOf(c).ID, h.label(to)
	choose := func(choice delivery.Choice) error { return h.deliveries.ChooseForCopy(ctx, user, id, to.ID, choice) }
	said := words.New("playlists.done_start", "Name", label)
	switch c.FormValue("write") {
	case "stop":
		said = words.New("playlists.done_stop", "Name", label)
		err = h.deliveries.StopWriting(ctx, user, id, to.ID)
	case "rewrite":
		said = words.New("playlists.done_rewrite", "Name", label)
		err = h.deliveries.WriteAgain(ctx, user, id, to.ID)
	case "keep":
		said = words.New("playlists.both.done")
		err = h.decide(ctx, user, id, to.ID, c.FormValue("side"))
	case "leave":
		said = words.New("playlists.done_leave", "Name", label)
		err = choose(delivery.Leave)
	case "choose":
		var choice delivery.Choice
		said = words.New("playlists.saved")
		if choice, err = choiceOf(c.FormValue("when_changed")); err == nil {
			err = choose(choice)
		}
	default:
		err = h.deliveries.WritePlaylist(ctx, user, id, to.ID)
	}
	if err != nil {
		return err
	}
	return h.core.Done(c, "/playlists/"+strconv.FormatInt(id, 10), said)
}
