package backend_test

import (
	"strings"
	"testing"
	"testing/fstest"
)

// clean is a small tree that breaks no rule; each planted fault is added to it.
func clean() map[string]string {
	return map[string]string{
		"go.mod":                            "module countersign\n",
		"backend/protocol/doc.go":           "// Package protocol is the wire.\npackage protocol\n\nimport _ \"encoding/json\"\n",
		"backend/policy/policy.go":          "// Package policy decides.\npackage policy\n\nimport _ \"countersign/backend/protocol\"\n",
		"backend/secret/secret.go":          "// Package secret keeps keys.\npackage secret\n",
		"backend/store/store.go":            "// Package store opens.\npackage store\n",
		"backend/session/session.go":        "// Package session owns transcripts.\npackage session\n\nconst q = `SELECT id FROM message`\n",
		"backend/session/schema.sql":        "CREATE TABLE message (id TEXT) STRICT;\n",
		"backend/outbox/outbox.go":          "// Package outbox owns deliveries.\npackage outbox\n",
		"backend/tool/tool.go":              "// Package tool is the contract.\npackage tool\n",
		"backend/tool/files/files.go":       "// Package files reads.\npackage files\n\nimport _ \"countersign/backend/tool\"\n",
		"backend/tool/tooltest/suite.go":    "// Package tooltest is the suite.\npackage tooltest\n\nimport _ \"countersign/backend/tool\"\n",
		"backend/sandbox/sandbox.go":        "// Package sandbox starts.\npackage sandbox\n\nimport _ \"os/exec\"\n",
		"backend/agent/agent.go":            "// Package agent loops.\npackage agent\n\nimport _ \"countersign/backend/tool\"\n",
		"backend/run/run.go":                "// Package run conducts.\npackage run\n\nimport _ \"countersign/backend/session\"\n",
		"backend/testkit/stub/stub.go":      "// Package stub fakes.\npackage stub\n",
		"backend/host/host.go":              "// Package host composes.\npackage host\n\nimport _ \"countersign/backend/tool/files\"\n",
		"frontend/embed.go":                 "// Package frontend is files.\npackage frontend\n",
		"app/traymsg/line.go":               "// Package traymsg is lines.\npackage traymsg\n",
		"backend/run/run_test.go":           "package run\n\nimport _ \"countersign/backend/testkit/stub\"\n",
		"frontend/node_modules/x/go/bad.go": "package util\n",
	}
}

var planted = []struct {
	rule, path, source string
}{
	{"arrows point down", "backend/store/up.go", "package store\n\nimport _ \"countersign/backend/run\"\n"},
	{"arrows point down", "backend/session/up.go", "package session\n\nimport _ \"countersign/backend/outbox\"\n"},
	{"arrows point down", "backend/nowhere/a.go", "// Package nowhere is not in the design.\npackage nowhere\n"},
	{"arrows point down", "backend/session/up_windows.go", "package session\n\nimport _ \"countersign/backend/agent\"\n"},
	{"only host imports a child", "backend/agent/kid.go", "package agent\n\nimport _ \"countersign/backend/tool/files\"\n"},
	{"only host imports a child", "backend/tool/web/web.go", "// Package web fetches.\npackage web\n\nimport _ \"countersign/backend/tool/files\"\n"},
	{"only host imports a child", "app/kid.go", "// Package app is the window.\npackage app\n\nimport _ \"countersign/backend/tool/files\"\n"},
	{"nevers", "backend/tool/files/key.go", "package files\n\nimport _ \"countersign/backend/secret\"\n"},
	{"nevers", "backend/session/leak.go", "package session\n\nimport _ \"countersign/backend/secret\"\n\n// reached by\n"},
	{"nevers", "backend/policy/disk.go", "package policy\n\nimport _ \"countersign/backend/store\"\n"},
	{"protocol is standard library only", "backend/protocol/x.go", "package protocol\n\nimport _ \"github.com/google/uuid\"\n"},
	{"protocol is standard library only", "backend/protocol/y.go", "package protocol\n\nimport _ \"countersign/backend/store\"\n"},
	{"testkit stays in tests", "backend/run/stub.go", "package run\n\nimport _ \"countersign/backend/testkit/stub\"\n"},
	{"testkit stays in tests", "backend/run/suite.go", "package run\n\nimport _ \"countersign/backend/tool/tooltest\"\n"},
	{"processes", "backend/tool/files/ex.go", "package files\n\nimport _ \"os/exec\"\n"},
	{"processes", "backend/run/ex.go", "package run\n\nimport \"os\"\n\nvar _ = os.StartProcess\n"},
	{"names", "backend/run/util/u.go", "// Package util is a drawer.\npackage util\n"},
	{"names", "backend/run/rest/u.go", "// Package helpers is a drawer.\npackage helpers\n"},
	{"package comment", "backend/run/mute/m.go", "package mute\n"},
	{"file length", "backend/run/long.go", "package run\n" + strings.Repeat("\n", maxLines+1)},
	{"no sleeping tests", "backend/run/a_test.go", "package run\n\nimport \"time\"\n\nfunc f() { time.Sleep(1) }\n"},
	{"no sleeping tests", "backend/run/b_test.go", "package run\n\nimport tm \"time\"\n\nvar f = tm.Sleep\n"},
	{"no init", "backend/run/i.go", "package run\n\nfunc init() {}\n"},
	{"no global logger", "backend/run/l.go", "package run\n\nimport \"log\"\n\nvar _ = log.Println\n"},
	{"no global logger", "backend/run/s.go", "package run\n\nimport \"log/slog\"\n\nfunc f() { slog.Info(\"x\") }\n"},
	{"SQL stands in its owner", "backend/run/q.go", "package run\n\nconst q = `UPDATE message SET id = ? WHERE id = ?`\n"},
	{"SQL stands in its owner", "backend/outbox/q.go", "package outbox\n\nconst q = \"select 1 from message\"\n"},
	{"window apart", "backend/run/w.go", "package run\n\nimport _ \"countersign/app/traymsg\"\n"},
	{"window apart", "backend/run/w2.go", "package run\n\nimport _ \"github.com/wailsapp/wails/v2\"\n"},
	{"window apart", "frontend/x.go", "package frontend\n\nimport _ \"countersign/backend/protocol\"\n"},
	{"window apart", "app/traymsg/x.go", "package traymsg\n\nimport _ \"countersign/backend/protocol\"\n"},
}

func tree(t *testing.T, extra map[string]string) *module {
	t.Helper()
	files := fstest.MapFS{}
	for p, source := range clean() {
		files[p] = &fstest.MapFile{Data: []byte(source)}
	}
	for p, source := range extra {
		files[p] = &fstest.MapFile{Data: []byte(source)}
	}
	m, err := load(files)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestCleanTreeBreaksNoRule(t *testing.T) {
	for _, v := range check(tree(t, nil)) {
		t.Error(v)
	}
}

func TestEachPlantedFaultIsFound(t *testing.T) {
	seen := map[string]bool{}
	for _, fault := range planted {
		t.Run(fault.rule+"/"+fault.path, func(t *testing.T) {
			extra := map[string]string{fault.path: fault.source}
			if fault.path == "backend/session/leak.go" {
				// A reach over two steps: the agent touches nothing forbidden itself.
				extra["backend/agent/reach.go"] = "package agent\n\nimport _ \"countersign/backend/session\"\n"
			}
			found := false
			for _, v := range check(tree(t, extra)) {
				found = found || v.rule == fault.rule
			}
			if !found {
				t.Errorf("rule %q did not fire on %s", fault.rule, fault.path)
			}
		})
		seen[fault.rule] = true
	}
	for _, r := range rules {
		if !seen[r.name] {
			t.Errorf("rule %q has no planted fault: nobody knows that it fires", r.name)
		}
		if r.why == "" {
			t.Errorf("rule %q has no reason", r.name)
		}
	}
}
