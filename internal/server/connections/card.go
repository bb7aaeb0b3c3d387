package connections

import (
	"fmt"

	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
)

// card is a connection on a page that also shows the open notifications of its user. Nothing is said twice: what a
// banner says, the card does not.
type card struct {
	View
	Calm    bool     // all is well
	Alerted bool     // a banner says what is wrong
	Told    string   // the address of the banner's button
	Loud    bool     // it needs a person, and no banner says so
	Notices []notice // if no banner says more
	Done    string   // what happens to it: "read" or "written"
}

// notice is an open notification that is not urgent.
type notice struct {
	ID, Title string
	Button    *core.Action // nil on the page that it leads to
}

// newCard returns the card of a connection on the page with the path here.
func newCard(v View, open []core.Notification, here string) card {
	state := syncer.Condition(v.State)
	needsPerson := state == syncer.NeedsReconnect || state == syncer.NeedsAdmin
	c := card{View: v, Done: "written", Calm: v.Category == nil &&
		(state == syncer.Healthy || state == syncer.Syncing)}
	if v.Reads {
		c.Done = "read"
	}
	var notices []notice
	for _, n := range open {
		switch {
		case n.Connection != v.ID:
		case n.Urgent() && needsPerson:
			c.Alerted = true
			if n.Action != nil {
				c.Told = n.Action.URL
			}
		case !n.Urgent() && n.Action != nil:
			one := notice{ID: n.ID, Title: n.Title}
			if n.Action.URL != here {
				one.Button = n.Action
			}
			notices = append(notices, one)
		}
	}
	c.Loud = needsPerson && !c.Alerted
	if !c.Alerted {
		c.Notices = notices
	}
	return c
}

// headline says how all connections do.
type headline struct {
	State string // the name of its shape
	Text  string
	Lead  string
}

// headlineOf returns the headline for connections, to an administrator or a member.
func headlineOf(all []View, offline, admin bool) headline {
	needPerson, wait, you := 0, 0, admin
	for _, v := range all {
		switch attention(v) {
		case 2:
			needPerson++
		case 1:
			wait++
		}
		you = you || syncer.Condition(v.State) == syncer.NeedsReconnect
	}
	switch {
	case needPerson > 0:
		who := "the administrator"
		if you {
			who = "you"
		}
		text := "One connection needs " + who
		if needPerson > 1 {
			text = fmt.Sprintf("%d connections need %s", needPerson, who)
		}
		return headline{State: string(syncer.NeedsReconnect), Text: text}
	case offline:
		return headline{State: string(syncer.Waiting), Text: "This server is offline",
			Lead: "Several services cannot be reached at once, so it seems to be our own connection to " +
				"the internet. " +
				"What the services still offer is caught up when it is back."}
	case wait == 1:
		return headline{State: string(syncer.Waiting), Text: "One service is waiting; nothing for you to do"}
	case wait > 1:
		return headline{State: string(syncer.Waiting),
			Text: fmt.Sprintf("%d services are waiting; nothing for you to do", wait)}
	}
	return headline{State: string(syncer.Healthy), Text: "Everything is in order"}
}
