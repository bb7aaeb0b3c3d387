package core

// helps says which document helps with the pages below a path; the first that fits counts.
var helps = []struct{ below, document string }{
	{"/connect", "first-steps#2-your-services"},
	{"/connections", "services"},
	{"/imports", "services#importing-a-file"},
	{"/export", "services#exporting"},
	{"/playlists", "services#forwarding-playlists-and-the-archive"},
	{"/welcome", "first-steps#2-your-services"},
	{"/deliveries", "deliveries"},
	{"/settings/notifications", "channels"},
	{"/settings/account", "signing-in"},
	{"/settings/services", "services"},
	{"/settings/server", "commands"},
	{"/settings/people", "first-steps#4-a-second-person"},
	{"/setup/spotify", "first-steps#spotify"},
	{"/setup/lastfm", "first-steps#lastfm"},
	{"/setup/youtube", "first-steps#youtube"},
	{"/setup", "first-steps"},
	{"/login", "signing-in"},
	{"/health", "operating#health"},
	{"/activity", "operating#activity"},
	{"/notifications", "messages"},
}

// helpFor returns the address of the document that helps with a page; that of all documents if none does.
func helpFor(path string) string {
	for _, h := range helps {
		if within(path, h.below) {
			return "/help/" + h.document
		}
	}
	return "/help"
}

// Helps returns the addresses of the documents that pages lead to.
func Helps() (all []string) {
	for _, h := range helps {
		all = append(all, "/help/"+h.document)
	}
	return all
}
