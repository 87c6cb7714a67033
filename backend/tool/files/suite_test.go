package files_test

import (
	"testing"

	"countersign/backend/tool"
	"countersign/backend/tool/files"
	"countersign/backend/tool/tooltest"
)

func TestSuite(t *testing.T) {
	for name, s := range map[string]tooltest.Subject{
		"read": {
			New:      func() tool.Tool { return files.Read{} },
			Cases:    []tooltest.Case{{Name: "whole", Args: `{"path":"notes.md"}`}, {Name: "part", Args: `{"path":"notes.md","offset":2,"limit":1}`}},
			PathArgs: func(path string) string { return tooltest.Args("path", path) },
		},
		"list": {
			New:      func() tool.Tool { return files.List{} },
			Cases:    []tooltest.Case{{Name: "workspace", Args: ``}, {Name: "deep", Args: `{"path":"sub","depth":3}`}},
			PathArgs: func(path string) string { return tooltest.Args("path", path) },
			Folder:   true,
		},
		"search": {
			New:      func() tool.Tool { return files.Search{} },
			Cases:    []tooltest.Case{{Name: "all", Args: `{"pattern":"first"}`}, {Name: "regex", Args: `{"pattern":"^s","regex":true,"glob":"*.md","ignoreCase":true}`}},
			PathArgs: func(path string) string { return tooltest.Args("path", path, "pattern", ".", "regex", true) },
			Folder:   true,
		},
		"search in a file": {
			New:      func() tool.Tool { return files.Search{} },
			Cases:    []tooltest.Case{{Name: "file", Args: `{"pattern":"first","path":"notes.md"}`}},
			PathArgs: func(path string) string { return tooltest.Args("path", path, "pattern", ".", "regex", true) },
		},
		"write": {
			New:      func() tool.Tool { return files.Write{} },
			Cases:    []tooltest.Case{{Name: "new", Args: `{"path":"new/deep/file.txt","content":"a\nb\n"}`}, {Name: "over", Args: `{"path":"notes.md","content":"x"}`}},
			PathArgs: func(path string) string { return tooltest.Args("path", path, "content", "written\n") },
			Writes:   true,
		},
		"edit": {
			New:      func() tool.Tool { return files.Edit{} },
			Cases:    []tooltest.Case{{Name: "one", Args: `{"path":"notes.md","old":"first","new":"1st"}`}, {Name: "crlf", Args: `{"path":"crlf.txt","old":"one\ntwo","new":"1\n2"}`}},
			PathArgs: func(path string) string { return tooltest.Args("path", path, "old", "i", "new", "ii", "all", true) },
			Writes:   true,
		},
	} {
		t.Run(name, func(t *testing.T) { tooltest.Run(t, s) })
	}
}
