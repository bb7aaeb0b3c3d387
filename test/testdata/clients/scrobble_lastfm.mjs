// Scrobbles through lastfm-ts-api: FILE PORT KEY SECRET USER PASSWORD TIME, where FILE is its module. Its server speaks
// TLS, with a certificate of NODE_EXTRA_CA_CERTS. The client knows no port but that of https, which is set for all.
import https from 'node:https';
import { pathToFileURL } from 'node:url';

const [file, port, key, secret, username, password, time] = process.argv.slice(2);
https.globalAgent.defaultPort = Number(port);
const { LastFMAuth, LastFMTrack } = await import(pathToFileURL(file));
const config = { hostname: '127.0.0.1', path: '/2.0/' };
const { session } = await new LastFMAuth(key, secret, undefined, config).getMobileSession({ username, password });
const track = new LastFMTrack(key, secret, session.key, config);
const title = 'lastfm-ts-api';
await track.updateNowPlaying({ artist: 'Björk', track: title, album: 'Homogenic', duration: 305 });
await track.scrobble({ artist: 'Björk', track: title, timestamp: Number(time), album: 'Homogenic' });
await track.scrobbleMany([1, 2, 3].map(n => ({ artist: 'Björk', track: `${title} ${n}`, timestamp: Number(time) + 300 * n })));
