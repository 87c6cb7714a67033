package sandbox

import (
	"path/filepath"
	"strings"
)

// Folders of macOS that programs need to read. /private/etc is named piece by
// piece, and /Library without its keychains.
var (
	macReadable = []string{
		"/usr", "/bin", "/sbin", "/System", "/Library", "/Applications/Xcode.app", "/opt", "/dev",
		"/private/etc/ssl", "/private/var/db/timezone", "/private/var/select", "/private/var/db/dyld",
	}
	macReadableFiles = []string{
		"/", "/private/etc/hosts", "/private/etc/passwd", "/private/etc/group", "/private/etc/protocols", "/private/etc/services",
		"/private/etc/localtime", "/private/etc/resolv.conf", "/private/var/run/resolv.conf", "/private/etc/shells",
	}
	macHidden   = []string{"/Library/Keychains", "/System/Library/Keychains"}
	macServices = []string{
		"com.apple.system.opendirectoryd.libinfo", "com.apple.system.logger", "com.apple.system.notification_center",
		"com.apple.logd", "com.apple.trustd.agent", "com.apple.SystemConfiguration.configd", "com.apple.dnssd.service",
	}
)

// profile is the text for sandbox-exec. Later rules win, so it goes from outer
// folders to inner ones and ends with what is always hidden. Everything that is
// not named is refused: the home folder, the keychain's service, other sockets.
func profile(mounts []mount, tools []string, private string, network bool) string {
	var b strings.Builder
	line := func(parts ...string) { b.WriteString("(" + strings.Join(parts, " ") + ")\n") }
	line("version 1")
	line("deny default")
	line("allow process-fork")
	line("allow process-exec*")
	line("allow signal (target same-sandbox)")
	line("allow process-info* (target same-sandbox)")
	line("allow sysctl-read")
	line("allow file-read-metadata")
	line("allow ipc-posix-sem")
	line("allow pseudo-tty")
	for _, service := range macServices {
		line("allow mach-lookup (global-name " + quoteProfile(service) + ")")
	}
	for _, dir := range append(append([]string{}, macReadable...), tools...) {
		line("allow file-read* (subpath " + quoteProfile(dir) + ")")
	}
	for _, file := range macReadableFiles {
		line("allow file-read* (literal " + quoteProfile(file) + ")")
	}
	for _, device := range []string{"/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper"} {
		line("allow file-write* (literal " + quoteProfile(device) + ")")
	}
	for _, m := range mounts {
		path := "(subpath " + quoteProfile(m.path) + ")"
		line("deny file-read* file-write* " + path)
		switch {
		case m.hidden:
		case m.writable:
			line("allow file-read* file-write* " + path)
		default:
			line("allow file-read* " + path)
		}
	}
	for _, dir := range guards(mounts) {
		line("deny file-write-unlink (literal " + quoteProfile(dir) + ")")
	}
	line("allow file-read* (subpath " + quoteProfile(filepath.Join(private, "code")) + ")")
	line("allow file-read* file-write* (subpath " + quoteProfile(filepath.Join(private, "home")) + ")")
	for _, dir := range macHidden {
		line("deny file-read* (subpath " + quoteProfile(dir) + ")")
	}
	if network {
		line("allow network-outbound (remote ip)")
		line("allow network-inbound (local ip)")
		line("allow network-bind (local ip)")
		line("allow network-outbound (literal " + quoteProfile("/private/var/run/mDNSResponder") + ")")
		line("allow system-socket")
	}
	return b.String()
}

func quoteProfile(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
