// An issuer of OpenID Connect, made of oidc-provider as its page shows it: ADDRESS is its own, CALLBACK the client's.
// Who signs in on its page under a name is that name, and in the group "music".
import { pathToFileURL } from 'node:url'

const [, , modules, address, callback, logout] = process.argv
const { default: Provider } = await import(pathToFileURL(`${modules}/oidc-provider/lib/index.js`))
const issuer = new Provider(address, {
  clients: [{
    client_id: 'reprise', client_secret: 'of the client', redirect_uris: [callback], response_types: ['code'],
    grant_types: ['authorization_code'], backchannel_logout_uri: logout, backchannel_logout_session_required: true,
    post_logout_redirect_uris: [callback.replace('/sign-in/oidc/callback', '/login?local')],
  }],
  claims: { openid: ['sub'], profile: ['preferred_username', 'groups'] },
  features: { backchannelLogout: { enabled: true } },
  pkce: { required: () => true },
  cookies: { keys: ['of a test'] },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, preferred_username: id, groups: ['music'] }) }),
})
issuer.listen(new URL(address).port, '127.0.0.1', () => console.log('listening'))
