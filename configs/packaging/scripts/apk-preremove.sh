#!/bin/sh
# Stops Reprise before it is removed. The data in /var/lib/reprise stays.
if command -v rc-service >/dev/null; then
	rc-service --ifstarted --quiet reprise stop
	rc-update --quiet delete reprise >/dev/null 2>&1
fi
exit 0
