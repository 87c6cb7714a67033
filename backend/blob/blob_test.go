package blob_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"countersign/backend/blob"
	"countersign/backend/protocol"
	"countersign/backend/store"
	"countersign/backend/testkit/tempstore"
)

func open(t *testing.T, dir string) *blob.Store {
	t.Helper()
	s, err := blob.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, s *blob.Store, content []byte) protocol.BlobID {
	t.Helper()
	id, err := s.Put(content)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// files are all below dir, with their modes.
func files(t *testing.T, dir string) map[string]fs.FileMode {
	t.Helper()
	out := map[string]fs.FileMode{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		out[rel] = info.Mode()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestContentsComeBackAsTheyWere(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a", "blobs"))
	for _, content := range [][]byte{{}, []byte("x"), []byte("a\x00\r\n\xff"), bytes.Repeat([]byte("long "), 100_000)} {
		id := put(t, s, content)
		if id != blob.ID(content) || len(id) != 64 {
			t.Errorf("named %s", id)
		}
		got, err := s.Get(id)
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("got %d bytes back of %d (%v)", len(got), len(content), err)
		}
	}
	if want := protocol.BlobID("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"); blob.ID(nil) != want {
		t.Errorf("nothing is named %s", blob.ID(nil))
	}
}

func TestWhatIsTooLargeIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, make([]byte, blob.MaxSize))
	before := len(files(t, dir))
	if _, err := s.Put(make([]byte, blob.MaxSize+1)); !errors.Is(err, blob.ErrTooLarge) || len(files(t, dir)) != before {
		t.Errorf("put: %v, and %d files after %d", err, len(files(t, dir)), before)
	}
}

func TestNothingIsOpenToOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no permission bits")
	}
	dir := filepath.Join(t.TempDir(), "blobs")
	if err := os.Mkdir(dir, 0o755); err != nil { // as an older version or a copy left it
		t.Fatal(err)
	}
	put(t, open(t, dir), []byte("private"))
	for path, mode := range files(t, dir) {
		want := fs.FileMode(0o600)
		if mode.IsDir() {
			want = 0o700
		}
		if mode.Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, mode, want)
		}
	}
}

func TestWhatACrashLeftIsHarmlessAndRemoved(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	id := put(t, s, []byte("kept"))
	other := blob.ID([]byte("half"))
	left := filepath.Join(dir, string(other[:2]), string(other)+".ABCDEFGH.tmp")
	if err := os.MkdirAll(filepath.Dir(left), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(left, []byte("ha"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(other); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("half a content was found: %v", err)
	}
	again := open(t, dir)
	for path := range files(t, dir) {
		if strings.HasSuffix(path, ".tmp") {
			t.Errorf("%s is left over", path)
		}
	}
	if got, err := again.Get(id); err != nil || string(got) != "kept" {
		t.Errorf("got %q (%v)", got, err)
	}
	put(t, again, []byte("half"))
	if got, err := again.Get(other); err != nil || string(got) != "half" {
		t.Errorf("got %q (%v)", got, err)
	}
}

func TestADamagedContentIsNeverGivenOutAndCanBeStoredAnew(t *testing.T) {
	for name, damaged := range map[string]string{"cut": "con", "emptied": "", "changed": "contenT", "grown": "content and more"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			id := put(t, s, []byte("content"))
			if err := os.WriteFile(filepath.Join(dir, string(id[:2]), string(id)), []byte(damaged), 0o600); err != nil {
				t.Fatal(err)
			}
			if got, err := s.Get(id); !errors.Is(err, blob.ErrDamaged) || got != nil {
				t.Errorf("got %q (%v)", got, err)
			}
			put(t, s, []byte("content"))
			if got, err := s.Get(id); err != nil || string(got) != "content" {
				t.Errorf("after storing it anew: %q (%v)", got, err)
			}
		})
	}
}

func TestOnlyAHashIsAName(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "blobs"))
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	id := put(t, s, []byte("x"))
	for _, bad := range []protocol.BlobID{"", "a", "../secret", "..", protocol.BlobID(strings.ToUpper(string(id))), id + "0", id[:63], "/etc/passwd", id[:62] + "/."} {
		if _, err := s.Get(bad); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestManyStoreTheSameAtOnce(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	content := bytes.Repeat([]byte("same"), 10_000)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			id, err := s.Put(content)
			if err != nil {
				t.Error(err)
				return
			}
			if got, err := s.Get(id); err != nil || !bytes.Equal(got, content) { // it is whole as soon as anybody's Put returned
				t.Errorf("%d bytes (%v)", len(got), err)
			}
		})
	}
	wg.Wait()
	if got := files(t, dir); len(got) != 3 { // the folder, its part, the content
		t.Errorf("left are %v", got)
	}
}

func TestAUseIsNotedOnce(t *testing.T) {
	db := tempstore.Open(t, blob.Schema())
	id := blob.ID([]byte("x"))
	for range 2 {
		tempstore.Write(t, db, func(tx *store.Tx) error { return blob.Use(tx, id, 1, "attachment", 100) })
	}
	var n, size int
	tempstore.Read(t, db, func(tx *store.ReadTx) error {
		return tx.QueryRow(`SELECT count(*), sum(size) FROM blobs WHERE blob_id = ? AND kind = 'attachment'`, string(id)).Scan(&n, &size)
	})
	if n != 1 || size != 1 {
		t.Errorf("noted %d times, %d bytes", n, size)
	}
}
