#!/usr/bin/env bash
# Makes Countersign.app and a disk image on a Mac, for both kinds of processor. It cannot run elsewhere: the window and
# the tray need Apple's SDK.
#
#   VERSION          the version to write into the bundle
#   SIGN_IDENTITY    a "Developer ID Application: …" in the keychain; without it the bundle is signed for this Mac only
#   NOTARY_PROFILE   a profile stored by `xcrun notarytool store-credentials`; without it nothing is notarised, and
#                    other Macs will refuse to open the image at first
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${VERSION:?}"
[ "$(uname -s)" = Darwin ] || { echo "bundle: this needs a Mac" >&2; exit 1; }

app=dist/Countersign.app
rm -rf "$app" && mkdir -p "$app/Contents/MacOS" "$app/Contents/Resources" build/bin/darwin
ldflags="-s -w -X main.version=$VERSION"
export MACOSX_DEPLOYMENT_TARGET=11.0 CGO_LDFLAGS="-framework UniformTypeIdentifiers"

for arch in arm64 amd64; do
  GOARCH=$arch CGO_ENABLED=1 go build -trimpath -tags desktop,production -ldflags "$ldflags" \
    -o "build/bin/darwin/countersign-desktop-$arch" .
  GOARCH=$arch CGO_ENABLED=1 go build -trimpath -ldflags "$ldflags" -o "build/bin/darwin/countersign-tray-$arch" ./app/tray
  GOARCH=$arch CGO_ENABLED=0 go build -trimpath -ldflags "$ldflags" \
    -o "build/bin/darwin/countersign-$arch" ./backend/cmd/countersign
done
for program in countersign-desktop countersign-tray countersign; do
  lipo -create -output "$app/Contents/MacOS/$program" build/bin/darwin/$program-{arm64,amd64}
done
sed "s/@VERSION@/$VERSION/g" build/darwin/Info.plist >"$app/Contents/Info.plist"
cp build/darwin/countersign.icns LICENSE dist/third-party-licences.txt "$app/Contents/Resources/"

# Inner programs first: the signature of the bundle covers theirs.
identity=${SIGN_IDENTITY:--}
for target in "$app/Contents/MacOS/countersign" "$app/Contents/MacOS/countersign-tray" "$app"; do
  codesign --force --options runtime --timestamp"$([ "$identity" = - ] && echo =none)" \
    --entitlements build/darwin/entitlements.plist --sign "$identity" "$target"
done
codesign --verify --deep --strict "$app"

image=dist/countersign-$VERSION.dmg
rm -f "$image"
hdiutil create -volname Countersign -srcfolder "$app" -format UDZO "$image"
if [ -n "${NOTARY_PROFILE:-}" ]; then
  codesign --sign "$identity" --timestamp "$image"
  xcrun notarytool submit "$image" --keychain-profile "$NOTARY_PROFILE" --wait
  xcrun stapler staple "$image"
fi
