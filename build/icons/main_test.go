package main

import (
	"bytes"
	"encoding/binary"
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

// blank stands for a drawing where only the container matters.
func blank(size int) *image.NRGBA { return image.NewNRGBA(image.Rect(0, 0, size, size)) }

func TestContainersHoldTheirPictures(t *testing.T) {
	ico, err := encodeICO(trayICO, blank)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(ico[:4], []byte{0, 0, 1, 0}) || int(ico[4]) != len(trayICO) {
		t.Fatalf("icon directory starts with % x", ico[:6])
	}
	for i, size := range trayICO {
		entry := ico[6+16*i:]
		offset := binary.LittleEndian.Uint32(entry[12:])
		got, err := png.Decode(bytes.NewReader(ico[offset:]))
		if err != nil {
			t.Fatal(err)
		}
		if got.Bounds().Dx() != size || int(entry[0]) != size {
			t.Errorf("picture %d is %d wide, said to be %d, want %d", i, got.Bounds().Dx(), entry[0], size)
		}
	}
	icns, err := encodeICNS(blank)
	if err != nil {
		t.Fatal(err)
	}
	if got := int(binary.BigEndian.Uint32(icns[4:])); got != len(icns) {
		t.Errorf("icns says it has %d bytes, has %d", got, len(icns))
	}
	kinds := 0
	for at := 8; at < len(icns); at += int(binary.BigEndian.Uint32(icns[at+4:])) {
		if _, err := png.Decode(bytes.NewReader(icns[at+8:])); err != nil {
			t.Errorf("%s: %v", icns[at:at+4], err)
		}
		kinds++
	}
	if kinds != len(icnsKinds) {
		t.Errorf("%d pictures in the icns, want %d", kinds, len(icnsKinds))
	}
}

func TestCheckFindsAStaleFile(t *testing.T) {
	dir := t.TempDir()
	files := map[string][]byte{"a/one.png": []byte("1"), "b/two.png": []byte("2")}
	if err := place(dir, files, true); err == nil {
		t.Error("missing files went unnoticed")
	}
	if err := place(dir, files, false); err != nil {
		t.Fatal(err)
	}
	if err := place(dir, files, true); err != nil {
		t.Errorf("fresh pictures are called stale: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a/one.png"), []byte("older"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := place(dir, files, true); err == nil {
		t.Error("a changed file went unnoticed")
	}
}
