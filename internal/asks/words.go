package asks

import (
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// causeDone is the cause of the notification that somebody can go on.
const causeDone = "ask: done"

// causeOf returns the cause of the administrators' notification.
func causeOf(n Need) string { return "ask: " + string(n) }

// causes are those of all needs.
var causes = []string{causeOf(Setup), causeOf(Keys), causeOf(App)}

// categories are those of what an administrator has to do.
var categories = map[Need]resilience.Category{Setup: resilience.Config, Keys: resilience.Quota, App: resilience.Config}

// forAdministrators is what administrators read when somebody asks for a service.
func forAdministrators(person string, p *providers.Provider, need Need) notify.Notification {
	n := notify.Notification{Connection: library.ConnectionID(p.Name), Cause: causeOf(need),
		Severity: notify.Warning, Category: categories[need].String(),
		Title: words.New("ask.title", "Person", person, "Service", p.DisplayName)}
	switch need {
	case Keys:
		n.Message = words.New("ask.keys", "Person", person, "Service", p.DisplayName)
		n.Action = notify.Action{Label: words.New("ask.keys_button"), URL: "/settings/server#keys"}
	case App:
		n.Message = words.New("ask.app", "Person", person, "Service", p.DisplayName)
		n.Action = notify.Action{Label: words.New("ask.app_button"), URL: "/setup/" + p.Name}
	default:
		n.Message = words.New("ask.setup", "Person", person, "Service", p.DisplayName)
		n.Action = notify.Action{Label: words.New("ask.setup_button", "Service", p.DisplayName),
			URL: "/setup/" + p.Name}
	}
	return n
}

// forMember is what a person reads when what they asked for is done.
func forMember(one Ask, p *providers.Provider) notify.Notification {
	n := notify.Notification{User: one.User, Connection: library.ConnectionID(p.Name), Cause: causeDone,
		Severity: notify.Success, Category: categories[one.Need].String(),
		Title:   words.New("ask.works", "Service", p.DisplayName),
		Message: words.New("ask.works_again", "Service", p.DisplayName)}
	if one.Need == Setup {
		n.Title = words.New("ask.done", "Service", p.DisplayName)
		n.Message = words.New("ask.done_text", "Service", p.DisplayName)
		n.Action = notify.Action{Label: words.New("ask.done_button", "Service", p.DisplayName),
			URL: "/connect/" + p.Name}
	}
	return n
}
