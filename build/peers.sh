#!/usr/bin/env bash
# Installs the programs nobody here wrote that `make test-peers` speaks to, by exact version, into .cache/peers.
# They are never committed, never linked and never shipped; `make clean` removes them. What is there already is left
# alone. A program that cannot be installed is named, the others are installed all the same, and the tests that need
# it fail with that name.
#   build/peers.sh              all of them
#   build/peers.sh openclaw     only those named
set -uo pipefail
cd "$(dirname "$0")/.."
peers=$PWD/.cache/peers

case $(uname -s)-$(uname -m) in
  Linux-x86_64) system=linux-x64 ;;
  Linux-aarch64) system=linux-arm64 ;;
  Darwin-arm64) system=darwin-arm64 ;;
  *) system=unknown ;;
esac

# Each line: a folder of .cache/peers, then the npm packages in it. OpenClaw wants Node 24, which comes from npm too.
# Optional packages are left out of llama, for they are engines for graphics cards.
list="
node node-$system@24.22.3
openclaw openclaw@2026.9.6
protocol @openclaw/gateway-protocol@2026.9.1
llama node-llama-cpp@3.21.1 @node-llama-cpp/$system@3.21.1
"

failed=0
say() { printf 'peers: %s\n' "$*" >&2; }

# install FOLDER PACKAGE…: no script of a package is run.
install() {
  local name=$1
  shift
  local into=$peers/$name options=() log=$peers/$name.log
  if [ "$(cat "$into/installed" 2>/dev/null)" = "$*" ]; then return; fi
  [ "$name" != llama ] || options=(--omit=optional)
  say "installing $*"
  rm -rf "$into"
  mkdir -p "$into"
  printf '{"name":"countersign-peer-%s","private":true}\n' "$name" >"$into/package.json"
  if npm install --prefix "$into" --save-exact --ignore-scripts --no-audit --no-fund "${options[@]}" "$@" >"$log" 2>&1; then
    printf '%s\n' "$*" >"$into/installed"
  else
    say "$* could not be installed; the others are not affected. npm said, in $log:"
    tail -n 5 "$log" >&2
    failed=1
  fi
}

# need COMMAND PACKAGE: a program from the system's packages.
need() {
  command -v "$1" >/dev/null && return
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "installing $2"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$2" >&2 && return
  fi
  say "$1 is missing; please install the package $2"
  failed=1
}

while read -r name packages; do
  [ -n "$name" ] || continue
  [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
  # shellcheck disable=SC2086
  install "$name" $packages
done <<<"$list"
if [ $# -eq 0 ]; then
  need tmux tmux
  need secret-tool libsecret-tools
  need gnome-keyring-daemon gnome-keyring
  need dbus-run-session dbus
fi
exit $failed
