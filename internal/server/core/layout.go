package core

import (
	"context"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/delivery"
	"reprise/internal/words"
	"reprise/web/ui"
)

// NowPath is the page for a phone's screen: what is playing, and the state of the services.
const NowPath = "/now"

// SharePath is the page that takes what other applications share.
const SharePath = "/share"

// frame returns what surrounds a page: for nobody without a user.
func (k *Core) frame(c echo.Context, title string) (ui.Frame, error) {
	ctx := c.Request().Context()
	f := ui.Frame{Title: title, Version: k.version, Language: words.From(ctx),
		Path: c.Request().URL.RequestURI(), Help: helpFor(k.pathOf(c))}
	u := UserOf(c)
	if u.ID == 0 {
		if c.Path() == "/login" && visitOf(ctx).request != nil { // else there is no session: it was refused before
			f.Flash = k.Sessions.popFlash(ctx).T(ctx)
		}
		return f, nil
	}
	f.User, f.Zone, f.Days, f.Theme = u.Name, u.Zone, Zone(c).String(), u.Theme
	path := k.pathOf(c)
	if !ByScript(c) { // the flash is kept for a person
		f.Flash, f.Serial = k.Sessions.popFlash(ctx).T(ctx), visitOf(ctx).serial
		f.Undo = k.Sessions.popUndo(ctx)
	}
	open, err := k.Open(ctx, u.ID)
	if err != nil {
		return f, err
	}
	f.Bell.Current = current(path, "/notifications")
	announce(&f, open, path)
	f.Quiet = quiet(ctx, open, path)
	counts, err := k.store.CountDeliveries(ctx, delivery.Filter{User: u.ID, State: delivery.Dead})
	f.Nav = navigation(ctx, path, counts[delivery.Dead], k.pagesOf())
	if err == nil {
		f.Notices, err = k.noticesOn(c)
	}
	return f, err
}

// RefreshHeader is the header with which a page asks for the page that it is on, to bring it up to date.
const RefreshHeader = "X-Reprise-Refresh"

// ByScript says whether a script asks for the page that it is on, to bring it up to date.
func ByScript(c echo.Context) bool { return c.Request().Header.Get(RefreshHeader) != "" }

// pathOf returns the path of the page that a request is for.
func (k *Core) pathOf(c echo.Context) string {
	if page := c.Request().Header.Get(RefreshHeader); page != "" {
		return k.Local(&url.URL{Path: page}).Path
	}
	return c.Request().URL.Path
}

// announce puts the open notifications into the frame of the page with a path: the bell counts them, and a banner says
// what needs a person, except on the page that says it or solves it.
func announce(f *ui.Frame, open []Notification, path string) {
	f.Bell.Open = len(open)
	for _, n := range open {
		if !n.Urgent() || n.Place == Small {
			continue
		}
		f.Bell.Urgent = true
		b := ui.Banner{ID: n.ID, Title: n.Title, Message: n.Message, News: n.Place == Toast,
			Hidden: saidOn(path, n)}
		if n.Action != nil {
			b.Action = &ui.Action{Label: n.Action.Label, URL: n.Action.URL}
		}
		f.Banners = append(f.Banners, b)
	}
}

// quiet returns the line that replaces the alerts that the person has dismissed, on the page with a path; nil if
// there are none, or if it says or solves them.
func quiet(ctx context.Context, open []Notification, path string) *ui.Link {
	var small []Notification
	for _, n := range open {
		if n.Urgent() && n.Place == Small && !saidOn(path, n) {
			small = append(small, n)
		}
	}
	if len(small) == 0 {
		return nil
	}
	return &ui.Link{Label: words.T(ctx, "frame.dismissed", "Count", len(small)),
		URL: "/notifications#notification-" + small[0].ID}
}

// saidOn says whether the page with a path says what a notification is about, or solves it.
func saidOn(path string, n Notification) bool {
	card := n.Connection != "" && (path == "/" || path == NowPath || path == "/connections/"+n.Connection)
	return card || path == "/notifications" || within(path, "/connect/"+n.Connection)
}

// optional are the pages that not every installation has.
type optional struct{ digests, demo bool }

// Demo reports whether the services are simulated.
func (k *Core) Demo() bool { return k.demo }

func (k *Core) pagesOf() optional { return optional{digests: k.services.Model() != nil, demo: k.demo} }

// navigation returns the links of the navigation on the page with a path.
func navigation(ctx context.Context, path string, failed int, has optional) []ui.Link {
	links := []ui.Link{
		{Label: words.T(ctx, "frame.nav.status"), URL: "/",
			Current: current(path, "/", "/connections", "/players", "/health", "/activity")},
		{Label: words.T(ctx, "frame.nav.listening"), URL: "/listening",
			Current: current(path, "/listening", "/listening", "/listens", "/imports", "/music", "/corrections",
				"/loved", "/rules", "/export")},
		{Label: words.T(ctx, "frame.nav.playlists"), URL: "/playlists",
			Current: current(path, "/playlists", "/playlists")},
		{Label: words.T(ctx, "frame.nav.deliveries"), URL: "/deliveries",
			Current: current(path, "/deliveries", "/deliveries"),
			Badge:   failed, BadgeWords: words.T(ctx, "frame.failed", "Count", failed)},
	}
	if has.digests {
		links = append(links, ui.Link{Label: words.T(ctx, "frame.nav.digest"), URL: "/digest",
			Current: current(path, "/digest", "/digest")})
	}
	links = append(links, ui.Link{Label: words.T(ctx, "frame.nav.settings"), URL: "/settings",
		Current: current(path, "/settings", "/settings", "/channels", "/people", "/account")})
	if has.demo {
		links = append(links, ui.Link{Label: words.T(ctx, "frame.nav.demo"), URL: "/demo/"})
	}
	return links
}

// current returns "page" if path is a link's own page, and "true" if it belongs to one of its sections.
func current(path, own string, sections ...string) string {
	if path == own {
		return "page"
	}
	for _, s := range sections {
		if within(path, s) {
			return "true"
		}
	}
	return ""
}

// within says whether path is a section's own page or below it.
func within(path, section string) bool {
	return path == section || strings.HasPrefix(path, section+"/")
}
