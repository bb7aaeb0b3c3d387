# What the commands in the documents find on a machine where Reprise is installed. SERVER is the program, CLIENT the
# module that has oapi-codegen.
set -euo pipefail

curl() { command curl --silent --show-error --fail-with-body "$@"; }

oapi-codegen() {
  "$(GOFLAGS=-mod=readonly GOWORK=off CGO_ENABLED=0 go tool -C "$CLIENT" -n oapi-codegen)" "$@"
}

# server runs a command; without one it serves until it is ready, and stops.
server() {
  case " $* " in
  *" backup "* | *" restore "* | *" -check "* | *" -version "*) "$SERVER" "$@"; return ;;
  esac
  "$SERVER" -listen 127.0.0.1:0 "$@" >served.log 2>&1 &
  local ready=
  for _ in $(seq 1200); do
    ready=$(grep -oE 'http://127.0.0.1:[0-9]+' served.log | head -1) && break
    kill -0 $! || { cat served.log; return 1; }
    sleep 0.1
  done
  curl "$ready/readyz"
  kill -TERM $!
  wait $!
}
