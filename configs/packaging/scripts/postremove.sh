#!/bin/sh
# Cleans up after a removal. Only a purge (Debian's apt purge) deletes the data and the user.
set -e

if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
if [ "$1" = purge ]; then
	rm -rf /var/lib/reprise
	! getent passwd reprise >/dev/null || userdel reprise
	! getent group reprise >/dev/null || groupdel reprise
fi
