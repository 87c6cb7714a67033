package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"
	"unicode"
)

const maxSeconds = int64(365 * 24 * time.Hour / time.Second)

var errTooLong = errors.New("more than a year")

// Problem is something in the file that was not taken as it stands.
type Problem struct {
	// Path names the value, such as "models[1].provider".
	Path string `json:"path"`
	// Line is where it stands in the file, from 1; 0 when it has no place there.
	Line int `json:"line"`
	// Sentence says what is wrong and what is used instead.
	Sentence string `json:"sentence"`
	// Remedy says what to do.
	Remedy string `json:"remedy"`
}

// String is the problem as one line of text.
func (p Problem) String() string {
	if p.Line > 0 {
		return fmt.Sprintf("%s (line %d): %s %s", p.Path, p.Line, p.Sentence, p.Remedy)
	}
	return fmt.Sprintf("%s: %s %s", p.Path, p.Sentence, p.Remedy)
}

// Problems are in the order of the file.
type Problems []Problem

// ValidationError is returned by Update when the new configuration is not
// acceptable. Nothing was written.
type ValidationError struct {
	Problems Problems
}

// Error lists the problems.
func (e *ValidationError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// validate returns what is not acceptable, with the paths that path() of the
// decoder uses.
func validate(c Config) Problems {
	var ps Problems
	add := func(path, sentence, remedy string) {
		ps = append(ps, Problem{Path: path, Sentence: sentence, Remedy: remedy})
	}
	within := func(path string, n, low, high int64, unit string) {
		if n < low || n > high {
			add(path, fmt.Sprintf("%d is out of range.", n), fmt.Sprintf("Choose from %d to %d%s.", low, high, unit))
		}
	}
	validateModels(c.Models, add)
	within("ceilings.modelCalls", int64(c.Ceilings.ModelCalls), 1, 100_000, " calls")
	within("ceilings.toolCalls", int64(c.Ceilings.ToolCalls), 1, 100_000, " calls")
	within("ceilings.wallTimeSeconds", seconds(c.Ceilings.WallTime), 1, 30*24*3600, " seconds")
	if t := c.Appearance.Theme; t != ThemeSystem && t != ThemeLight && t != ThemeDark {
		add("appearance.theme", fmt.Sprintf("There is no theme %q.", t), "Choose system, light or dark.")
	}
	if sentence := listenProblem(c.Gateway.Listen); sentence != "" {
		add("gateway.listen", sentence, "Use an address such as 127.0.0.1:18789, or leave it empty to keep the port closed.")
	}
	within("exec.timeoutSeconds", seconds(c.Exec.Timeout), 1, 24*3600, " seconds")
	within("exec.maxOutputBytes", c.Exec.MaxOutputBytes, 1<<10, 64<<20, " bytes")
	return ps
}

func seconds(s Seconds) int64 { return int64(s.Duration() / time.Second) }

func validateModels(models []Model, add func(path, sentence, remedy string)) {
	seen := map[string]int{}
	defaults := 0
	for i, m := range models {
		at := func(field string) string { return fmt.Sprintf("models[%d].%s", i, field) }
		switch {
		case strings.TrimSpace(m.Name) == "":
			add(at("name"), "The model has no name.", "Give it a name of your choice.")
		case len(m.Name) > 100 || strings.ContainsFunc(m.Name, unicode.IsControl):
			add(at("name"), "The name is too long or holds control characters.", "Use up to 100 ordinary characters.")
		default:
			if first, twice := seen[m.Name]; twice {
				add(at("name"), fmt.Sprintf("The name %q is already used by models[%d].", m.Name, first), "Give each model a name of its own.")
			} else {
				seen[m.Name] = i
			}
		}
		if p := m.Provider; p != ProviderAnthropic && p != ProviderOpenAI && p != ProviderPractice {
			add(at("provider"), fmt.Sprintf("There is no provider %q.", p), "Choose anthropic, openai (also for compatible servers) or practice.")
		}
		if sentence := baseURLProblem(m.BaseURL); sentence != "" {
			add(at("baseUrl"), sentence, "Use an address such as http://127.0.0.1:11434/v1.")
		}
		if len(m.SecretName) > 200 || strings.ContainsFunc(m.SecretName, unicode.IsControl) {
			add(at("secretName"), "The name of the key is too long or holds control characters.", "Save the key again in settings.")
		}
		if m.Default {
			if defaults++; defaults > 1 {
				add(at("default"), "Another model is already the default.", "Mark one model only.")
			}
		}
	}
}

// baseURLProblem refuses credentials in the address: the file holds no secret.
func baseURLProblem(s string) string {
	if s == "" {
		return ""
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "":
		return "This is not a complete web address."
	case u.Scheme != "http" && u.Scheme != "https":
		return "The address has to begin with http:// or https://."
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "The address may not carry a password, a query or a fragment; keys belong in the keychain."
	}
	return ""
}

func listenProblem(s string) string {
	if s == "" {
		return ""
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return "This is not an address with a port."
	}
	if n, err := net.LookupPort("tcp", port); err != nil || n < 0 {
		return fmt.Sprintf("%q is not a port.", port)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "Only this computer may reach the gateway."
	}
	return ""
}
