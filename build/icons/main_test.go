package main

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

// Colour may be invisible to a person or to a panel that draws in grey: forms alone must tell the states apart.
func TestTrayStatesDifferInShapeAlone(t *testing.T) {
	const size = 22
	forms := map[string]*image.NRGBA{}
	for name, g := range trayGlyphs {
		forms[name] = g.drawTemplate(size)
	}
	for a, one := range forms {
		for b, two := range forms {
			if a >= b {
				continue
			}
			different := 0
			for i := 3; i < len(one.Pix); i += 4 {
				if (one.Pix[i] > 127) != (two.Pix[i] > 127) {
					different++
				}
			}
			if different < size*size/12 {
				t.Errorf("%s and %s differ in %d of %d pixels only", a, b, different, size*size)
			}
		}
	}
}

func TestPicturesDecodeAtTheirSize(t *testing.T) {
	files, err := pictures()
	if err != nil {
		t.Fatal(err)
	}
	ico := files["app/tray/icons/idle.ico"]
	if !bytes.Equal(ico[:4], []byte{0, 0, 1, 0}) || int(ico[4]) != len(trayICO) {
		t.Fatalf("icon directory starts with % x", ico[:6])
	}
	first, err := png.Decode(bytes.NewReader(ico[6+16*len(trayICO):]))
	if err != nil {
		t.Fatal(err)
	}
	if got := first.Bounds().Dx(); got != trayICO[0] {
		t.Errorf("first picture of the icon is %d wide, want %d", got, trayICO[0])
	}
	icns := files["build/darwin/countersign.icns"]
	if got := int(icns[4])<<24 | int(icns[5])<<16 | int(icns[6])<<8 | int(icns[7]); got != len(icns) {
		t.Errorf("icns says it has %d bytes, has %d", got, len(icns))
	}
}

func TestCheckFindsAStaleFile(t *testing.T) {
	dir := t.TempDir()
	if err := run(dir, false); err != nil {
		t.Fatal(err)
	}
	if err := run(dir, true); err != nil {
		t.Errorf("fresh pictures are called stale: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "app/tray/icons/idle.png"), []byte("older"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(dir, true); err == nil {
		t.Error("a changed file went unnoticed")
	}
}
