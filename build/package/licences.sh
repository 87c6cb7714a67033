#!/usr/bin/env bash
# Prints the licence texts of everything that is linked into the programs or bundled into the page, as their licences
# ask of whoever passes them on.
set -euo pipefail
cd "$(dirname "$0")/../.."

print() { # name version folder
  local file
  for file in "$3"/LICENSE* "$3"/LICENCE* "$3"/COPYING* "$3"/license*; do
    [ -f "$file" ] || continue
    printf '\n==== %s %s (%s)\n\n' "$1" "$2" "$(basename "$file")"
    cat "$file"
  done
}

echo "Countersign contains the following works of others."
go list -deps -tags desktop,production,webkit2_41 \
  -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' . ./app/tray ./backend/cmd/countersign |
  sort -u | while read -r name version dir; do print "$name" "$version" "$dir"; done
print "Go standard library" "$(go env GOVERSION)" "$(go env GOROOT)"

npm --prefix frontend ls --omit=dev --all --parseable 2>/dev/null | tail -n +2 | sort -u | while read -r dir; do
  print "${dir##*/node_modules/}" "" "$dir"
done
