"""Submits through Quod Libet's client of ListenBrainz: FILE TOKEN TIME. The file is the client, which needs no part of
the program around it. Its server is in QL_LISTENBRAINZ_DEV_SERVER."""
import importlib.util, sys

file, token, time = sys.argv[1:]
spec = importlib.util.spec_from_file_location("client", file)
client = importlib.util.module_from_spec(spec)
spec.loader.exec_module(client)
to = client.ListenBrainzClient()
to.user_token = token
track = client.Track("Björk", "Quod Libet", "Homogenic", {"duration_ms": 305000, "media_player": "Quod Libet"})
for answer in (to.playing_now(track), to.listen(int(time), track), to.listen(int(time), track)):
    if answer.status != 200:
        sys.exit(f"{answer.status}: {answer.data}")
