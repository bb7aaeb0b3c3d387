package music

import (
	"slices"
	"strconv"

	"reprise/internal/enrich"
	"reprise/internal/library"
	"reprise/internal/server/core"
)

// Music is an artist, an album or a track with the facts about it.
type Music struct {
	ID          string         `json:"id"`
	Kind        string         `json:"kind" enum:"artist,album,track"`
	Name        string         `json:"name"`
	Artist      string         `json:"artist"`
	Album       *string        `json:"album" doc:"That a track was played from."`
	Plays       int            `json:"plays" minimum:"1" doc:"How often the signed-in user has heard it."`
	LastHeardAt core.MaybeTime `json:"last_heard_at"`
	MBID        *string        `json:"mbid" doc:"MusicBrainz' id of the artist, release group or recording."`
	Released    *string        `json:"released" doc:"First release, or when an artist began: \"1999\", \"1999-06\" or \"1999-06-12\"."`
	Tags        []string       `json:"tags"`
	Picture     *string        `json:"picture" doc:"Address on this server."`
	Sources     []Fact         `json:"sources"`

	Portrait bool `json:"-"` // the picture is the artist's
	// The numbers of the artist's and the album's pages; 0 without one.
	ArtistID, AlbumID int64 `json:"-"`
	// The display names of the sources of the facts.
	MBIDFrom, ReleasedFrom, TagsFrom, PictureFrom string `json:"-"`
	// the name at a source, if it differs
	AlsoKnownAs string `json:"-"`
	AlsoFrom    string `json:"-"`
}

// Fact is what a source says.
type Fact struct {
	Provider    string         `json:"provider"`
	DisplayName string         `json:"display_name"`
	State       string         `json:"state" enum:"waiting,done,not_there,failed"`
	Tells       []string       `json:"tells" enum:"mbid,released,tags,picture,name" doc:"Which facts come from it."`
	AskedAt     core.MaybeTime `json:"asked_at"`
	NextAt      core.MaybeTime `json:"next_attempt_at"`
	Detail      string         `json:"detail,omitempty" doc:"The latest failure in the source's words."`
}

func (h *Handler) viewMusic(m enrich.Music) Music {
	v := Music{ID: strconv.FormatInt(m.ID, 10), Kind: m.Kind, Name: m.Title, Artist: m.Artist,
		Album: core.Text(m.Album), Plays: m.Plays, LastHeardAt: core.Moment(m.LastHeard),
		MBID: core.Text(m.MBID), Tags: []string{}, Sources: []Fact{}}
	if m.Kind == library.KindArtist {
		v.Name = m.Artist
	}
	var all []enrich.Source
	if h.enrichment != nil {
		all = h.enrichment.Sources()
	}
	rank := func(t enrich.Told) int {
		return slices.IndexFunc(all, func(e enrich.Source) bool { return e.Provider.Name == t.Source })
	}
	// A fact is credited to the first source that has it. Later ones may only repeat it.
	slices.SortStableFunc(m.Told, func(a, b enrich.Told) int { return rank(a) - rank(b) })
	if m.Chosen != "" {
		address := "/art/" + m.Chosen
		v.Picture, v.Portrait = &address, v.Kind == library.KindArtist
	}
	for _, t := range m.Told {
		told := Fact{Provider: t.Source, DisplayName: t.Source, State: string(t.State), Tells: []string{},
			AskedAt: core.Moment(t.AskedAt), NextAt: core.Moment(t.Due), Detail: t.Reason}
		if i := rank(t); i >= 0 {
			told.DisplayName = all[i].Provider.DisplayName
		}
		v.take(t, &told, h.rows.shown(t.Picture))
		v.Sources = append(v.Sources, told)
	}
	return v
}

// take adds the facts of a source.
func (v *Music) take(t enrich.Told, told *Fact, picture string) {
	first := func(what string, known, unknown bool, from *string) bool {
		if !known || !unknown {
			return false
		}
		told.Tells, *from = append(told.Tells, what), told.DisplayName
		return true
	}
	if first("mbid", t.MBID != "", v.MBIDFrom == "", &v.MBIDFrom) {
		v.MBID = &t.MBID
	}
	if first("released", t.Released != "", v.Released == nil, &v.ReleasedFrom) {
		v.Released = &t.Released
	}
	if first("tags", len(t.Tags) > 0, len(v.Tags) == 0, &v.TagsFrom) {
		v.Tags = t.Tags
	}
	if first("picture", picture != "", v.Picture == nil, &v.PictureFrom) {
		address := "/art/" + picture
		v.Picture, v.Portrait = &address, v.Kind == library.KindArtist
	}
	if first("name", t.Name != "" && t.Name != v.Name, v.AlsoKnownAs == "", &v.AlsoFrom) {
		v.AlsoKnownAs = t.Name
	}
}
