package delivery

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"reprise/internal/library"
	"reprise/internal/match"
	"reprise/internal/providers"
	"reprise/internal/words"
)

// Question asks a person which song of a connection's library one of theirs is, and keeps the answer.
type Question struct {
	ID         int64
	User       int64
	Connection library.ConnectionID
	Song       string          // its key
	Track      library.Track   // as it was looked for
	Offered    []library.Track // those that could be it, with their SourceIDs
	Answer     Answer
	Chosen     string   // SourceID, with Chose
	Refused    []string // SourceIDs of all that the person has said it is not
	AskedAt    time.Time
	AnsweredAt time.Time
}

// Answer is what a person said to a Question.
type Answer string

// The answers.
const (
	Unanswered Answer = ""
	Chose      Answer = "chosen"
	NoneOfThem Answer = "none"
)

// questionStore keeps questions.
type questionStore interface {
	// Questions returns the questions about songs, by their keys.
	Questions(ctx context.Context, user int64, conn library.ConnectionID, songs []string) (map[string]Question, error)
	// Ask stores a question that is open, in place of an earlier one about its song that was answered at AnsweredAt,
	// and returns its id; 0 when that was answered meanwhile, or when the connection has as many questions as it may.
	Ask(ctx context.Context, q Question) (id int64, err error)
}

// songStore is what looking for songs needs of the store.
type songStore interface {
	matchStore
	questionStore
}

// songFinder finds songs in the library of one connection. It is used during one delivery.
type songFinder struct {
	store songStore
	there providers.SongFinder
	user  int64
	conn  library.ConnectionID

	questions map[string]Question // by song
	known     map[string]match.Result
	fresh     map[string]match.Result    // to be stored
	ahead     map[string][]library.Track // what a search for many tracks at once has found, by track
}

// songFound is what became of looking for a song.
type songFound struct {
	match.Result
	Question Question // zero without
}

// newSongFinder returns a finder that knows what the store remembers of these tracks.
func newSongFinder(ctx context.Context, s songStore, there providers.SongFinder, subject Draft,
	tracks []library.Track) (f *songFinder, err error) {
	f = &songFinder{store: s, there: there, user: subject.User, conn: subject.Connection,
		fresh: map[string]match.Result{}}
	keys, songs := make([]string, len(tracks)), make([]string, 0, 2*len(tracks))
	for i, t := range tracks {
		keys[i], songs = trackKey(t), append(songs, match.Key(t), lengthKey(t))
	}
	if f.known, err = s.Matches(ctx, f.user, f.conn, keys); err != nil {
		return nil, err
	}
	f.questions, err = s.Questions(ctx, f.user, f.conn, songs)
	return f, err
}

// keep stores what was found, also when the delivery is interrupted.
func (f *songFinder) keep(ctx context.Context) error {
	return f.store.SaveMatches(context.WithoutCancel(ctx), f.user, f.conn, f.fresh)
}

// lookAhead searches for tracks in few calls, where the service offers that: find takes its candidates from there.
func (f *songFinder) lookAhead(ctx context.Context, tracks []library.Track) error {
	many, ok := f.there.(providers.SongsFinder)
	if !ok {
		return nil
	}
	var open []library.Track
	f.ahead = map[string][]library.Track{}
	for _, t := range tracks {
		key, q := trackKey(t), f.question(t)
		m, known := f.known[key]
		if _, asked := f.ahead[key]; !asked && q.Answer != Chose && (!known || q.overrules(m)) {
			open, f.ahead[key] = append(open, t), nil
		}
	}
	if len(open) < 2 {
		f.ahead = nil
		return nil
	}
	found, err := many.FindAll(ctx, open)
	if err != nil {
		f.ahead = nil
		if errors.Is(err, providers.ErrNotOffered) { // they are searched for one by one
			return nil
		}
		return err
	}
	for i, t := range open {
		f.ahead[trackKey(t)] = found[i]
	}
	return nil
}

// find looks for a track, unless that was done lately. With strictly, it does not take one that is only similar.
func (f *songFinder) find(ctx context.Context, t library.Track, strictly bool) (songFound, error) {
	key := trackKey(t)
	q := f.question(t)
	if m, ok := f.known[key]; ok && (m.How != match.ByScore || !strictly) && !q.overrules(m) {
		return songFound{m, q}, nil
	}
	if q.Answer == Chose {
		m, err := f.chosen(ctx, t, q)
		if err != nil {
			return songFound{}, err
		}
		if m.How == match.ByChoice {
			f.known[key], f.fresh[key] = m, m
			return songFound{Result: m}, nil
		}
	}
	candidates, err := f.candidates(ctx, t)
	if err != nil {
		return songFound{}, err
	}
	candidates = slices.DeleteFunc(candidates, func(c library.Track) bool {
		return slices.Contains(q.Refused, c.SourceID)
	})
	m := match.Choose(t, candidates)
	if m.How == match.ByScore && strictly { // a playlist takes it, so it is not stored as missing
		m = match.Result{Track: t}
		f.known[key] = m
	} else {
		f.known[key], f.fresh[key] = m, m
	}
	if m.How != match.ByNothing {
		return songFound{Result: m}, nil
	}
	q, err = f.ask(ctx, t, q, match.Possible(t, candidates))
	return songFound{m, q}, err
}

// sure returns the song that a track surely is, the zero track if none is. It asks and keeps nothing: the track is not
// a listen yet.
func (f *songFinder) sure(ctx context.Context, t library.Track) (library.Track, error) {
	q := f.question(t)
	m, ok := f.known[trackKey(t)]
	if !ok || q.overrules(m) {
		candidates, err := f.candidates(ctx, t)
		if err != nil {
			return library.Track{}, err
		}
		m = match.Choose(t, slices.DeleteFunc(candidates, func(c library.Track) bool {
			return slices.Contains(q.Refused, c.SourceID)
		}))
	}
	if m.How == match.ByNothing || m.How == match.ByScore || q.overrules(m) {
		return library.Track{}, nil
	}
	return m.Found, nil
}

// question returns the question about the song of a track. An answer about a recording of another length is none about
// this one, which has a question of its own.
func (f *songFinder) question(t library.Track) Question {
	q := f.questions[match.Key(t)]
	if (q.Answer != Unanswered || len(q.Refused) > 0) && !q.about(t) {
		if q = f.questions[lengthKey(t)]; q.Song == "" {
			q.Song = lengthKey(t)
		}
	}
	if q.Song == "" {
		q.Song = match.Key(t)
	}
	return q
}

// SongKey returns the key of a question about a song of this title by this artist.
func SongKey(title, artist string) string {
	return match.Key(library.Track{Title: title, Artist: artist})
}

// lengthKey returns the key of a song and its length, in steps of ten seconds.
func lengthKey(t library.Track) string {
	return fmt.Sprintf("%s-%d", match.Key(t), t.Duration/(10*time.Second))
}

// ask keeps a question when some songs could be it. An earlier answer stays while there is nothing new to choose from.
func (f *songFinder) ask(ctx context.Context, t library.Track, q Question, possible []library.Track) (Question, error) {
	if len(possible) == 0 {
		return q, nil
	}
	q = Question{User: f.user, Connection: f.conn, Song: q.Song, Track: t, Offered: possible, Refused: q.Refused,
		AskedAt: time.Now(), AnsweredAt: q.AnsweredAt}
	id, err := f.store.Ask(context.WithoutCancel(ctx), q)
	q.ID, q.AnsweredAt = id, time.Time{}
	f.questions[q.Song] = q
	return q, err
}

// chosen looks for the song that the person has chosen, which may be gone by now.
func (f *songFinder) chosen(ctx context.Context, t library.Track, q Question) (match.Result, error) {
	i := bySourceID(q.Offered, q.Chosen)
	if i < 0 {
		return match.Result{}, nil
	}
	candidates, err := f.candidates(ctx, q.Offered[i])
	if i := bySourceID(candidates, q.Chosen); i >= 0 {
		return match.Result{Track: t, Found: candidates[i], How: match.ByChoice, Score: 1}, err
	}
	return match.Result{}, err
}

func (f *songFinder) candidates(ctx context.Context, t library.Track) ([]library.Track, error) {
	candidates, ok := f.ahead[trackKey(t)]
	var err error
	if !ok {
		candidates, err = f.there.Find(ctx, t)
	}
	candidates = candidates[:min(len(candidates), mostCandidates)]
	for i := range candidates {
		candidates[i].Clean()
	}
	return candidates, err
}

func bySourceID(tracks []library.Track, id string) int {
	return slices.IndexFunc(tracks, func(t library.Track) bool { return id != "" && t.SourceID == id })
}

// overrules reports whether a person's answer contradicts what is remembered of a track.
func (q Question) overrules(m match.Result) bool {
	return q.Answer == Chose && m.Found.SourceID != q.Chosen ||
		m.How != match.ByNothing && slices.Contains(q.Refused, m.Found.SourceID)
}

// about reports whether the answer is good for a track of this song: its length must not contradict that of the track
// that was asked about, or of the chosen one.
func (q Question) about(t library.Track) bool {
	i := bySourceID(q.Offered, q.Chosen)
	return match.NearLength(t, q.Track) || i >= 0 && match.NearLength(t, q.Offered[i])
}

// mostCandidates is how many tracks a destination may offer for one of ours; see [providers.SongFinder].
const mostCandidates = 30

// trackKey returns the key of a track for matches, so that the same track is looked for once.
func trackKey(t library.Track) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%s\n%s\n%d", t.Title, t.Artist, t.Album, t.ISRC,
		t.RecordingMBID, t.Duration.Milliseconds()))
	return hex.EncodeToString(sum[:16])
}

// refusal returns why a play cannot be sent, as an item failure.
func (s songFound) refusal() error {
	n := len(s.Question.Offered)
	switch {
	case s.Question.Answer == NoneOfThem:
		return refuse(words.New("delivery.song.refused"))
	case n > 0 && s.Question.ID == 0:
		return refuse(words.New("delivery.song.unclear"))
	case n > 0:
		return refuse(words.New("delivery.song.offered", "Count", n))
	}
	return refuse(words.New("delivery.song.missing"))
}

// submitTo submits plays of songs in a library, except those whose songs are not surely there. Nothing is sent when a
// search fails.
func (d *listenDeliverer) submitTo(ctx context.Context, there providers.LibraryTaker, c library.Connection,
	plays []library.StoredListen) (outcomes []error, err error) {
	outcomes = make([]error, len(plays))
	tracks := make([]library.Track, len(plays))
	for i, p := range plays {
		tracks[i] = p.Track
		tracks[i].SourceID = "" // where it was played
	}
	finder, err := newSongFinder(ctx, d.store, there, Draft{User: c.User, Connection: c.ID}, tracks)
	if err != nil {
		return nil, err
	}
	finder.forgetFound()
	defer func() { err = errors.Join(err, finder.keepMisses(ctx)) }()
	var sent []library.StoredListen
	var at []int // in plays
	for i, t := range tracks {
		song, err := finder.find(ctx, t, true)
		if err != nil {
			return nil, err
		}
		if song.How == match.ByNothing {
			outcomes[i] = song.refusal()
			continue
		}
		play := plays[i]
		play.Track.SourceID = song.Found.SourceID
		sent, at = append(sent, play), append(at, i)
	}
	if len(sent) == 0 {
		return outcomes, nil
	}
	results, err := d.submitNoted(ctx, there, c, sent)
	if len(results) != len(sent) && (err != nil || results != nil) {
		return nil, err
	}
	for i, outcome := range results {
		outcomes[at[i]] = outcome
	}
	return outcomes, err
}

// forgetFound makes the finder look for what was found earlier: a library that was built again has other ids, and
// Navidrome takes plays of ids that it does not have.
func (f *songFinder) forgetFound() {
	for key, m := range f.known {
		if m.How != match.ByNothing {
			delete(f.known, key)
		}
	}
}

// keepMisses stores which songs are not there.
func (f *songFinder) keepMisses(ctx context.Context) error {
	for key, m := range f.fresh {
		if m.How != match.ByNothing {
			delete(f.fresh, key)
		}
	}
	return f.keep(ctx)
}
