// Package demo simulates Spotify, Last.fm, ListenBrainz, Navidrome, YouTube, MusicBrainz, Fanart.tv and a language
// model on loopback, filled with one household's history, so that the whole program can be seen and tested without an
// account anywhere.
//
// # What it promises
//
//   - Every server listens on a free port of 127.0.0.1 only, and [World.Close] waits until everything has ended.
//   - The shapes of requests, answers and errors are those of the real services, as far as Reprise uses them.
//   - The same [Options.Seed], [Options.Plays] and [Options.Now] give the same household, to the millisecond.
//   - Each upstream has a [Mode], switched by [World.Switch] or on the page of [World.Handler]. It holds for every
//     request from then on, and for requests that hang.
//   - A revoked authorization stays revoked. Only a new one helps, as with the real service: a new consent at Spotify,
//     Last.fm and YouTube, the new token at ListenBrainz, the new password at Navidrome. Its first use turns [Revoked]
//     back into [Normal].
//
// # The household
//
// Alice listens on Spotify and, at home, on Navidrome; both are scrobbled to ListenBrainz, the second not always.
// Spotify knows her last 50 plays to the millisecond, ListenBrainz all of them to the second. Last.fm has what she
// heard on Spotify until now; from then on only what she hears on her phone, and what is sent there. On YouTube she
// likes a video now and then. Bob has a small history of his own. MusicBrainz knows nearly all of that music, and
// Fanart.tv has pictures of most of it, which it draws itself.
//
// All methods are safe for concurrent use.
package demo
