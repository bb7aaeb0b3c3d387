package ui

import (
	"time"

	"github.com/a-h/templ"
)

// specimen is a component in one of its states, as the gallery shows it.
type specimen struct {
	name string // of the component
	what templ.Component
}

// states are all that a shape is drawn for.
var states = []string{"healthy", "syncing", "waiting", "held", "paused", "new", "off", "needs_reconnect", "needs_admin",
	"done", "there", "running", "retrying", "scheduled", "parked", "dead"}

// specimens returns every component in every state.
func specimens(providers []string) []specimen {
	at := time.Date(2026, time.November, 22, 14, 5, 0, 0, time.UTC)
	named := Named{Text: "Svefn-g-englar", URL: "/"}
	var marks, shapes, samples, brands, tiles []templ.Component
	for _, s := range states {
		marks, shapes = append(marks, State(Mark{s, s}), Name(" ")), append(shapes, Shape(s))
	}
	var slots []Slot
	for _, outcome := range []string{"full", "empty", "retriable", "fatal", ""} {
		slots = append(slots, Slot{Outcome: outcome, Words: outcome})
		if outcome != "" {
			samples = append(samples, Sample(outcome))
		}
	}
	for _, p := range providers {
		brands, tiles = append(brands, Brand(p)), append(tiles, Tile(p))
	}
	return []specimen{
		{"Button", templ.Join(Button(Action{Label: "Main", URL: "/", Main: true}),
			Button(Action{Label: "Second", URL: "/"}), Button(Action{Label: "Warn", URL: "/", Warn: true}))},
		{"Actions", Actions([]Action{{Label: "Link", URL: "/"},
			{Label: "Form", Post: "/demo/components", Main: true}})},
		{"Labelled", Labelled("g-labelled", "Name")}, {"Code", Code("REPRISE_LISTEN")},
		{"Copy", Copy("g-copy", "https://reprise.example.org/invitation/code")},
		{"Tip", Tip("GET /v1/me", "GET api.spotify.com/v1/me")},
		{"TimeOr", templ.Join(TimeOr(at, Date, "never"), TimeOr(time.Time{}, Date, "never"))},
		{"Fill", Fill(Form{Post: "/demo/components", Submit: "Save", Cancel: "/", Fields: []Field{
			{Name: "g-zone", Label: "Suggestions", Suggestions: []string{"Europe/Berlin"}}}})},
		{"HiddenFields", HiddenFields([]Hidden{{"name", "value"}})},
		{"Empty", Empty("Nothing yet.", []Action{{Label: "Next", URL: "/", Main: true}})},
		{"Brand", templ.Join(brands...)}, {"Tile", templ.Join(tiles...)}, {"Icon", Icon("bell")},
		{"Shape", templ.Join(shapes...)}, {"State", templ.Join(marks...)},
		{"Card", templ.Join(inside(Card(Panel{ID: "g-card"}), Name("Calm")),
			inside(Card(Panel{ID: "g-loud", Attention: true}), Name("Attention")))},
		{"Section", inside(Section(Part{Title: "Section", Lead: "Lead", Danger: true}), Name("Content"))},
		{"Drawn", templ.Join(inside(Drawn(Drawer{ID: "g-drawer", Title: "Services", Note: "Set up: Spotify"}),
			Name("Content")), inside(Drawn(Drawer{ID: "g-drawn", Title: "General", Open: true}), Name("Content")))},
		{"Fold", templ.Join(inside(Fold("g-fold", "Closed", false), Name("Content")),
			inside(Fold("g-open", "Open", true), Name("Content")))},
		{"Head", templ.Join(Head(Heading{Title: "Heading"}), Head(Heading{Title: "With all", Sub: "account",
			Lead: "Lead", Back: "/", BackTo: "Above", State: &Mark{"waiting", "Waiting"}}))},
		{"Within", inside(Within(Area{Title: "Area", URL: "/", Pages: []Link{{Label: "This page", URL: "/",
			Current: "page"}, {Label: "Another", URL: "/"}}}), Name("Content"))},
		{"Along", Along(Way{At: 2, Of: 5})},
		{"Alert", templ.Join(Alert(Banner{ID: "g-alert", Title: "Title", Message: "Message.",
			Action: &Action{Label: "Reconnect", URL: "/"}}),
			Alert(Banner{ID: "g-alert-2", Title: "Title", Message: "Message without an action."}))},
		{"Toast", templ.Join(toast("info"), toast("success"), toast("warning"), toast("error"))},
		{"Notices", Notices([]Notice{{ID: "g", Text: "Notice.", Actions: []Action{{Label: "Action", URL: "/"}}}})},
		{"Ask", Ask(Dialog{Title: "Delete it?", Lead: "Lead.", Facts: []string{"One thing goes.", "Another stays."},
			Do: Action{Label: "Delete", Post: "/demo/components", Warn: true}, Back: "/"})},
		{"Chart", templ.Join(Chart(Graph{Source: "/api/v1/health/hours?provider=spotify", Label: "Answers by hour",
			Series: []string{"Time", "Failures"}}), Module("charts.js"))},
		{"Cover", templ.Join(Cover(Picture{}), Cover(Picture{Portrait: true}), Cover(Picture{Size: 96}))},
		{"Input", templ.Join(
			Input(Field{Name: "g-text", Label: "Text", Help: "Help", Optional: true}),
			Input(Field{Name: "g-wrong", Label: "Wrong", Value: "value", Problem: "What is wrong with it."}),
			Input(Field{Name: "g-off", Label: "Off", Value: "value", Off: true}),
			Input(Field{Name: "g-list", Label: "List", Options: []Option{{"a", "One"}, {"b", "Two"}}}),
			Input(Field{Name: "g-lines", Label: "Lines", Lines: 3}),
			Input(Field{Name: "g-check", Label: "Checkbox", Type: "checkbox", Checked: true}))},
		{"SayNamed", SayNamed(Sentence{Text: "Track by {artist}", Slots: map[string]Named{
			"{artist}": {Text: named.Text, URL: "/music/artist/1"}}})},
		{"List", List("g-list-of", []Item{{Title: named, By: []Named{{Text: "Sigur Rós"}}, Picture: &Picture{},
			From: []Origin{{"spotify", "Spotify"}}, Tags: []string{"tag"}, Loved: "Loved", At: at},
			{Title: named, Note: "Note", At: at, About: "about"}})},
		{"Days", Days("g-days", []Day{{ID: "g-day", Title: "Today", Note: "1 listen",
			Items: []Item{{Title: named, At: at, Kind: Clock}}}})},
		{"Table", Table(Grid{Columns: []string{"Name", "Value"}, Rows: []Line{
			{Cells: []templ.Component{Name("Row"), Name("1")}},
			{Cells: []templ.Component{Name("With a note"), Name("2")}, Note: "Note"}}})},
		{"Facts", Facts([]Fact{{"Label", Name("Value"), "Note"}})},
		{"Figures", Figures([]Figure{{Count: 26, Label: "waiting", State: "waiting"},
			{Count: 0, Label: "none", URL: "/"}})},
		{"Pager", templ.Join(Pager(Pages{Page: 2, Pages: 3, Before: "/", After: "/"}),
			Pager(Pages{Newest: "/", Earlier: "/"}))},
		{"Chips", Chips([]Chip{{Label: "All", URL: "/", Current: true}, {Label: "One", URL: "/", Count: 3,
			State: "waiting"}})},
		{"Filters", Filters([]Filter{{Label: named, Without: "/"}})},
		{"BarsOver", BarsOver(Bars{ID: "g-bars", Label: "Over time", All: []Column{
			{Title: "May: 2 listens", URL: "/", N: 2, Height: 100}, {Title: "June: 1 listen", URL: "/", N: 1,
				Height: 50}}})},
		{"Axis", Axis([]string{"May", "June"})},
		{"ShareOf", ShareOf(Share{N: "12", Label: "12 listens", URL: "/", Part: 60})},
		{"Progress", templ.Join(Progress(Bar{ID: "g-bar", Label: "Known", Done: 40, Total: 100}),
			Progress(Bar{ID: "g-bar-2", Label: "Unknown", Done: 40}))},
		{"Strip", Strip("Strip", slots)}, {"Sample", templ.Join(samples...)},
		{"Say", Say("A sentence with 2026-11-22T14:05:00Z and https://reprise.example.org/path.")},
		{"Time", templ.Join(Time(at, Ago), Name(" "), Time(at, At), Name(" "), Time(at, Date))},
		{"Name", Name("Name \u202e<b>")}, {"Linked", Linked(named)}, {"Tags", Tags([]string{"Spotify", "Last.fm"})},
		{"Details", Details("What can be copied.")}, {"Problem", Problem("What is wrong.")},
		{"Copied", Copied("g-copied", "https://example.org/connect/spotify/callback")},
		{"UsePasskeys", UsePasskeys(Passkeys{Origin: "https://reprise.example.org",
			Address: "https://reprise.example.org/"})},
		{"Contents", Contents([]Entry{{Label: "Page", URL: "/", Lead: "What is there"},
			{Label: "Service", URL: "/", Lead: "What it takes", Provider: "spotify"}})},
	}
}
