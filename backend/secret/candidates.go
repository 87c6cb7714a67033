package secret

import "strings"

// Candidate is a key found in the environment. It is offered to the owner at
// first run and never used silently. Its JSON and its printed forms do not
// carry the value.
type Candidate struct {
	// Variable is the name of the environment variable.
	Variable string `json:"variable"`
	// Name is how the provider is called.
	Name string `json:"name"`
	// Provider is "anthropic" or "openai", the latter for compatible servers too.
	Provider string `json:"provider"`
	// BaseURL is empty for the provider's own address.
	BaseURL string `json:"baseUrl"`

	value string
}

// Value returns the key, to be saved when the owner accepts the offer.
func (c Candidate) Value() string { return c.value }

// String names the variable only.
func (c Candidate) String() string { return c.Variable }

// GoString names the variable only.
func (c Candidate) GoString() string { return "secret.Candidate{" + c.Variable + "}" }

// EnvCandidates returns the keys of known providers in environ, in a fixed order.
func EnvCandidates(environ []string) []Candidate {
	known := []Candidate{
		{Variable: "ANTHROPIC_API_KEY", Name: "Anthropic", Provider: "anthropic"},
		{Variable: "OPENAI_API_KEY", Name: "OpenAI", Provider: "openai"},
		{Variable: "OPENROUTER_API_KEY", Name: "OpenRouter", Provider: "openai", BaseURL: "https://openrouter.ai/api/v1"},
		{Variable: "GROQ_API_KEY", Name: "Groq", Provider: "openai", BaseURL: "https://api.groq.com/openai/v1"},
		{Variable: "MISTRAL_API_KEY", Name: "Mistral", Provider: "openai", BaseURL: "https://api.mistral.ai/v1"},
		{Variable: "DEEPSEEK_API_KEY", Name: "DeepSeek", Provider: "openai", BaseURL: "https://api.deepseek.com/v1"},
		{Variable: "XAI_API_KEY", Name: "xAI", Provider: "openai", BaseURL: "https://api.x.ai/v1"},
		{Variable: "GEMINI_API_KEY", Name: "Google Gemini", Provider: "openai", BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai"},
		{Variable: "TOGETHER_API_KEY", Name: "Together", Provider: "openai", BaseURL: "https://api.together.xyz/v1"},
	}
	values := map[string]string{}
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok {
			values[name] = strings.TrimSpace(value)
		}
	}
	var found []Candidate
	for _, c := range known {
		if c.value = values[c.Variable]; c.value != "" {
			found = append(found, c)
		}
	}
	return found
}
