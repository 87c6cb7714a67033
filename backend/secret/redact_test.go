package secret_test

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"countersign/backend/secret"
)

func TestRedactMasksKnownValuesInEveryForm(t *testing.T) {
	const value = `p@ss"word/with+odd=chars`
	r := secret.NewRedactor(func() []string { return []string{value, "short"} })
	for _, form := range []string{
		value, `p@ss\"word/with+odd=chars`, url.QueryEscape(value), url.PathEscape(value),
		base64.StdEncoding.EncodeToString([]byte(value)),
	} {
		got := r.Redact("before " + form + " after short")
		if !strings.Contains(got, "[masked") || strings.Contains(got, form) || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after short") {
			t.Errorf("%q became %q", form, got)
		}
	}
}

func TestRedactMasksKeyFormats(t *testing.T) {
	r := secret.NewRedactor(nil)
	long := "aB3dE5gH7jK9mN1pQ3sT5vX7zA2cD4fG6hJ8kL0m"
	for _, key := range []string{
		"sk-" + long, "sk-proj-" + long, "sk-ant-api03-" + long, "sk-or-v1-" + long,
		"ghp_" + long[:36], "gho_" + long[:36], "github_pat_" + long, "glpat-" + long[:20],
		"xoxb-123456789012-" + long, "xapp-1-A1-" + long, "AKIAIOSFODNN7EXAMPLE", "ASIAIOSFODNN7EXAMPLE",
		"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
		"AIza" + long[:35], "ya29." + long, "gsk_" + long, "xai-" + long, "hf_" + long, "r8_" + long,
		"npm_" + long[:36], "pypi-" + long, "SG." + long[:22] + "." + long, "sk_live_" + long[:24], "whsec_" + long,
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ." + long, "Authorization: Bearer " + long,
		"123456789:" + long[:35], "https://hooks.slack.com/services/T000/B000/" + long[:24],
		"https://discord.com/api/webhooks/123/" + long, "postgres://bob:" + long[:12] + "@db/x",
		"SERVICE_TOKEN=" + long, "dop_v1_" + strings.Repeat("0a", 32), "shpat_" + strings.Repeat("0a", 16),
		"-----BEGIN OPENSSH PRIVATE KEY-----\n" + long + "\n-----END OPENSSH PRIVATE KEY-----",
		"-----BEGIN PRIVATE KEY-----\n" + long, "AGE-SECRET-KEY-1" + strings.ToUpper(long) + "ABCDEF0123456789",
	} {
		text := "env:\n" + key + "\nend"
		got := r.Redact(text)
		tail := key[len(key)-12:]
		if strings.HasPrefix(key, "postgres") {
			tail = long[:12]
		}
		if !strings.Contains(got, "[masked") || (strings.Contains(got, tail) && !strings.HasPrefix(tail, "-----") && !strings.Contains(key, "PRIVATE")) || strings.Contains(got, long) {
			t.Errorf("%q became %q", key, got)
		}
		if again := r.Redact(got); again != got {
			t.Errorf("masking twice: %q became %q", got, again)
		}
		if !strings.HasPrefix(got, "env:") {
			t.Errorf("too much was masked: %q", got)
		}
	}
}

func TestRedactLeavesOrdinaryTextAlone(t *testing.T) {
	r := secret.NewRedactor(nil)
	for _, text := range []string{
		"", "the risk-averse task-list of sk-8", "git commit 3f2a9c1d8e7b6a5f4c3d2e1f0a9b8c7d6e5f4a3b",
		"const API_KEY = process.env.KEY", "https://example.org/a:b@c", "func bearer(token string)",
		"basic training", "see eyJ for the prefix", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"http://127.0.0.1:8080/path", "time 12:34:56", "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----",
		"ssh git@github.com:owner/repo.git", "MAX_KEY=12",
	} {
		if got := r.Redact(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
