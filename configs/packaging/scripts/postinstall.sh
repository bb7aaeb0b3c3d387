#!/bin/sh
# Starts Reprise when it is installed, and again, if it runs, when it is upgraded. Debian passes "configure" and the
# version before, if any; RPM passes how many versions are installed then.
set -e

command -v systemctl >/dev/null || exit 0
running() { [ -d /run/systemd/system ]; }
if running; then systemctl daemon-reload; fi
case "$1 $2" in
"configure " | "1 ")
	systemctl enable --quiet reprise.service
	if running; then systemctl start reprise.service; fi
	echo "Reprise answers at http://127.0.0.1:8420. The link for the first account: journalctl -u reprise | grep setup"
	;;
*)
	if running; then systemctl try-restart reprise.service; fi
	;;
esac
