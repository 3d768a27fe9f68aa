#!/usr/bin/env bash
# Runs every fuzz target of the tree for FUZZTIME (default 5s) each. A name or
# several as arguments: only the targets whose names contain one of them.
set -euo pipefail
cd "$(dirname "$0")/.."

time=${FUZZTIME:-5s}
output=$(mktemp)
trap 'rm -f "$output"' EXIT

# fuzz runs one target of one folder.
fuzz() {
	go test -run='^$' -fuzz="^$2\$" -fuzztime="$time" "$1" </dev/null >"$output" 2>&1
}

wanted() {
	local target=$1 name
	shift
	[ $# != 0 ] || return 0
	for name in "$@"; do
		[[ $target != *"$name"* ]] || return 0
	done
	return 1
}

ran=0 failed=0
while IFS=: read -r file line; do
	target=${line#func }
	target=${target%%(*}
	wanted "$target" "$@" || continue
	folder=$(dirname "$file")
	ran=$((ran + 1))
	if ! fuzz "$folder" "$target"; then
		# Before 1.27 Go's fuzzer now and then reports the end of its own time as
		# a failure (go.dev/issue/75804). A finding is written down; that is not.
		if grep -q 'context deadline exceeded' "$output" && ! grep -q 'Failing input written' "$output" &&
			fuzz "$folder" "$target"; then
			:
		else
			failed=$((failed + 1))
			cat "$output"
			echo "FAIL $folder $target"
			continue
		fi
	fi
	echo "ok   $folder $target: $(grep -o 'execs: [0-9]*' "$output" | tail -n 1)"
done < <(grep -rE --include='*_test.go' '^func Fuzz[A-Z0-9_][A-Za-z0-9_]*\(' . | sort)

if [ "$ran" = 0 ]; then
	echo "fuzz.sh: no fuzz target${1:+ like $*}"
	exit 0
fi
echo "fuzz.sh: $ran targets for $time each, $failed failed"
[ "$failed" = 0 ]
