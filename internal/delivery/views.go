package delivery

// Subject is what a delivery is about, as far as that has a name: the one listen that it carries, or its playlist.
type Subject struct{ Title, Artist string }

// Kinds are all kinds, in the order in which people see them.
var Kinds = []string{SubmitListens, Scrobble, WritePlaylist, Archive, Notify}
