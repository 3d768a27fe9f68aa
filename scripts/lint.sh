#!/usr/bin/env bash
# Checks the sources: formatting, go vet, staticcheck. Runs all three, then fails if one did.
set -uo pipefail
cd "$(dirname "$0")/.."

status=0
unformatted=$(gofmt -l .) || status=1
if [ -n "$unformatted" ]; then
	printf 'not formatted (gofmt -w them):\n%s\n' "$unformatted"
	status=1
fi
go vet ./... || status=1
go tool staticcheck ./... || status=1
exit "$status"
