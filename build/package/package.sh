#!/usr/bin/env bash
# Makes what people install, into dist/, from the programs that `make build` left in bin/:
#   the .deb and .rpm for this machine's kind, the Windows installer (built here, its programs are pure Go), and on a Mac
#   the bundle. VERSION is the version to write into them.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${VERSION:?}"
tools=$PWD/.cache/tools
mkdir -p dist
ldflags="-s -w -X main.version=$VERSION"

build/package/licences.sh >dist/third-party-licences.txt

linux_packages() {
  make --no-print-directory .cache/tools/nfpm
  export VERSION
  ARCH=$(go env GOARCH)
  export ARCH
  local kind
  for kind in deb rpm; do
    "$tools/nfpm" package --config build/linux/nfpm.yaml --packager "$kind" --target dist/
  done
}

# Wails' own tool is used for its one service: the resources of the window's program (icon, manifest, version).
windows_installer() {
  command -v makensis >/dev/null || { echo "package: no makensis, so no Windows installer" >&2; return; }
  make --no-print-directory .cache/tools/wails
  local out=build/bin/windows
  mkdir -p "$out"
  "$tools/wails" build -platform windows/amd64 -s -m -skipbindings -nosyncgomod -nopackage=false -trimpath \
    -ldflags "$ldflags" -o countersign-desktop.exe
  mv build/bin/countersign-desktop.exe "$out/"
  GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go build -trimpath -ldflags "$ldflags" \
    -o "$out/countersign.exe" ./backend/cmd/countersign
  GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go build -trimpath -ldflags "$ldflags -H windowsgui" \
    -o "$out/countersign-tray.exe" ./app/tray
  makensis -V2 -DVERSION="$VERSION" -DBIN="$PWD/$out" -DROOT="$PWD" \
    -DOUT="$PWD/dist/countersign-$VERSION-setup.exe" build/windows/installer/countersign.nsi
}

case $(uname -s) in
  Linux) linux_packages && windows_installer ;;
  Darwin) build/darwin/bundle.sh ;;
esac
ls -l dist
