#!/usr/bin/env bash
# Starts the window; without a display it serves the same page on loopback and prints its address.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "$(uname -s)" = Linux ] && [ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
  echo "There is no display here, so Countersign serves its page instead. Ctrl+C ends it."
  bin/countersign serve "$@" | sed -u 's/.*"open":"\([^"]*\)".*/Open this address on this computer within a minute (it works once):\n  \1/'
  exit "${PIPESTATUS[0]}"
fi
exec bin/countersign-desktop "$@"
