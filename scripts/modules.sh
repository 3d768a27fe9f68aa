#!/usr/bin/env bash
# Checks go.mod: that it is tidy, and that modernc.org/libc is exactly the
# version that modernc.org/sqlite asks for. SQLite is C translated for that very
# libc, and breaks with a newer one that another dependency or an update brings in.
set -euo pipefail
cd "$(dirname "$0")/.."

go mod tidy -diff

wanted=$(go mod edit -json "$(go list -m -f '{{.GoMod}}' modernc.org/sqlite)" |
	grep -A1 '"Path": "modernc.org/libc"' | sed -n 's/.*"Version": "\(.*\)".*/\1/p')
selected=$(go list -m -f '{{.Version}}' modernc.org/libc)
if [ -z "$wanted" ] || [ "$selected" != "$wanted" ]; then
	echo "modernc.org/libc: go.mod selects $selected, modernc.org/sqlite asks for ${wanted:-nothing}: go get modernc.org/libc@$wanted"
	exit 1
fi
echo "tidy; modernc.org/libc $selected is what modernc.org/sqlite asks for"
