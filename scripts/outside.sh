#!/usr/bin/env bash
# Installs the servers that internal/outside gives to tests: nginx by the
# system's package manager, the others by go install into a cache outside this
# repository. What is there already stays. Fails if one cannot be had:
#
#   scripts/outside.sh
#
# The environment:
#
#   SYNCD_OUTSIDE_CACHE=FOLDER   where the programs are built, instead of the user's cache
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'outside.sh: %s\n' "$*" >&2; }

# found tells whether nginx is where internal/outside looks for it.
found() {
	PATH=$PATH:/usr/sbin:/usr/local/sbin:/opt/homebrew/bin:/home/linuxbrew/.linuxbrew/bin command -v nginx >/dev/null
}

# installation prints the command that installs nginx here; fails if no package manager is known.
installation() {
	if command -v apt-get >/dev/null; then
		echo 'apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends nginx'
	elif command -v dnf >/dev/null; then
		echo 'dnf install -y nginx'
	elif command -v apk >/dev/null; then
		echo 'apk add nginx'
	elif command -v brew >/dev/null; then
		echo 'brew install nginx'
	else
		return 1
	fi
}

# install runs that command if it can be run without asking anybody.
install() {
	local command
	if ! command=$(installation); then
		say "install nginx, and run this again"
		return 1
	fi
	local as=(sh -c)
	case $command in
	brew*) ;; # refuses root
	*)
		if [ "$(id -u)" != 0 ]; then
			if ! sudo -n true 2>/dev/null; then
				say "no nginx here, and no right to install it. Run this, then the tests again:"
				say "    sudo sh -c '$command'"
				return 1
			fi
			as=(sudo -n sh -c)
		fi
		;;
	esac
	say "no nginx here; installing it: $command"
	"${as[@]}" "$command" </dev/null >&2 || {
		say "that did not work"
		return 1
	}
	# Some packages start a server of their own on port 80. The tests need the program alone.
	say "the tests need no nginx as a service: systemctl disable --now nginx ends one that the package started"
}

status=0
found || install || status=1
SYNCD_REQUIRE_OUTSIDE=1 go test -count=1 -v -timeout=40m -run '^TestInstalled$' ./internal/outside || status=1
exit "$status"
