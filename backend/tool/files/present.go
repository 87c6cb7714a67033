package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"countersign/backend/tool"
	"countersign/backend/tool/internal/place"
)

// maxKept is the largest file whose former content is kept for undo, and the
// largest that can be edited.
const maxKept = 32 << 20

// present is a file as it is now.
type present struct {
	exists bool
	info   fs.FileInfo
	mode   fs.FileMode
	size   int64
	sha    string
	// content is nil when the file is larger than maxKept.
	content []byte
	// head is the start of the content.
	head []byte
}

// look reads what is at s, which is a regular file or nothing.
func look(ctx context.Context, p *place.Place, s place.Spot) (present, error) {
	if !s.Exists() {
		return present{}, nil
	}
	dir, err := p.OpenParent(s)
	if err != nil {
		return present{}, err
	}
	defer func() { _ = dir.Close() }()
	return lookIn(ctx, dir, s.Name())
}

// lookIn is look in an open directory; a missing file is no error.
func lookIn(ctx context.Context, dir *os.Root, name string) (present, error) {
	f, info, err := place.OpenFile(dir, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return present{}, nil
	case errors.Is(err, fs.ErrPermission):
		return present{}, &tool.ArgumentError{Sentence: fmt.Sprintf("%q cannot be read: you have no permission for it.", name)}
	case err != nil:
		return present{}, err
	}
	defer func() { _ = f.Close() }()
	now := present{exists: true, info: info, mode: info.Mode().Perm()}
	h := sha256.New()
	if info.Size() <= maxKept {
		now.content, err = io.ReadAll(io.LimitReader(f, maxKept+1))
		if err != nil {
			return present{}, fmt.Errorf("read %s: %w", name, err)
		}
		h.Write(now.content)
		now.size = int64(len(now.content))
		now.head = now.content[:min(len(now.content), headSize)]
	}
	if now.content == nil || now.size > maxKept {
		// The file is large, or grew while it was read; go on with the hash alone.
		if err := now.hashRest(ctx, h, f); err != nil {
			return present{}, fmt.Errorf("read %s: %w", name, err)
		}
	}
	now.sha = hex.EncodeToString(h.Sum(nil))
	return now, nil
}

func (now *present) hashRest(ctx context.Context, h io.Writer, f io.Reader) error {
	now.content = nil
	buf := make([]byte, 1<<20)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := f.Read(buf)
		if now.size == 0 {
			now.head = append([]byte(nil), buf[:min(n, headSize)]...)
		}
		now.size += int64(n)
		// A hash never refuses a write.
		_, _ = h.Write(buf[:n])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// sameAs reports whether two looks saw the same content.
func (now present) sameAs(was present) bool { return now.exists == was.exists && now.sha == was.sha }

func (now present) binary() bool {
	return now.exists && (isKnownBinary(now.head) || isBinary(now.head, formOf(now.head)))
}

func shaOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
