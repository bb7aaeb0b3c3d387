package corrections

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// Sender deletes listens at services, too.
type Sender interface {
	MayDelete(ctx context.Context, user int64, conns []library.ConnectionID) error
}

// holder is a service that told of listens which are to be deleted.
type holder struct {
	ID      library.ConnectionID
	Name    string
	Listens int
	Deletes bool   // Reprise can delete them there
	History string // the page on which the person can; empty if it is unknown
}

// holders returns the services that told of the listens of a selection, in the order in which people see services.
func (h *Handler) holders(ctx context.Context, v library.Selection) (all []holder, err error) {
	connections, err := h.store.UserConnections(ctx, v.User)
	if err != nil {
		return nil, err
	}
	held, err := h.store.CountSources(ctx, v)
	if err != nil {
		return nil, err
	}
	label, err := h.core.Labels(ctx, v.User)
	if err != nil {
		return nil, err
	}
	for _, p := range h.core.Registry.All() {
		for _, c := range connections {
			if c.Provider() != p.Name || held[c.ID] == 0 {
				continue
			}
			one := holder{ID: c.ID, Name: label(c.ID), Listens: held[c.ID], Deletes: p.Takes.Deletions}
			if p.History != "" && c.Account != "" {
				one.History = strings.ReplaceAll(p.History, "{account}", url.PathEscape(c.Account))
			}
			all = append(all, one)
		}
	}
	return all, nil
}

// deletable reports whether Reprise can delete some of the listens where they came from.
func deletable(held []holder) bool {
	return slices.ContainsFunc(held, func(o holder) bool { return o.Deletes })
}

// boxes offer to delete listens at the services, too.
func boxes(ctx context.Context, held []holder) (all []ui.Field) {
	for _, o := range held {
		if o.Deletes {
			all = append(all, ui.Field{ID: "there-" + string(o.ID), Name: "there", Type: "checkbox",
				Value: string(o.ID), Label: words.T(ctx, "corrections.also", "Count", o.Listens, "Name", o.Name)})
		}
	}
	return all
}

// stays says what stays at services because programs cannot delete it there.
func stays(ctx context.Context, held []holder) (all []string) {
	for _, o := range held {
		switch {
		case o.Deletes:
		case o.History == "":
			all = append(all, words.T(ctx, "corrections.stays", "Count", o.Listens, "Name", o.Name))
		default:
			all = append(all, words.T(ctx, "corrections.stays_at", "Count", o.Listens, "Name", o.Name,
				"Page", o.History))
		}
	}
	return all
}

// chosenThere returns the connections at which listens are to be deleted, too, if they can be.
func (h *Handler) chosenThere(c echo.Context, names []string) (there []library.ConnectionID, err error) {
	for _, name := range names {
		if id := library.ConnectionID(name); !slices.Contains(there, id) {
			there = append(there, id)
		}
	}
	return there, h.sender.MayDelete(c.Request().Context(), core.UserOf(c).ID, there)
}

// saidThere says what a correction has deleted at services, too.
func saidThere(ctx context.Context, c library.Correction, label func(library.ConnectionID) string) (all []string) {
	for _, t := range c.There {
		name := label(t.Connection)
		switch {
		case c.UndoneAt.IsZero() && t.Asked == 0:
			all = append(all, words.T(ctx, "corrections.will_there", "Count", t.Listens, "Name", name))
		case c.UndoneAt.IsZero():
			all = append(all, words.T(ctx, "corrections.did_there", "Asked", t.Asked, "Listens", t.Listens,
				"Name", name))
		case t.Asked > 0:
			all = append(all, words.T(ctx, "corrections.stay_deleted", "Count", t.Asked, "Name", name))
		}
	}
	return all
}

// DeletedThere is what a service is asked to delete, in the API.
type DeletedThere struct {
	Connection string `json:"connection" doc:"Its id."`
	Listens    int    `json:"listens" minimum:"0" doc:"How many its service is asked to delete."`
	Accepted   int    `json:"accepted" minimum:"0" doc:"How many of them it has accepted to delete; undoing does not bring those back there."`
}

func thereView(all []library.There) []DeletedThere {
	views := make([]DeletedThere, 0, len(all))
	for _, t := range all {
		views = append(views, DeletedThere{string(t.Connection), t.Listens, t.Asked})
	}
	return views
}

// ListenHolder is a service that told of listens, in the API.
type ListenHolder struct {
	Connection string  `json:"connection" doc:"Its id."`
	Listens    int     `json:"listens" minimum:"1" doc:"How many of the listens it reported."`
	Deletes    bool    `json:"deletes" doc:"Reprise can delete them there; name the connection in 'there'."`
	History    *string `json:"history" doc:"The page of the service on which you can."`
}

func viewHolder(o holder) ListenHolder {
	return ListenHolder{string(o.ID), o.Listens, o.Deletes, core.Text(o.History)}
}
