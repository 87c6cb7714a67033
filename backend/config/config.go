package config

import (
	"encoding/json"
	"slices"
	"time"
)

// The providers a model entry may name.
const (
	ProviderAnthropic = "anthropic"
	ProviderOpenAI    = "openai"
	ProviderPractice  = "practice"
)

// The themes.
const (
	ThemeSystem = "system"
	ThemeLight  = "light"
	ThemeDark   = "dark"
)

// Config is everything the owner sets. Values handed out are copies.
type Config struct {
	Models       []Model    `json:"models"`
	Ceilings     Ceilings   `json:"ceilings"`
	Appearance   Appearance `json:"appearance"`
	Gateway      Gateway    `json:"gateway"`
	Startup      Startup    `json:"startup"`
	Exec         Exec       `json:"exec"`
	FirstRunDone bool       `json:"firstRunDone"`
}

// Model is one model the owner can choose.
type Model struct {
	// Name is unique among the models and shown to the owner.
	Name     string `json:"name"`
	Provider string `json:"provider"`
	// BaseURL is empty for the provider's own address.
	BaseURL string `json:"baseUrl,omitempty"`
	// Model is the provider's identifier of the model.
	Model string `json:"model,omitempty"`
	// SecretName is where the key lies in the keychain; never the key.
	SecretName string `json:"secretName,omitempty"`
	// NoKey says that the provider is used without a key.
	NoKey   bool `json:"noKey,omitempty"`
	Default bool `json:"default,omitempty"`
}

// Ceilings are the limits of one run.
type Ceilings struct {
	ModelCalls int     `json:"modelCalls"`
	ToolCalls  int     `json:"toolCalls"`
	WallTime   Seconds `json:"wallTimeSeconds"`
}

// Appearance is how the window looks.
type Appearance struct {
	Theme string `json:"theme"`
}

// Gateway is where the gateway listens.
type Gateway struct {
	// Listen is a loopback address with a port; empty means that no port is open.
	Listen string `json:"listen"`
}

// Startup is what happens at login and after a crash.
type Startup struct {
	OpenAtLogin       bool `json:"openAtLogin"`
	RestartAfterCrash bool `json:"restartAfterCrash"`
	ServeAtLogin      bool `json:"serveAtLogin"`
}

// Exec limits commands.
type Exec struct {
	Timeout        Seconds `json:"timeoutSeconds"`
	MaxOutputBytes int64   `json:"maxOutputBytes"`
	// Network lets commands use the network.
	Network bool `json:"network"`
}

// Seconds is a duration that is a whole number of seconds in JSON.
type Seconds time.Duration

// Duration returns the same length of time.
func (s Seconds) Duration() time.Duration { return time.Duration(s) }

// MarshalJSON writes whole seconds.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return json.Marshal(int64(time.Duration(s) / time.Second))
}

// UnmarshalJSON reads whole seconds.
func (s *Seconds) UnmarshalJSON(b []byte) error {
	var n int64
	if err := json.Unmarshal(b, &n); err != nil {
		return err
	}
	if n > maxSeconds || n < -maxSeconds {
		return errTooLong
	}
	*s = Seconds(time.Duration(n) * time.Second)
	return nil
}

// Default returns the configuration of a new installation.
func Default() Config {
	return Config{
		Models:     []Model{},
		Ceilings:   Ceilings{ModelCalls: 50, ToolCalls: 200, WallTime: Seconds(time.Hour)},
		Appearance: Appearance{Theme: ThemeSystem},
		Startup:    Startup{RestartAfterCrash: true},
		Exec:       Exec{Timeout: Seconds(10 * time.Minute), MaxOutputBytes: 256 << 10},
	}
}

// FindModel returns the model of that name.
func (c Config) FindModel(name string) (Model, bool) {
	i := slices.IndexFunc(c.Models, func(m Model) bool { return m.Name == name })
	if i < 0 {
		return Model{}, false
	}
	return c.Models[i], true
}

func (c Config) clone() Config {
	c.Models = append([]Model{}, c.Models...)
	return c
}
