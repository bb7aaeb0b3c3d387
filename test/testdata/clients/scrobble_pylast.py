"""Scrobbles through pylast: PORT USER PASSWORD TIME, or PORT KEY SECRET TIME URL to be let in by a person, whose page it
prints before it waits for a line. Its server speaks TLS, with a certificate of SSL_CERT_FILE."""
import sys, pylast

port, one, two, time, *web = sys.argv[1:]
about = dict(name="Reprise", homepage=web[0] if web else "", ws_server=(f"127.0.0.1:{port}", "/2.0/"),
             api_key="0123456789abcdef0123456789abcdef", api_secret="fedcba9876543210fedcba9876543210",
             session_key=None, username="", password_hash="", domain_names={}, urls={})
if web:
    about.update(api_key=one, api_secret=two)
    network = pylast._Network(**about)
    letting = pylast.SessionKeyGenerator(network)
    page = letting.get_web_auth_url()
    print(page, flush=True)
    sys.stdin.readline()
    network.session_key, network.username = letting.get_web_auth_session_key_username(page)
else:
    about.update(username=one, password_hash=pylast.md5(two))
    network = pylast._Network(**about)
title = "pylast, let in" if web else "pylast"
network.update_now_playing("Björk", title, album="Homogenic", duration=305)
network.scrobble("Björk", title, int(time), album="Homogenic", duration=305)
network.scrobble_many([{"artist": "Björk", "title": f"{title} {n}", "timestamp": int(time) + 300 * n}
                       for n in range(1, 4)])
print("done", flush=True)
