package protocol

// AgentsList is every agent.
type AgentsList struct {
	DefaultID AgentID    `json:"defaultId"`
	MainKey   string     `json:"mainKey"`
	Scope     string     `json:"scope"`
	Agents    []AgentRow `json:"agents"`
}

// AgentRow describes an agent.
type AgentRow struct {
	ID        AgentID       `json:"id"`
	Name      string        `json:"name"`
	Identity  AgentIdentity `json:"identity"`
	Workspace string        `json:"workspace"`
	Model     AgentModel    `json:"model"`
	Version   int64         `json:"version"`
}

// AgentIdentity is how an agent shows itself.
type AgentIdentity struct {
	Name  string `json:"name,omitempty"`
	Emoji string `json:"emoji,omitempty"`
}

// AgentModel names the models of an agent, by their names in models.list.
type AgentModel struct {
	Primary   string   `json:"primary,omitempty"`
	Fallbacks []string `json:"fallbacks,omitempty"`
}

// AgentsUpdateParams changes what is given.
type AgentsUpdateParams struct {
	AgentID   AgentID `json:"agentId"`
	Name      *string `json:"name,omitempty"`
	Emoji     *string `json:"emoji,omitempty"`
	Workspace *string `json:"workspace,omitempty"`
	Model     *string `json:"model,omitempty"`
}

// AgentsUpdateResult is the agent as it is now.
type AgentsUpdateResult struct {
	OK    bool     `json:"ok"`
	Agent AgentRow `json:"agent"`
}

// Folder is a place outside the workspace the owner opened to an agent.
type Folder struct {
	Path     string  `json:"path"`
	AgentID  AgentID `json:"agentId"`
	Writable bool    `json:"writable"`
	// Missing says that the folder cannot be found right now.
	Missing bool `json:"missing,omitempty"`
}

// FoldersList is the workspace and every added folder of an agent.
type FoldersList struct {
	Workspace string   `json:"workspace"`
	Folders   []Folder `json:"folders"`
}

// FoldersParams names an agent; empty means the main one.
type FoldersParams struct {
	AgentID AgentID `json:"agentId,omitempty"`
}

// FolderParams names one folder of an agent.
type FolderParams struct {
	AgentID  AgentID `json:"agentId,omitempty"`
	Path     string  `json:"path"`
	Writable bool    `json:"writable,omitempty"`
}

// ModelProvider names a kind of provider.
type ModelProvider string

// Kinds of providers.
const (
	ProviderAnthropic ModelProvider = "anthropic"
	ProviderOpenAI    ModelProvider = "openai"
	ProviderPractice  ModelProvider = "practice"
)

// ModelsListParams asks for models; View is default, configured or all.
type ModelsListParams struct {
	AgentID AgentID `json:"agentId,omitempty"`
	View    string  `json:"view,omitempty"`
	Refresh bool    `json:"refresh,omitempty"`
}

// ModelsList is every configured model.
type ModelsList struct {
	Models []ModelRow `json:"models"`
}

// ModelRow describes a configured model. ID is its name in settings; Model is
// what the provider calls it.
type ModelRow struct {
	ID                string        `json:"id"`
	Name              string        `json:"name"`
	Provider          ModelProvider `json:"provider"`
	Model             string        `json:"model"`
	BaseURL           string        `json:"baseUrl,omitempty"`
	Default           bool          `json:"default,omitempty"`
	Available         bool          `json:"available"`
	UnavailableReason string        `json:"unavailableReason,omitempty"`
	HasKey            bool          `json:"hasKey,omitempty"`
	NoKey             bool          `json:"noKey,omitempty"`
	ContextWindow     int64         `json:"contextWindow,omitempty"`
	SupportsTools     bool          `json:"supportsTools"`
	Input             []string      `json:"input"`
}

// ModelsAddParams adds or replaces a model. The key goes straight into the
// keychain and is never sent back. FoundID takes an offer of models.found, whose
// key the host reads itself.
type ModelsAddParams struct {
	Name     string        `json:"name"`
	Provider ModelProvider `json:"provider"`
	BaseURL  string        `json:"baseUrl,omitempty"`
	Model    string        `json:"model,omitempty"`
	Key      string        `json:"key,omitempty"`
	NoKey    bool          `json:"noKey,omitempty"`
	Default  bool          `json:"default,omitempty"`
	FoundID  string        `json:"foundId,omitempty"`
}

// ModelsAddResult is the model as stored.
type ModelsAddResult struct {
	OK    bool     `json:"ok"`
	Model ModelRow `json:"model"`
}

// ModelsRemoveParams removes a model and its key.
type ModelsRemoveParams struct {
	Name string `json:"name"`
}

// ModelsFound lists what is on this machine already: never used silently.
type ModelsFound struct {
	Offers []ModelOffer `json:"offers"`
}

// ModelOffer is something found: a key in an environment variable, or a server
// on loopback with its models.
type ModelOffer struct {
	ID       string        `json:"id"`
	Title    string        `json:"title"`
	Source   string        `json:"source"`
	Provider ModelProvider `json:"provider"`
	BaseURL  string        `json:"baseUrl,omitempty"`
	Models   []string      `json:"models"`
	NoKey    bool          `json:"noKey,omitempty"`
}

// ModelsTestParams asks one tiny question of a model, stored or not yet stored.
type ModelsTestParams struct {
	Name     string        `json:"name,omitempty"`
	Provider ModelProvider `json:"provider,omitempty"`
	BaseURL  string        `json:"baseUrl,omitempty"`
	Model    string        `json:"model,omitempty"`
	Key      string        `json:"key,omitempty"`
	NoKey    bool          `json:"noKey,omitempty"`
	FoundID  string        `json:"foundId,omitempty"`
}

// ModelsTestResult says in one sentence whether the model answered.
type ModelsTestResult struct {
	OK        bool      `json:"ok"`
	Sentence  string    `json:"sentence"`
	ErrorKind ErrorKind `json:"errorKind,omitempty"`
	TookMs    int64     `json:"tookMs"`
	Models    []string  `json:"models,omitempty"`
}

// ToolRow describes a tool as an agent sees it. Default is what policy does
// with a plain call.
type ToolRow struct {
	Name            string `json:"name"`
	Description     string `json:"description"`
	Group           string `json:"group"`
	Repeat          string `json:"repeat"`
	ReadsPrivate    bool   `json:"readsPrivate"`
	BringsUntrusted bool   `json:"bringsUntrusted"`
	Outward         bool   `json:"outward"`
	Default         string `json:"default"`
	Why             string `json:"why"`
}

// ToolsCatalog lists the tools of an agent.
type ToolsCatalog struct {
	Tools []ToolRow `json:"tools"`
}
