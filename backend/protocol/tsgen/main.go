// Command tsgen writes the TypeScript types of the wire protocol from the Go
// types of backend/protocol, so that neither side is ever typed twice.
//
// It promises the same output for the same input, docs carried over, and an
// error for a type it cannot express rather than a guess. It refuses to invent:
// a number stays a number, raw JSON is unknown, and an interface needs a
// tsgen:union line. It runs from anywhere inside the module:
//
//	go run ./backend/protocol/tsgen          write the file
//	go run ./backend/protocol/tsgen -check   fail when the file is not up to date
//
// Two directives stand in Go doc comments. On an interface,
//
//	//tsgen:union type a=StructA b=StructB
//
// makes a union over the field type, which each struct's interface then carries.
// On a struct,
//
//	//tsgen:discriminate stream data a=StructA b=StructB
//
// makes a union in which the value of stream decides the type of data.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	sourceDir  = "backend/protocol"
	targetFile = "frontend/src/gateway/protocol.gen.ts"
)

func main() {
	check := flag.Bool("check", false, "compare instead of writing; exit 1 when the file is not up to date")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "tsgen:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	want, err := Generate(filepath.Join(root, filepath.FromSlash(sourceDir)), standardLibrary())
	if err != nil {
		return err
	}
	target := filepath.Join(root, filepath.FromSlash(targetFile))
	have, err := os.ReadFile(target)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the generated file: %w", err)
	}
	if bytes.Equal(have, want) {
		return nil
	}
	if check {
		return fmt.Errorf("%s is not what %s says; run: go run ./backend/protocol/tsgen", targetFile, sourceDir)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return fmt.Errorf("make the folder of the generated file: %w", err)
	}
	if err := os.WriteFile(target, want, 0o644); err != nil {
		return fmt.Errorf("write the generated file: %w", err)
	}
	return nil
}

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("find the module: no go.mod here or above")
		}
		dir = parent
	}
}

// standardLibrary reads imported packages from their source. One importer keeps
// what it has read, which is most of the time a run takes; it is for one
// goroutine at a time.
func standardLibrary() types.Importer {
	return importer.ForCompiler(token.NewFileSet(), "source", nil)
}

// Generate reads the Go package in a folder and returns its TypeScript.
func Generate(dir string, imports types.Importer) ([]byte, error) {
	p, err := load(dir, imports)
	if err != nil {
		return nil, err
	}
	return emit(p)
}
