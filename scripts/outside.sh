#!/usr/bin/env bash
# Installs the servers that internal/outside gives to tests, and a browser: nginx,
# Chromium and Node.js by the system's package manager, the others by Go and npm
# into a cache outside this repository. What is there already stays. Fails if one
# cannot be had:
#
#   scripts/outside.sh
#
# The environment:
#
#   SYNCD_OUTSIDE_CACHE=FOLDER   where the programs are built, instead of the user's cache
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/packages.sh

say() { printf 'outside.sh: %s\n' "$*" >&2; }

# found tells whether one of the programs is where internal/outside looks for it.
found() {
	local name
	for name in "$@"; do
		PATH=$PATH:/usr/sbin:/usr/local/sbin:/opt/homebrew/bin:/home/linuxbrew/.linuxbrew/bin command -v "$name" >/dev/null && return
	done
	[ "$1" = chromium ] && [ -d /Applications/Chromium.app ]
}

install_nginx() {
	package nginx nginx nginx nginx nginx || return 1
	# Some packages start a server of their own on port 80. The tests need the program alone.
	say "the tests need no nginx as a service: systemctl disable --now nginx ends one that the package started"
}

status=0
found nginx || install_nginx || status=1
found npm || package npm "nodejs npm" "nodejs npm" "nodejs npm" node || status=1
found chromium chromium-browser google-chrome google-chrome-stable || package chromium chromium chromium chromium "--cask chromium" || status=1
SYNCD_REQUIRE_OUTSIDE=1 go test -count=1 -v -timeout=40m -run '^TestInstalled$' ./internal/outside || status=1
exit "$status"
