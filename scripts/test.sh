#!/usr/bin/env bash
# Runs the tests with one throw-away PostgreSQL for all of them. Arguments go to
# `go test`; without a package among them it is all packages:
#
#   scripts/test.sh                               everything
#   scripts/test.sh -race                         with the race detector
#   scripts/test.sh -run TestStore ./internal/store/...
#
# Where there is no PostgreSQL it installs one if it may, and otherwise says
# how to, and goes on without the tests that need it. The environment:
#
#   SYNCD_REQUIRE_POSTGRES=1   do not go on without
#   SYNCD_REQUIRE_OUTSIDE=1    do not go on without the servers of others (scripts/outside.sh installs them)
#   SYNCD_TEST_POSTGRES=URL    use this server: a database in it, from which others can be created
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/packages.sh

say() { printf 'test.sh: %s\n' "$*" >&2; }

temporary=$(mktemp -d)
server= # the process id of pgserve
finish() {
	if [ -n "$server" ]; then
		kill "$server" 2>/dev/null || true
		wait "$server" || true
	fi
	rm -rf "$temporary"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# serve starts the server and exports its address; 3 if the machine has none.
serve() {
	rm -f "$temporary/in" "$temporary/out"
	mkfifo "$temporary/in" "$temporary/out"
	"$temporary/pgserve" <"$temporary/in" >"$temporary/out" &
	server=$!
	# Held open as long as this script lives: should even the trap not run, the
	# server sees its input end.
	exec 3>"$temporary/in"
	if read -r SYNCD_TEST_POSTGRES <"$temporary/out"; then
		export SYNCD_TEST_POSTGRES
		rm -rf "$temporary" # all of it is open now, and so nothing is left to tidy up later
		return 0
	fi
	local status=0
	wait "$server" || status=$?
	server=
	exec 3>&-
	return "$status"
}

if [ -z "${SYNCD_TEST_POSTGRES:-}" ]; then
	go build -buildvcs=false -o "$temporary/pgserve" ./internal/pgtest/pgserve
	status=0
	serve || status=$?
	if [ "$status" = 3 ] && package "PostgreSQL server" postgresql postgresql-server postgresql postgresql; then
		status=0
		serve || status=$?
	fi
	case $status in
	0) ;;
	3)
		if [ "${SYNCD_REQUIRE_POSTGRES:-}" = 1 ]; then
			say "SYNCD_REQUIRE_POSTGRES=1, and there is no PostgreSQL"
			exit 1
		fi
		without=yes
		;;
	*) exit "$status" ;;
	esac
fi

warn() {
	if [ -n "${without:-}" ]; then
		say "********************************************************************"
		say "** No PostgreSQL: every test that needs one is SKIPPED.           **"
		say "********************************************************************"
	fi
}

packages=(./...)
for argument in "$@"; do
	case $argument in
	. | ./* | *...) packages=() ;;
	esac
done

warn
status=0
# Not the descriptor that keeps the server: a process that a test left behind would keep it too.
go test -timeout=40m "$@" ${packages[@]+"${packages[@]}"} 3>&- || status=$?
warn
exit "$status"
