package protocol

// Settings is what the owner sets, without any secret.
type Settings struct {
	Ceilings     CeilingSettings    `json:"ceilings"`
	Appearance   AppearanceSettings `json:"appearance"`
	Gateway      GatewaySettings    `json:"gateway"`
	Startup      StartupSettings    `json:"startup"`
	Exec         ExecSettings       `json:"exec"`
	FirstRunDone bool               `json:"firstRunDone"`
	Problems     []SettingsProblem  `json:"problems,omitempty"`
}

// SettingsProblem is something in the settings file that was not understood.
type SettingsProblem struct {
	Path     string `json:"path"`
	Line     int    `json:"line,omitempty"`
	Sentence string `json:"sentence"`
}

// CeilingSettings are the limits of a run.
type CeilingSettings struct {
	ModelCalls      int `json:"modelCalls"`
	ToolCalls       int `json:"toolCalls"`
	WallTimeSeconds int `json:"wallTimeSeconds"`
}

// AppearanceSettings is how the window looks: theme is system, light or dark.
type AppearanceSettings struct {
	Theme string `json:"theme"`
}

// GatewaySettings opens a port: Listen is an address on loopback, empty for none.
type GatewaySettings struct {
	Listen string `json:"listen"`
	// URL is where the gateway listens right now; read only.
	URL string `json:"url,omitempty"`
}

// StartupSettings are the switches for starting with the computer.
type StartupSettings struct {
	OpenAtLogin       bool `json:"openAtLogin"`
	RestartAfterCrash bool `json:"restartAfterCrash"`
	ServeAtLogin      bool `json:"serveAtLogin"`
}

// ExecSettings limit commands.
type ExecSettings struct {
	TimeoutSeconds int   `json:"timeoutSeconds"`
	MaxOutputBytes int64 `json:"maxOutputBytes"`
	Network        bool  `json:"network"`
}

// SettingsPatchParams changes the groups that are given.
type SettingsPatchParams struct {
	Ceilings     *CeilingSettings    `json:"ceilings,omitempty"`
	Appearance   *AppearanceSettings `json:"appearance,omitempty"`
	Gateway      *GatewaySettings    `json:"gateway,omitempty"`
	Startup      *StartupSettings    `json:"startup,omitempty"`
	Exec         *ExecSettings       `json:"exec,omitempty"`
	FirstRunDone *bool               `json:"firstRunDone,omitempty"`
}

// SettingsEvent tells that settings, models, folders or the keychain changed.
type SettingsEvent struct {
	Settings Settings `json:"settings"`
}

// Device is a paired program: another computer, or the command line.
type Device struct {
	DeviceID   DeviceID `json:"deviceId"`
	Name       string   `json:"displayName"`
	Platform   string   `json:"platform,omitempty"`
	Scopes     []Scope  `json:"scopes"`
	PairedAtMs int64    `json:"ts"`
	LastSeenMs int64    `json:"lastSeenMs,omitempty"`
	Connected  bool     `json:"connected"`
}

// DeviceList is every paired device.
type DeviceList struct {
	Paired []Device `json:"paired"`
}

// DeviceRemoveParams ends a pairing; its connections are closed at once.
type DeviceRemoveParams struct {
	DeviceID DeviceID `json:"deviceId"`
}

// Browser is a browser that a ticket let in. It may come back until ExpiresAtMs,
// which moves on while it is used.
type Browser struct {
	BrowserID   BrowserID `json:"browserId"`
	Name        string    `json:"name"`
	CreatedAtMs int64     `json:"createdAtMs"`
	LastUsedMs  int64     `json:"lastUsedMs"`
	ExpiresAtMs int64     `json:"expiresAtMs"`
	Connected   bool      `json:"connected"`
	// This says that it is the browser that asks.
	This bool `json:"this,omitempty"`
}

// BrowserList is every browser that may come in.
type BrowserList struct {
	Browsers []Browser `json:"browsers"`
}

// BrowserRemoveParams logs a browser out; its connections are closed at once.
type BrowserRemoveParams struct {
	BrowserID BrowserID `json:"browserId"`
}

// TicketParams asks for a single-use ticket: browser (opens the page) or device
// (pairs a program).
type TicketParams struct {
	Kind string `json:"kind"`
}

// Ticket is a single-use secret that ends at ExpiresAtMs.
type Ticket struct {
	Ticket      string `json:"ticket"`
	URL         string `json:"url,omitempty"`
	ExpiresAtMs int64  `json:"expiresAtMs"`
}
