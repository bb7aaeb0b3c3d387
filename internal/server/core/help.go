package core

import (
	"strings"

	"reprise/internal/providers"
)

// helps says which document helps with the pages below a path; the first that fits counts.
var helps = []struct{ below, document string }{
	{"/connect", "first-steps#2-your-services"},
	{"/connections", "services"},
	{"/listening/common", "services#what-two-people-have-in-common"},
	{"/imports", "services#importing-a-file"},
	{"/export", "services#exporting"},
	{"/players", "players"},
	{"/playlists", "services#forwarding-playlists-and-the-archive"},
	{"/welcome", "first-steps#2-your-services"},
	{"/deliveries", "deliveries"},
	{"/settings/notifications", "channels"},
	{"/settings/account", "signing-in"},
	{"/settings/profile", "services#a-public-profile"},
	{"/settings/services", "services"},
	{"/settings/server", "commands"},
	{"/settings/people", "first-steps#4-a-second-person"},
	{"/setup", "first-steps"},
	{"/login", "signing-in"},
	{"/health", "operating#health"},
	{"/activity", "operating#activity"},
	{"/notifications", "messages"},
}

// helpFor returns the address of the document that helps with a page; that of all documents if none does.
func helpFor(path string) string {
	if within(path, registering) && len(path) > len(registering) {
		return helpToRegister(strings.TrimPrefix(path, registering+"/"))
	}
	for _, h := range helps {
		if within(path, h.below) {
			return "/help/" + h.document
		}
	}
	return "/help"
}

// registering is the path of the pages on which a provider's registration is entered, each below it by its name.
const registering = "/setup"

// helpToRegister returns the address of the section about registering with a provider.
func helpToRegister(provider string) string { return "/help/first-steps#" + provider }

// Helps returns the addresses of the documents that pages lead to, with those about registering with these providers.
func Helps(known ...providers.Description) (all []string) {
	for _, d := range known {
		if d.Registration != nil {
			all = append(all, helpToRegister(d.Name))
		}
	}
	for _, h := range helps {
		all = append(all, "/help/"+h.document)
	}
	return all
}
