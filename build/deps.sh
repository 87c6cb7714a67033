#!/usr/bin/env bash
# Installs what building and testing need and this machine lacks. Does nothing, quickly, when nothing is missing.
#   build/deps.sh build     what a build of the window needs
#   build/deps.sh test      and what the tests need (the default)
#   build/deps.sh package   and what the packages need
set -euo pipefail
cd "$(dirname "$0")/.."
for_what=${1:-test}

say() { printf 'deps: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

command -v go >/dev/null || die "Go 1.26 or later is needed: https://go.dev/dl"
command -v node >/dev/null || die "Node 20 or later is needed: https://nodejs.org"

# The sandbox belongs to what a build needs: without it every command is asked for.
# Each line: package, then how its presence is seen (a command, or a pkg-config name after pc:).
linux_build='
gcc gcc
pkg-config pkg-config
libgtk-3-dev pc:gtk+-3.0
libwebkit2gtk-4.1-dev pc:webkit2gtk-4.1
bubblewrap bwrap
'
linux_test='
git git
xvfb Xvfb
dbus dbus-daemon
openbox openbox
xdotool xdotool
x11-utils xprop
imagemagick import
gnome-keyring gnome-keyring-daemon
libsecret-tools secret-tool
xfce4-panel xfce4-panel
chromium chromium
dpkg-dev dpkg-deb
desktop-file-utils desktop-file-validate
'
linux_package='
nsis makensis
'

present() {
  case $1 in
    pc:*) has pkg-config && pkg-config --exists "${1#pc:}" ;;
    *) has "$1" ;;
  esac
}

install_linux() {
  local wanted=$linux_build missing=() name seen
  [ "$for_what" = build ] || wanted+=$linux_test
  [ "$for_what" != package ] || wanted+=$linux_package
  while read -r name seen; do
    [ -z "$name" ] || present "$seen" || missing+=("$name")
  done <<<"$wanted"
  [ ${#missing[@]} -gt 0 ] || return 0
  has apt-get || die "please install the equivalents of: ${missing[*]}"
  local root=()
  if [ "$(id -u)" != 0 ]; then
    has sudo || die "please install as root: apt-get install ${missing[*]}"
    root=(sudo)
  fi
  say "installing ${missing[*]}"
  "${root[@]}" apt-get update -q
  DEBIAN_FRONTEND=noninteractive "${root[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}"
}

case $(uname -s) in
  Linux) install_linux ;;
  Darwin)
    has clang || die "please run: xcode-select --install"
    [ "$for_what" != package ] || has makensis || say "the Windows installer needs: brew install makensis"
    ;;
  *) say "on this system please install Go, Node and (for the window) WebView2 yourself" ;;
esac

# npm writes its lock file's copy last, so an older or missing one means an unfinished or outdated install.
if [ ! -f frontend/node_modules/.package-lock.json ] ||
  [ frontend/package-lock.json -nt frontend/node_modules/.package-lock.json ]; then
  say "installing the front end's packages"
  npm ci --prefix frontend --no-audit --no-fund
  touch frontend/node_modules/.package-lock.json
fi
