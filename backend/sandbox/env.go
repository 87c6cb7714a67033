package sandbox

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// homeVariable is set to a private folder for each run, so that no program finds
// the owner's settings and keys by it.
const homeVariable = "HOME"

// allowedNames are the variables that a command may see. Everything else is
// dropped: keys and tokens by not being named, and NODE_OPTIONS, LD_PRELOAD,
// PYTHONPATH, BASH_ENV and their like because they make programs run foreign code.
var allowedNames = map[string][]string{
	"windows": {
		"PATH", "PATHEXT", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "TEMP", "TMP", "OS", "LANG", "TZ",
		"NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432",
		"COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)", "PROGRAMDATA", "USERNAME", "USERPROFILE", "APPDATA", "LOCALAPPDATA",
	},
	"": {"PATH", "LANG", "LANGUAGE", "TERM", "COLORTERM", "NO_COLOR", "TZ", "USER", "LOGNAME"},
}

// proxyNames pass only when the command may use the network, and only without a
// password in them.
var proxyNames = []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy"}

const defaultPath = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

// Scrub returns what a command may see of environ, sorted, as "NAME=value". PATH
// is reduced to folders that commands can see, and HOME is a placeholder for the
// private folder of a run. nil means the environment of this process.
func Scrub(environ []string, network bool) []string {
	if environ == nil {
		environ = os.Environ()
	}
	values := map[string]string{}
	for _, pair := range environ {
		name, value, ok := strings.Cut(pair, "=")
		if ok && name != "" && allowed(name, value, network) && !strings.ContainsRune(value, 0) {
			values[canonicalName(name)] = value
		}
	}
	values["PATH"] = strings.Join(searchPath(values["PATH"]), string(os.PathListSeparator))
	if runtime.GOOS != "windows" {
		values[homeVariable] = "/"
	}
	kept := make([]string, 0, len(values))
	for name, value := range values {
		kept = append(kept, name+"="+value)
	}
	slices.Sort(kept)
	return kept
}

func allowed(name, value string, network bool) bool {
	if runtime.GOOS == "windows" {
		return slices.Contains(allowedNames["windows"], strings.ToUpper(name))
	}
	if slices.Contains(proxyNames, name) {
		return network && !strings.Contains(value, "@")
	}
	return slices.Contains(allowedNames[""], name) || isLocale(name)
}

func isLocale(name string) bool {
	category, ok := strings.CutPrefix(name, "LC_")
	return ok && category != "" && strings.Trim(category, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
}

// canonicalName makes Path and PATH one variable on Windows.
func canonicalName(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

func envKeys(env []string) []string {
	keys := make([]string, len(env))
	for i, pair := range env {
		keys[i], _, _ = strings.Cut(pair, "=")
	}
	return keys
}

func envValue(env []string, name string) string {
	for _, pair := range env {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// searchPath returns the folders of a PATH that a command can see: absolute,
// existing, and either of the system or a tool folder named bin. Folders of
// launch scripts, such as shims of version managers, need the owner's home
// and are left out, so that the program behind them is found instead.
func searchPath(path string) []string {
	if path == "" && runtime.GOOS != "windows" {
		path = defaultPath
	}
	var dirs []string
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) || slices.Contains(dirs, filepath.Clean(dir)) {
			continue
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue
		}
		if runtime.GOOS == "linux" && !isSystemPath(dir) && !isToolDir(dir) {
			continue
		}
		dirs = append(dirs, filepath.Clean(dir))
	}
	return dirs
}

// systemPrefixes hold programs that only the system's administrator installs.
var systemPrefixes = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix", "/gnu/store", "/run/current-system", "/home/linuxbrew",
	"/System", "/Library/Developer", "/Applications",
}

func isSystemPath(path string) bool {
	return slices.ContainsFunc(systemPrefixes, func(prefix string) bool { return isWithin(path, prefix) })
}

func isToolDir(dir string) bool { return filepath.Base(dir) == "bin" }

// isWithin is true for dir itself and everything below it. Both are clean paths.
func isWithin(path, dir string) bool {
	if path == dir || dir == string(filepath.Separator) {
		return true
	}
	return strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}
