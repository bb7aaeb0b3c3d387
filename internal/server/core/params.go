package core

// SpanQuery is the span of statistics.
type SpanQuery struct {
	Span string `query:"span" enum:"day,week,month,year,all" default:"month" doc:"Ignored with 'from' and 'to'."`
	At   string `query:"at" format:"date" doc:"A date in the span; today if left out. Days begin and end in your time zone."`
	From string `query:"from" format:"date" doc:"The first day of any other span, together with 'to'."`
	To   string `query:"to" format:"date" doc:"The last day of any other span, together with 'from'."`
}

// MusicQuery selects listens, beside their artist and time.
type MusicQuery struct {
	Album   int    `query:"album" doc:"The id of an album."`
	Track   int    `query:"track" doc:"The id of a track."`
	Tag     string `query:"tag" doc:"A tag of an artist, an album or a track."`
	Source  string `query:"source" doc:"The id of a connection that reported the listen."`
	Player  string `query:"player" doc:"The name of the player that a source of the listen named; with 'source', that source. One that no source has named selects nothing."`
	Hour    int    `query:"hour" minimum:"0" maximum:"23" doc:"An hour of the day."`
	Weekday int    `query:"weekday" minimum:"1" maximum:"7" doc:"A day of the week, from 1 (Monday) to 7."`
}

// CardQuery is the look of a card.
type CardQuery struct {
	Theme string `query:"theme" enum:"light,dark" default:"light"`
	Shape string `query:"shape" enum:"wide,square" default:"wide" doc:"1200 by 630 pixels, or 1080 by 1080."`
	Show  string `query:"show" doc:"What the card shows, such as 'numbers,artists'; everything without it."`
}

// ExportSpan is the span of an export.
type ExportSpan struct {
	From string `query:"from" doc:"Played at this time or later; a day ('2026-11-22') begins in your time zone."`
	To   string `query:"to" doc:"Played before this time; a day is the last one."`
}

// IdempotencyKey is the header of a call that creates something, see [Core.Once].
type IdempotencyKey struct {
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"200" doc:"A text of your choice, for one call. The same call with the same key gets the first answer again, for a day, if that was a success (with the header 'Idempotent-Replayed'). While the first is under way it gets a 409, and another call with the key a 422. Every POST with a session or a token takes it."`
}

// OfYear names a year.
type OfYear struct {
	Year int `path:"year" minimum:"1900" maximum:"9999"`
}

// OfWeek names a week.
type OfWeek struct {
	Week string `path:"week" format:"date" doc:"Its Monday."`
}

// FeedToken is a token in the address.
type FeedToken struct {
	Token string `query:"token" doc:"An access token with the scope 'read', for feed readers that send no header."`
}

// ArtistOrName selects listens by their artist.
type ArtistOrName struct {
	Artist string `query:"artist" doc:"The id of an artist, or the whole name as in the listens, in upper or lower case. Digits alone are an id."`
}

// OfArtist selects the listens of an artist.
type OfArtist struct {
	Artist int `query:"artist" doc:"The id of an artist."`
}

// OfPerson asks for the numbers of somebody else.
type OfPerson struct {
	Person string `query:"person" doc:"The name of somebody who lets everybody with an account see their numbers, in place of the signed-in user. Days begin and end in the time zone that they have chosen. Anybody else is answered 404."`
}

// UserID names an account.
type UserID struct {
	ID string `path:"id" doc:"The id of an account, or its name. Digits alone are an id."`
}

// ConnectionID names a connection.
type ConnectionID struct {
	ID string `path:"id" pattern:"^[a-z0-9]+(-[0-9]+)?$" doc:"The id of a connection: the provider's name for the first one, and the name with a number for others, such as 'navidrome-2'. With PUT, the next free number creates another connection."`
}

// Target names the connection that a playlist is copied to.
type Target struct {
	Connection string `path:"connection" doc:"The id of the connection that Reprise writes to."`
}

// Provider names a provider.
type Provider struct {
	Provider string `path:"provider"`
}

// ByID names one thing of a kind.
type ByID struct {
	ID string `path:"id"`
}

// PageLimit is the size of a page of a list.
type PageLimit struct {
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"50"`
}

// Paged is a page of a list.
type Paged struct {
	PageLimit
	Before string `query:"before" doc:"The 'next' of the page before this one."`
}
