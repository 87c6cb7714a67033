package wire

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // pictures of a chat are of these kinds
	"image/jpeg"
	_ "image/png"
	"slices"

	"countersign/backend/protocol"
)

// Limits of the pictures in one request. Above 20 pictures providers allow only
// 2000 pixels a side, so that one which was fine for a hundred turns would block
// the chat; with at most 20 the larger limits hold for good.
const (
	maxPictures     = 20
	picturesAtOnce  = 5
	maxSide         = 8000
	shrunkSide      = 1568
	maxPictureBytes = 5 << 20
	maxPixels       = 100_000_000
)

// surplus is how many of the oldest pictures are left out of n. They go in lots,
// so that the beginning of the request does not change with every new one.
func surplus(n int) int {
	if n <= maxPictures {
		return 0
	}
	return (n - maxPictures + picturesAtOnce - 1) / picturesAtOnce * picturesAtOnce
}

var pictureTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// fit returns a picture within the limits, shrunk where it must be, or words in
// its place.
func fit(b protocol.ImageBlock) protocol.Block {
	if b.Data == "" || !slices.Contains(pictureTypes, b.MimeType) {
		return protocol.TextBlock{Text: fmt.Sprintf("[A picture that cannot be shown to the model: %s]", pictureName(b))}
	}
	raw, err := base64.StdEncoding.DecodeString(b.Data)
	if err != nil {
		return protocol.TextBlock{Text: fmt.Sprintf("[A damaged picture: %s]", pictureName(b))}
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(raw))
	if err == nil && max(config.Width, config.Height) <= maxSide && len(b.Data) <= maxPictureBytes || err != nil && len(b.Data) <= maxPictureBytes {
		return b
	}
	if err == nil && config.Width*config.Height <= maxPixels {
		if picture, _, err := image.Decode(bytes.NewReader(raw)); err == nil {
			var out bytes.Buffer
			if err := jpeg.Encode(&out, shrink(picture), &jpeg.Options{Quality: 85}); err == nil {
				return protocol.ImageBlock{MimeType: "image/jpeg", FileName: b.FileName, Data: base64.StdEncoding.EncodeToString(out.Bytes())}
			}
		}
	}
	return protocol.TextBlock{Text: fmt.Sprintf("[A picture too large for the model: %s]", pictureName(b))}
}

func pictureName(b protocol.ImageBlock) string {
	if b.FileName != "" {
		return b.FileName
	}
	return b.MimeType
}

// shrink scales a picture to shrunkSide on its longer side, each new point the
// average of those it stands for.
func shrink(src image.Image) image.Image {
	from := src.Bounds()
	longer := max(from.Dx(), from.Dy())
	if longer <= shrunkSide {
		return src
	}
	w, h := max(1, from.Dx()*shrunkSide/longer), max(1, from.Dy()*shrunkSide/longer)
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			out.Set(x, y, average(src, image.Rect(
				from.Min.X+x*from.Dx()/w, from.Min.Y+y*from.Dy()/h,
				from.Min.X+(x+1)*from.Dx()/w, from.Min.Y+(y+1)*from.Dy()/h)))
		}
	}
	return out
}

// average is the mean colour of a part, on white where it is transparent.
func average(src image.Image, part image.Rectangle) color.Color {
	var r, g, b, n uint64
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			pr, pg, pb, pa := src.At(x, y).RGBA()
			rest := uint64(0xffff - pa)
			r, g, b, n = r+uint64(pr)+rest, g+uint64(pg)+rest, b+uint64(pb)+rest, n+1
		}
	}
	if n == 0 {
		return color.White
	}
	return color.RGBA64{R: uint16(r / n), G: uint16(g / n), B: uint16(b / n), A: 0xffff}
}
