#!/bin/sh
# Starts the new version if the old one runs.
if command -v rc-service >/dev/null && rc-service --quiet reprise status >/dev/null 2>&1; then
	rc-service reprise restart
fi
exit 0
