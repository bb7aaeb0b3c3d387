#!/bin/sh
# Makes the user that Reprise runs as, before the settings, which its group may read, are unpacked.
set -e

if command -v useradd >/dev/null; then
	getent group reprise >/dev/null || groupadd --system reprise
	getent passwd reprise >/dev/null || useradd --system --gid reprise --no-create-home \
		--home-dir /var/lib/reprise --shell /usr/sbin/nologin --comment Reprise reprise
else # Alpine
	grep -q '^reprise:' /etc/group || addgroup -S reprise
	grep -q '^reprise:' /etc/passwd || adduser -S -D -H -h /var/lib/reprise -s /sbin/nologin -g Reprise \
		-G reprise reprise
fi
