package protocol

// Scope is a permission of a connection. Read and write nest; approvals,
// questions and pairing are never implied by another scope here, also not by
// admin: deciding is not administering.
type Scope string

// Scopes of protocol v4, and models, our own, for adding and removing models.
const (
	ScopeRead      Scope = "operator.read"
	ScopeWrite     Scope = "operator.write"
	ScopeAdmin     Scope = "operator.admin"
	ScopeApprovals Scope = "operator.approvals"
	ScopeQuestions Scope = "operator.questions"
	ScopePairing   Scope = "operator.pairing"
	ScopeModels    Scope = "operator.models"
)

// AllScopes is every scope, in the order they are listed in. Each call makes a
// new slice.
func AllScopes() []Scope {
	return []Scope{ScopeRead, ScopeWrite, ScopeAdmin, ScopeApprovals, ScopeQuestions, ScopePairing, ScopeModels}
}

// Capabilities a client may name in connect.
const (
	CapToolEvents    = "tool-events"
	CapApprovals     = "approvals"
	CapExecApprovals = "exec-approvals"
	// CapChanges asks for our own events (run, receipt, settings, changes).
	CapChanges = "countersign-changes"
)

// Challenge is the payload of connect.challenge, the first frame of the server.
type Challenge struct {
	Nonce        string   `json:"nonce"`
	TsMs         int64    `json:"ts"`
	Capabilities []string `json:"capabilities"`
}

// ConnectParams is the first request of every client.
type ConnectParams struct {
	MinProtocol int           `json:"minProtocol"`
	MaxProtocol int           `json:"maxProtocol"`
	Client      ClientInfo    `json:"client"`
	Role        string        `json:"role,omitempty"`
	Scopes      []Scope       `json:"scopes,omitempty"`
	Caps        []string      `json:"caps,omitempty"`
	Commands    []string      `json:"commands,omitempty"`
	Permissions any           `json:"permissions,omitempty"`
	PathEnv     string        `json:"pathEnv,omitempty"`
	Locale      string        `json:"locale,omitempty"`
	UserAgent   string        `json:"userAgent,omitempty"`
	Device      *DeviceProof  `json:"device,omitempty"`
	Auth        *ConnectAuth  `json:"auth,omitempty"`
	Resume      *ResumeParams `json:"resume,omitempty"`
}

// ResumeParams asks for the durable changes after a sequence; our own.
type ResumeParams struct {
	AfterSeq int64 `json:"afterSeq"`
}

// ClientInfo says which program connects. ID and Mode are closed lists in v4.
type ClientInfo struct {
	ID              string `json:"id"`
	DisplayName     string `json:"displayName,omitempty"`
	Version         string `json:"version"`
	BuildID         string `json:"buildId,omitempty"`
	Platform        string `json:"platform"`
	DeviceFamily    string `json:"deviceFamily,omitempty"`
	ModelIdentifier string `json:"modelIdentifier,omitempty"`
	TimeZone        string `json:"timeZone,omitempty"`
	Mode            string `json:"mode"`
	InstanceID      string `json:"instanceId,omitempty"`
}

// DeviceProof is a device's signature over this connection's challenge. Public
// key and signature are base64url; SignedAtMs may differ from the server's clock
// by at most 120 s.
type DeviceProof struct {
	ID         DeviceID `json:"id"`
	PublicKey  string   `json:"publicKey"`
	Signature  string   `json:"signature"`
	SignedAtMs int64    `json:"signedAt"`
	Nonce      string   `json:"nonce"`
}

// ConnectAuth carries one of several proofs. BootstrapToken is a pairing ticket.
type ConnectAuth struct {
	Token          string `json:"token,omitempty"`
	BootstrapToken string `json:"bootstrapToken,omitempty"`
	DeviceToken    string `json:"deviceToken,omitempty"`
	Password       string `json:"password,omitempty"`
}

// HelloOK is the payload that ends a successful handshake.
type HelloOK struct {
	Type     string       `json:"type"`
	Protocol int          `json:"protocol"`
	Server   ServerInfo   `json:"server"`
	Features Features     `json:"features"`
	Snapshot Snapshot     `json:"snapshot"`
	Auth     HelloAuth    `json:"auth"`
	Policy   HelloPolicy  `json:"policy"`
	Changes  *HelloChange `json:"changes,omitempty"`
}

// HelloChange tells the newest durable sequence and whether the
// sequence asked for can still be replayed; if not, reload everything.
type HelloChange struct {
	LastSeq  int64 `json:"lastSeq"`
	Complete bool  `json:"complete"`
}

// ServerInfo identifies the running host. BootID changes with each start.
type ServerInfo struct {
	Version string `json:"version"`
	BootID  string `json:"bootId,omitempty"`
	ConnID  ConnID `json:"connId"`
}

// Features lists what this server answers; clients feature-detect on it.
type Features struct {
	Methods      []Method    `json:"methods"`
	Events       []EventName `json:"events"`
	Capabilities []string    `json:"capabilities"`
}

// Snapshot is the state at connect.
type Snapshot struct {
	Presence        []Presence      `json:"presence"`
	Health          Health          `json:"health"`
	StateVersion    StateVersion    `json:"stateVersion"`
	UptimeMs        int64           `json:"uptimeMs"`
	SessionDefaults SessionDefaults `json:"sessionDefaults"`
	AuthMode        string          `json:"authMode,omitempty"`
}

// SessionDefaults says where a bare message goes.
type SessionDefaults struct {
	DefaultAgentID AgentID    `json:"defaultAgentId"`
	MainKey        string     `json:"mainKey"`
	MainSessionKey SessionKey `json:"mainSessionKey"`
	Scope          string     `json:"scope"`
}

// HelloAuth says what this connection may do.
type HelloAuth struct {
	Method      string  `json:"method"`
	Role        string  `json:"role"`
	Scopes      []Scope `json:"scopes"`
	DeviceToken string  `json:"deviceToken,omitempty"`
	IssuedAtMs  int64   `json:"issuedAtMs,omitempty"`
}

// HelloPolicy tells the limits; sizes in bytes.
type HelloPolicy struct {
	MaxPayload       int64            `json:"maxPayload"`
	MaxBufferedBytes int64            `json:"maxBufferedBytes"`
	TickIntervalMs   int64            `json:"tickIntervalMs"`
	Attachments      AttachmentPolicy `json:"attachments"`
}

// AttachmentPolicy tells how large attachments may be, in bytes.
type AttachmentPolicy struct {
	MaxBytes      int64 `json:"maxBytes"`
	MaxImageBytes int64 `json:"maxImageBytes"`
}
