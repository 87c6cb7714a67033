package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/png"
)

func encodePNG(img image.Image) ([]byte, error) {
	var out bytes.Buffer
	enc := png.Encoder{CompressionLevel: png.BestCompression}
	if err := enc.Encode(&out, img); err != nil {
		return nil, fmt.Errorf("encode png: %w", err)
	}
	return out.Bytes(), nil
}

// encodeICO packs one PNG for each size behind an icon directory, which Windows reads since Vista.
func encodeICO(sizes []int, draw func(int) *image.NRGBA) ([]byte, error) {
	const header, entry = 6, 16
	var dir, data bytes.Buffer
	put := func(values ...any) {
		for _, v := range values {
			// Writing fixed-size numbers to a buffer cannot fail.
			_ = binary.Write(&dir, binary.LittleEndian, v)
		}
	}
	put(uint16(0), uint16(1), uint16(len(sizes)))
	offset := header + entry*len(sizes)
	for _, size := range sizes {
		img, err := encodePNG(draw(size))
		if err != nil {
			return nil, err
		}
		// 0 stands for 256, which does not fit the byte.
		put(uint8(size%256), uint8(size%256), uint8(0), uint8(0), uint16(1), uint16(32))
		put(uint32(len(img)), uint32(offset+data.Len()))
		data.Write(img)
	}
	return append(dir.Bytes(), data.Bytes()...), nil
}

// icnsKinds are the four-letter kinds of Apple's container that hold a PNG.
var icnsKinds = []struct {
	kind string
	size int
}{
	{"icp4", 16}, {"icp5", 32}, {"ic11", 32}, {"ic12", 64}, {"ic07", 128}, {"ic13", 256}, {"ic08", 256},
	{"ic14", 512}, {"ic09", 512}, {"ic10", 1024},
}

func encodeICNS(draw func(int) *image.NRGBA) ([]byte, error) {
	var body bytes.Buffer
	drawn := map[int][]byte{}
	for _, k := range icnsKinds {
		if drawn[k.size] == nil {
			img, err := encodePNG(draw(k.size))
			if err != nil {
				return nil, err
			}
			drawn[k.size] = img
		}
		body.WriteString(k.kind)
		body.Write(binary.BigEndian.AppendUint32(nil, uint32(len(drawn[k.size])+8)))
		body.Write(drawn[k.size])
	}
	out := append([]byte("icns"), binary.BigEndian.AppendUint32(nil, uint32(body.Len()+8))...)
	return append(out, body.Bytes()...), nil
}
