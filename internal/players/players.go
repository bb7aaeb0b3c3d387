// Package players takes what programs send by themselves: Navidrome, a phone, a browser, a script. It knows their
// secrets, decides what was heard long enough to be a play, and keeps what is playing now.
//
// A play is committed before it is acknowledged, and one that is sent again is known by its second and its names. What
// can never be a play is a [Refused]; everything else that goes wrong is worth another try.
//
// The protocols are packages below this one; each reads the requests of one and answers in its words.
package players

import (
	"cmp"
	"crypto/hmac"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
)

// Player is a program that sends plays for a person.
type Player struct {
	ID       library.ConnectionID // by which listens name it as a source
	User     int64
	UserName string // of its person, by which protocols call them
	Name     string
	Kind     Kind
	LastFour string // of its secret
	// Proof is the MD5 of its secret in hexadecimal, if its kind needs one; see [Kind.Proves].
	Proof string
	// Mirrors is the connection to the account that it sends from, so that plays are not forwarded back there; empty
	// until one is recognised, and [MirrorsNone] where its person has chosen none.
	Mirrors    library.ConnectionID
	Paused     bool
	CreatedAt  time.Time
	HeardAt    time.Time // when it called last, to the minute; zero for never
	LastPlayAt time.Time // when its latest play was stored; zero for never
}

// MirrorsNone says that a player sends from none of its person's connections, whatever it seems to be.
const MirrorsNone library.ConnectionID = "none"

// Kind is a protocol, or [Any] of them.
type Kind string

// The kinds.
const (
	ListenBrainz   Kind = "listenbrainz"
	LastFM         Kind = "lastfm"
	AudioScrobbler Kind = "audioscrobbler"
	Jellyfin       Kind = "jellyfin"
	Plex           Kind = "plex"
	Tautulli       Kind = "tautulli"
	Emby           Kind = "emby"
	WebScrobbler   Kind = "webscrobbler"
	JSON           Kind = "json"
	Any            Kind = "any"
)

// Kinds lists all kinds.
var Kinds = []Kind{ListenBrainz, LastFM, AudioScrobbler, Jellyfin, Plex, Tautulli, Emby, WebScrobbler, JSON, Any}

// Known reports whether there is such a kind.
func (k Kind) Known() bool { return slices.Contains(Kinds, k) }

// Proves reports whether a protocol of the kind proves the secret by an MD5 sum, for which a hash of the secret is not
// enough. Any program may use any protocol with its secret itself.
func (k Kind) Proves() bool { return k == LastFM || k == AudioScrobbler || k == Any }

// NewSecret returns a random secret: 42 letters and digits, which also fit into a path. It never has the 32 characters
// that mpdscribble takes for an MD5 sum.
func NewSecret() string {
	random := make([]byte, 26)
	_, _ = rand.Read(random) // never fails
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(random))
}

// Hash returns the hash by which a secret or a session key is found: SHA-256 in hexadecimal.
func Hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// MD5 returns the MD5 sum of a text in hexadecimal, as the older protocols use it.
func MD5(text string) string {
	sum := md5.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// SessionKey returns what a client of Last.fm's API gets for its secret: 32 characters that stay the same as long as
// the secret does.
func SessionKey(proof string) string { return derived(proof, "session key") }

// APIKey returns the key that a player of Last.fm's API may use. Its requests must be signed with its [APISecret].
func APIKey(proof string) string { return derived(proof, "api key") }

// APISecret returns what the requests with an [APIKey] are signed with.
func APISecret(proof string) string { return derived(proof, "api secret") }

func derived(proof, use string) string {
	mac := hmac.New(sha256.New, []byte(proof))
	mac.Write([]byte(use))
	return hex.EncodeToString(mac.Sum(nil))[:32]
}

// Play is what a program has played, as it says so.
type Play struct {
	library.Track
	At     time.Time // when it began
	Player string    // what it was played with; empty for unknown
	Origin Origin
}

// Origin is what a program says of itself.
type Origin struct {
	Program string // its name, such as "navidrome"
	Account string // of the Reprise that forwards its person's plays; see library.ForwardingAccount
}

// Of returns the connection that leads to where a play comes from; empty if none does, or more than one may.
func (o Origin) Of(all []library.Connection) (found library.ConnectionID) {
	for _, c := range all {
		switch {
		case o.Account != "" && c.Credentials[library.ForwardingField] == o.Account:
			return c.ID
		case o.Program == "" || !strings.EqualFold(o.Program, c.Provider()):
		case found != "":
			return ""
		default:
			found = c.ID
		}
	}
	return found
}

// Listen returns the play as it is stored. Its id has its second and its names, so that a repeat has the same.
func (p Play) Listen() library.Listen {
	at := p.At.UTC().Truncate(time.Millisecond)
	return library.Listen{Track: p.Track, PlayedAt: at, Player: p.Player,
		SourceID: strconv.FormatInt(at.Unix(), 10) + ":" + library.NameHash(p.Artist, p.Title)}
}

// earliest is when Audioscrobbler began: no protocol takes a play from before.
var earliest = time.Date(2002, time.October, 1, 0, 0, 0, 0, time.UTC)

// maxAhead is how far a program's clock may be ahead.
const maxAhead = time.Hour

// Named returns why this is no piece of music that can be told from others; nil if it is.
func (p Play) Named() error {
	switch {
	case strings.TrimSpace(library.Name(p.Title)) == "":
		return refuse(NoTitle)
	case strings.TrimSpace(library.Name(p.Artist)) == "":
		return refuse(NoArtist)
	}
	return nil
}

// Check returns why this can never be a play; nil if it can.
func (p Play) Check(now time.Time) error {
	switch err := p.Named(); {
	case err != nil:
		return err
	case p.At.Before(earliest):
		return refuse(TooOld)
	case p.At.After(now.Add(maxAhead)):
		return refuse(TooNew)
	}
	return nil
}

// PlayerName returns what a play was played with: the player that a program names, or the program itself.
func PlayerName(player, program string) string {
	return library.PlayedWith(player, cmp.Or(program, ""))
}

// Reason says why something was refused; a sentence belongs to each.
type Reason string

// The reasons.
const (
	NoTitle   Reason = "no_title"
	NoArtist  Reason = "no_artist"
	TooOld    Reason = "too_old"    // before October 2002: a clock that was never set
	TooNew    Reason = "too_new"    // more than an hour ahead
	Unread    Reason = "unread"     // the body has not the protocol's form
	TooLarge  Reason = "too_large"  // more than the protocol allows
	NoAddress Reason = "no_address" // nothing answers at that path
	NoMethod  Reason = "no_method"  // the path is right, the method is not
	Paused    Reason = "paused"
	BadSign   Reason = "bad_signature"
	NoMusic   Reason = "no_music"   // taken and left alone: it tells of no music
	NotTheirs Reason = "not_theirs" // taken and left alone: somebody else plays
	NotHeard  Reason = "not_heard"  // taken and left alone: it loves a recording that is known by its id alone
	// WrongToken is that of no player.
	WrongToken Reason = "wrong_token"
)

// Refused is what can never be taken, with its reason.
type Refused struct {
	Why    Reason
	Detail string // what was wrong, such as the name of a field; for programmers
}

func (r *Refused) Error() string {
	if r.Detail != "" {
		return string(r.Why) + ": " + r.Detail
	}
	return string(r.Why)
}

// Text returns the reason as a programmer reads it, in English as the protocols are.
func (r Reason) Text() string {
	return map[Reason]string{
		NoTitle: "The track has no name.", NoArtist: "The track has no artist.",
		TooOld:    "The time of the listen is before October 2002.",
		TooNew:    "The time of the listen is more than an hour in the future.",
		Unread:    "The body cannot be read.",
		TooLarge:  "The request has more than it may.",
		NoAddress: "Nothing answers at this address.",
		NoMethod:  "The method is not the one of this address.",
		BadSign:   "Invalid method signature supplied.",
	}[r]
}

// Text returns the reason as a programmer reads it, with the detail.
func (r *Refused) Text() string { return strings.TrimSpace(r.Why.Text() + " " + r.Detail) }

func refuse(why Reason) error { return &Refused{Why: why} }

// Refusal is a request that was refused, as its person sees it.
type Refusal struct {
	At      time.Time
	Request string // method and path, without the secret
	Why     Reason
	Detail  string
}
