// Command icons draws every picture the programs and their packages need, from shapes described in code: no editor, no
// font and no asset of anybody else. It owns the look of the mark and of the tray's states, and promises the same bytes
// for the same toolchain, so that -check can find a stale file.
//
// Each tray state has a shape of its own, never a colour alone.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", ".", "module root")
	check := flag.Bool("check", false, "report files that differ instead of writing them")
	flag.Parse()
	if err := run(*root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "icons:", err)
		os.Exit(1)
	}
}

func run(root string, check bool) error {
	files, err := pictures()
	if err != nil {
		return err
	}
	return place(root, files, check)
}

// place writes the files below root, or with check fails when one differs from what lies there.
func place(root string, files map[string][]byte, check bool) error {
	stale := 0
	for name, want := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if check {
			have, err := os.ReadFile(path)
			if err != nil && !os.IsNotExist(err) {
				return fmt.Errorf("read icon: %w", err)
			}
			if !bytes.Equal(have, want) {
				fmt.Fprintln(os.Stderr, "stale:", name)
				stale++
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("make icon folder: %w", err)
		}
		if err := os.WriteFile(path, want, fs.FileMode(0o644)); err != nil {
			return fmt.Errorf("write icon: %w", err)
		}
	}
	if stale > 0 {
		return fmt.Errorf("%d pictures are stale; run make generate", stale)
	}
	return nil
}

// Sizes that the packages of each system look for.
var (
	hicolor = []int{16, 22, 24, 32, 48, 64, 128, 256, 512}
	ico     = []int{16, 24, 32, 48, 64, 256}
	trayICO = []int{16, 20, 24, 32, 48}
)

const trayPNG = 48 // panels scale down; drawn for 22 and up

// pictures renders every file, by its slash-separated path from the module root.
func pictures() (map[string][]byte, error) {
	out := map[string][]byte{}
	put := func(name string, data []byte, err error) error {
		if err != nil {
			return fmt.Errorf("draw %s: %w", name, err)
		}
		out[name] = data
		return nil
	}
	for _, size := range hicolor {
		data, err := encodePNG(drawApp(size))
		if err := put(fmt.Sprintf("build/linux/icons/hicolor/%dx%d/apps/countersign.png", size, size), data, err); err != nil {
			return nil, err
		}
	}
	data, err := encodePNG(drawApp(1024))
	if err := put("build/appicon.png", data, err); err != nil {
		return nil, err
	}
	data, err = encodeICO(ico, drawApp)
	if err := put("build/windows/icon.ico", data, err); err != nil {
		return nil, err
	}
	data, err = encodeICNS(drawApp)
	if err := put("build/darwin/countersign.icns", data, err); err != nil {
		return nil, err
	}
	for name, g := range trayGlyphs {
		data, err := encodePNG(g.draw(trayPNG))
		if err := put("app/tray/icons/"+name+".png", data, err); err != nil {
			return nil, err
		}
		data, err = encodePNG(g.drawTemplate(trayPNG))
		if err := put("app/tray/icons/"+name+"-template.png", data, err); err != nil {
			return nil, err
		}
		data, err = encodeICO(trayICO, g.draw)
		if err := put("app/tray/icons/"+name+".ico", data, err); err != nil {
			return nil, err
		}
	}
	return out, nil
}
