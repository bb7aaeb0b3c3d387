package core

import (
	"strings"

	"reprise/internal/accounts"
)

// layout is the data of a page's frame, and of the page in it.
type layout struct {
	Title   string
	Version string
	User    *accounts.User
	Flash   string
	Nav     []navLink
	Bell    string // as navLink.Current
	Open    int    // notifications
	Urgent  bool   // whether one of them needs a person
	Banners []banner
	Dead    int // dead letters
	Page    any

	digests, demo bool // whether the navigation has these pages
}

// navLink is a link of the navigation.
type navLink struct {
	Label, URL string
	Current    string // "page" on that page, "true" on a page that belongs to it
	Dead       bool   // whether it shows the number of dead letters
}

// banner is a notification that needs a person.
type banner struct {
	Notification
	Hidden bool // on the page that says it or solves it
}

// setPath sets what depends on the path of the page.
func (l *layout) setPath(path string) {
	status := navLink{Label: "Status", URL: "/", Current: current(path, "/", "/connections",
		"/health", "/activity")}
	listens := navLink{Label: "Listens", URL: "/listens", Current: current(path, "/listens", "/imports", "/music")}
	l.Nav = []navLink{status, listens,
		{Label: "Playlists", URL: "/playlists", Current: current(path, "/playlists", "/playlists")},
		{Label: "Deliveries", URL: "/deliveries", Current: current(path, "/deliveries", "/deliveries"), Dead: true},
	}
	if l.digests {
		l.Nav = append(l.Nav,
			navLink{Label: "Digest", URL: "/digest", Current: current(path, "/digest", "/digest")})
	}
	settings := navLink{Label: "Settings", URL: "/settings",
		Current: current(path, "/settings", "/channels", "/people", "/account")}
	if within(path, "/settings") {
		settings.Current = "page"
	}
	l.Nav = append(l.Nav, settings)
	if l.demo {
		l.Nav = append(l.Nav, navLink{Label: "Demo", URL: "/demo/"})
	}
	l.Bell = current(path, "/notifications")
	for i, b := range l.Banners {
		l.Banners[i].Hidden = path == "/notifications" || within(path, "/connect/"+b.Connection)
	}
}

// setOpen sets what depends on the open notifications.
func (l *layout) setOpen(open []Notification) {
	l.Open = len(open)
	for _, n := range open {
		if n.Urgent() {
			l.Urgent = true
			l.Banners = append(l.Banners, banner{Notification: n})
		}
	}
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
