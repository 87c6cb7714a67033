package secret

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
)

// Mask stands where a known secret stood.
const Mask = "[masked]"

// minKnownBytes keeps a short known value, such as "test", from masking half of
// an ordinary text.
const minKnownBytes = 8

// Redactor masks secrets in text: the values it is told of, also in their
// encoded forms, and what has the shape of a key. Masking twice changes nothing.
// It is safe for concurrent use when its source is.
type Redactor struct {
	known    func() []string
	patterns []pattern
}

type pattern struct {
	kind string
	re   *regexp.Regexp
	// before and after are what stays around the mask, as regexp templates.
	before, after string
}

// NewRedactor returns a redactor. known is asked at each use, and may be nil;
// Vault.Known fits.
func NewRedactor(known func() []string) *Redactor {
	if known == nil {
		known = func() []string { return nil }
	}
	return &Redactor{known: known, patterns: keyPatterns()}
}

// Redact returns s with secrets masked.
func (r *Redactor) Redact(s string) string {
	if s == "" {
		return s
	}
	for _, value := range r.known() {
		for _, form := range forms(value) {
			s = strings.ReplaceAll(s, form, Mask)
		}
	}
	for _, p := range r.patterns {
		s = p.re.ReplaceAllString(s, p.before+"[masked: "+p.kind+"]"+p.after)
	}
	return s
}

// forms are the ways in which a value turns up in output: as it is, inside JSON,
// in a URL and in base64.
func forms(value string) []string {
	value = strings.TrimSpace(value)
	if len(value) < minKnownBytes {
		return nil
	}
	list := []string{value}
	if b, err := json.Marshal(value); err == nil {
		list = append(list, strings.Trim(string(b), `"`))
	}
	return append(list,
		url.QueryEscape(value),
		url.PathEscape(value),
		base64.StdEncoding.EncodeToString([]byte(value)),
		base64.RawURLEncoding.EncodeToString([]byte(value)),
	)
}

// keyPatterns are formats that providers document or that are seen in the wild.
// Each wants enough characters that ordinary words do not fit.
func keyPatterns() []pattern {
	list := []struct{ kind, expr, before string }{
		{"private key", `-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\z)`, ""},
		{"age key", `\bAGE-SECRET-KEY-1[A-Z0-9]{40,}`, ""},
		{"token", `\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`, ""},
		{"Anthropic key", `\bsk-ant-[A-Za-z0-9_-]{16,}`, ""},
		{"OpenRouter key", `\bsk-or-[A-Za-z0-9_-]{16,}`, ""},
		{"OpenAI key", `\bsk-[A-Za-z0-9_-]{20,}`, ""},
		{"Stripe key", `\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}`, ""},
		{"webhook secret", `\bwhsec_[A-Za-z0-9+/=]{16,}`, ""},
		{"GitHub token", `\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})`, ""},
		{"GitLab token", `\bgl(?:pat|dt|rt|ptt|cbt)-[A-Za-z0-9_-]{16,}`, ""},
		{"Slack token", `\b(?:xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,})`, ""},
		{"Slack address", `https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]+`, ""},
		{"Discord address", `https://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/\d+/[A-Za-z0-9_-]+`, ""},
		{"Discord token", `\b[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}`, ""},
		{"Telegram token", `\b\d{8,10}:[A-Za-z0-9_-]{35}\b`, ""},
		{"AWS key", `\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`, ""},
		{"AWS secret", `(?i)(aws_secret_access_key["']?\s*[=:]\s*["']?)[A-Za-z0-9/+=]{40}`, "${1}"},
		{"Google key", `\bAIza[A-Za-z0-9_-]{35}`, ""},
		{"Google token", `\bya29\.[A-Za-z0-9_-]{20,}`, ""},
		{"Groq key", `\bgsk_[A-Za-z0-9]{20,}`, ""},
		{"xAI key", `\bxai-[A-Za-z0-9]{20,}`, ""},
		{"Hugging Face token", `\bhf_[A-Za-z0-9]{20,}`, ""},
		{"Replicate token", `\br8_[A-Za-z0-9]{20,}`, ""},
		{"npm token", `\bnpm_[A-Za-z0-9]{30,}`, ""},
		{"PyPI token", `\bpypi-[A-Za-z0-9_-]{20,}`, ""},
		{"SendGrid key", `\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`, ""},
		{"DigitalOcean token", `\bdo[opr]_v1_[a-f0-9]{40,}`, ""},
		{"Shopify token", `\bshp(?:at|ca|pa|ss)_[A-Fa-f0-9]{24,}`, ""},
		{"Notion token", `\b(?:secret_[A-Za-z0-9]{40,}|ntn_[A-Za-z0-9]{30,})`, ""},
		{"Linear key", `\blin_api_[A-Za-z0-9]{30,}`, ""},
		{"token", `(?i)(\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{16,}`, "${1}"},
		{"password", `(\b[a-z][a-z0-9+.-]*://[^\s/:@"'\[\]]*:)[^\s/@"'\[\]]{3,}(@)`, "${1}"},
		{"value", `(\b[A-Z][A-Z0-9_]*(?:_KEY|_TOKEN|_SECRET|_PASSWORD|PASSWORD|PASSWD)["']?\s*[=:]\s*["']?)[A-Za-z0-9+/_.~=-]{16,}`, "${1}"},
	}
	patterns := make([]pattern, len(list))
	for i, p := range list {
		patterns[i] = pattern{kind: p.kind, re: regexp.MustCompile(p.expr), before: p.before}
		if patterns[i].re.NumSubexp() == 2 {
			patterns[i].after = "${2}"
		}
	}
	return patterns
}
