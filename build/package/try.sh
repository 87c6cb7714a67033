#!/usr/bin/env bash
# Installs the .deb on this machine, looks whether it works, and removes it again. It needs root, and changes the machine
# while it runs; a machine that has Countersign installed already is left alone.
set -euo pipefail
cd "$(dirname "$0")/../.."
deb=$(ls -t dist/countersign_*.deb | head -1)
if dpkg -s countersign >/dev/null 2>&1; then
  echo "try: Countersign is installed here already; remove it first" >&2
  exit 1
fi
fail() { echo "try: $*" >&2; exit 1; }
trap 'dpkg -r countersign >/dev/null 2>&1 || true' EXIT

apt-get install -y -q --no-install-recommends "./$deb" >/dev/null
for program in countersign countersign-desktop countersign-tray; do
  "/usr/bin/$program" --version | grep -q "$(dpkg-deb -f "$deb" Version | sed 's/[~-].*//')" || fail "$program does not tell its version"
done
[ -f /usr/share/icons/hicolor/256x256/apps/countersign.png ] || fail "the icon is missing"
[ -f /usr/lib/systemd/user/countersign.service ] || fail "the user unit is missing"
grep -q '^MimeType=x-scheme-handler/countersign;' /usr/share/applications/countersign.desktop || fail "no address scheme"
if command -v desktop-file-validate >/dev/null; then
  desktop-file-validate /usr/share/applications/countersign.desktop || fail "the desktop entry is not valid"
fi
if command -v gio >/dev/null && command -v update-desktop-database >/dev/null; then
  gio mime x-scheme-handler/countersign | grep -q countersign.desktop || fail "countersign: addresses open nothing"
fi
if command -v systemd-analyze >/dev/null; then
  XDG_RUNTIME_DIR=$(mktemp -d) systemd-analyze --user verify /usr/lib/systemd/user/countersign.service || fail "the user unit is not valid"
fi

home=$(mktemp -d)
COUNTERSIGN_HOME=$home /usr/bin/countersign serve >"$home/ready" 2>"$home/said" &
host=$!
for _ in $(seq 100); do
  [ -s "$home/ready" ] && break
  sleep 0.1
done
COUNTERSIGN_HOME=$home /usr/bin/countersign sessions list >/dev/null || { cat "$home/said" >&2; fail "the installed host does not answer"; }
kill "$host" && wait "$host" || fail "the installed host does not end well"
rm -rf "$home"

dpkg -r countersign >/dev/null
[ ! -e /usr/bin/countersign-desktop ] && [ ! -e /usr/share/applications/countersign.desktop ] || fail "removing leaves files"
trap - EXIT
echo "try: $deb installs, runs and goes away again"
