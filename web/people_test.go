package web

// peoplePages returns the data of the pages about accounts.
func peoplePages() map[string][]any {
	ann := object{"ID": "1", "Name": "Ann", "Role": "admin", "CreatedAt": stamp, "LastSeenAt": stamp}
	has := object{"Listens": 1200, "Playlists": 1, "Connections": 2, "Deliveries": 3, "Imports": 1, "Channels": 2,
		"Tokens": 1}
	bob := object{"ID": "2", "Name": "Bob", "Role": "member", "CreatedAt": stamp, "Has": has, "Self": false,
		"Only": false, "Problem": "", "LastSeenAt": nil}
	self := without(without(bob, "Self", true), "Problem", "No.", "Role", "admin")
	nothing := object{"Listens": 0, "Playlists": 0, "Connections": 0, "Deliveries": 0, "Imports": 0, "Channels": 0,
		"Tokens": 0}
	all := []any{bob, self, without(bob, "Role", "admin", "Only", true), without(self, "Only", true),
		without(bob, "Has", nothing, "Problem", "No.")}
	open := []object{{"ID": "4", "Kind": "invitation", "Name": "Carol", "Role": "member", "ExpiresAt": stamp},
		{"ID": "5", "Kind": "invitation", "Name": "", "Role": "admin", "ExpiresAt": stamp}}
	list := object{"People": []object{ann, bob}, "Open": open, "Form": "", "Problem": "", "Name": "", "Role": ""}
	link := object{"Kind": "invitation", "Name": "", "Role": "admin", "ExpiresAt": stamp,
		"URL": "https://x/invitation/c"}
	reset := object{"Kind": "reset", "Name": "Bob", "Role": "", "ExpiresAt": stamp, "URL": "https://x/reset/c"}
	join := object{"Kind": "invitation", "Name": "", "Role": "admin", "As": "Ann", "Problem": "No."}
	return map[string][]any{
		"people": {list, without(list, "Open", nil, "Form", "add", "Problem", "No.", "Name", "Bob", "Role", "admin"),
			without(list, "Form", "invite", "Problem", "No.")},
		"person":  all,
		"remove":  all,
		"newlink": {link, without(link, "Name", "Carol", "Role", "member"), reset},
		"redeem": {join, without(join, "Role", "member", "As", "", "Problem", ""),
			object{"Kind": "reset", "Name": "Bob", "Role": "", "As": "", "Problem": ""}},
	}
}
