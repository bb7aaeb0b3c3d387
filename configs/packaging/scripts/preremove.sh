#!/bin/sh
# Stops Reprise before it is removed. Debian passes "remove" then, RPM 0.
set -e

command -v systemctl >/dev/null || exit 0
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then systemctl stop reprise.service; fi
	systemctl disable --quiet reprise.service
	;;
esac
