package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/backend/store"
)

// crashImage copies the database as a killed process would leave it.
func crashImage(t testing.TB, path string) string {
	t.Helper()
	dir := t.TempDir()
	for _, suffix := range []string{"", "-wal", "-lock.pid"} {
		raw, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "state.db"+suffix), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "state.db")
}

func contents(t testing.TB, path string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, suffix := range []string{"", "-wal"} {
		raw, err := os.ReadFile(path + suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		out[suffix] = raw
	}
	return out
}

func demandUntouched(t testing.TB, path string, before map[string][]byte) {
	t.Helper()
	for suffix, raw := range contents(t, path) {
		if !bytes.Equal(raw, before[suffix]) {
			t.Errorf("state.db%s was changed", suffix)
		}
	}
}

func closed(t testing.TB, o store.Options, fill func(db *store.DB)) {
	t.Helper()
	db, err := store.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if fill != nil {
		fill(db)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func nothing(tx store.MigrationTx) error { return nil }

func TestANewerFileIsRefusedUntouched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	newer := options(path)
	newer.Format = 2
	closed(t, newer, nil)
	before := contents(t, path)
	_, err := store.Open(context.Background(), options(path))
	var refused *store.NewerFormatError
	if !errors.As(err, &refused) || refused.Found != 2 || refused.Known != 1 {
		t.Fatalf("opened by an older version: %v", err)
	}
	for _, words := range []string{"Nothing was changed", "format 2", "Install"} {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("the sentence lacks %q: %s", words, err)
		}
	}
	demandUntouched(t, path, before)
	closed(t, newer, nil)
}

func TestANewerFormatThatStandsOnlyInTheLogIsRefusedUntouched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	closed(t, options(path), nil)
	newer := options(path)
	newer.Format = 2
	newer.Migrations = []store.Migration{{To: 2, Name: "nothing", Apply: nothing}}
	openAt(t, newer)
	image := crashImage(t, path)
	before := contents(t, image)
	if len(before["-wal"]) == 0 {
		t.Fatal("the image has no log, so the test shows nothing")
	}
	_, err := store.Open(context.Background(), options(image))
	var refused *store.NewerFormatError
	if !errors.As(err, &refused) {
		t.Fatalf("opened by an older version: %v", err)
	}
	demandUntouched(t, image, before)
}

func TestAnUncleanEndLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	db := openAt(t, options(path))
	for _, id := range []string{"a", "b"} {
		if err := put(db, id, "x"); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(t, openAt(t, options(crashImage(t, path)))); n != 2 {
		t.Errorf("%d notes after the crash, want 2", n)
	}
}

func TestDamageIsRefusedAfterAnUncleanEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	db := openAt(t, options(path))
	for i := range 200 {
		if err := put(db, strings.Repeat("k", i+1), strings.Repeat("x", 500)); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Checkpoint(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := put(db, "last", "x"); err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(raw []byte) []byte{
		"flipped bytes": func(raw []byte) []byte {
			for page := 4; page < 20; page++ {
				copy(raw[page*4096:], bytes.Repeat([]byte{0xa5}, 64))
			}
			return raw
		},
		"cut to a half": func(raw []byte) []byte { return raw[:len(raw)/2] },
		"cut to 50":     func(raw []byte) []byte { return raw[:50] },
		"no database":   func(raw []byte) []byte { return bytes.Repeat([]byte("text "), 1000) },
	} {
		t.Run(name, func(t *testing.T) {
			image := crashImage(t, path)
			raw, err := os.ReadFile(image)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(image, damage(raw), 0o600); err != nil {
				t.Fatal(err)
			}
			before := contents(t, image)
			for range 2 { // the second start refuses too: no silent use
				_, err = store.Open(context.Background(), options(image))
				var corrupt *store.CorruptError
				if !errors.As(err, &corrupt) || !strings.Contains(err.Error(), "Your file was not changed") {
					t.Fatalf("opened: %v", err)
				}
			}
			demandUntouched(t, image, before)
		})
	}
}

func TestTheLeftHintAloneMakesTheStartCheckTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	closed(t, options(path), func(db *store.DB) {
		for i := range 200 {
			if err := put(db, strings.Repeat("k", i+1), strings.Repeat("x", 500)); err != nil {
				t.Fatal(err)
			}
		}
	})
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for page := 4; page < 20; page++ {
		copy(raw[page*4096:], bytes.Repeat([]byte{0xa5}, 64))
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+"-lock.pid", []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = store.Open(context.Background(), options(path))
	var corrupt *store.CorruptError
	if !errors.As(err, &corrupt) {
		t.Errorf("opened: %v", err)
	}
}

func TestAForeignDatabaseIsRefusedUntouched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	foreign, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := foreign.Exec(`CREATE TABLE theirs (x)`); err != nil {
		t.Fatal(err)
	}
	if err := foreign.Close(); err != nil {
		t.Fatal(err)
	}
	before := contents(t, path)
	if _, err := store.Open(context.Background(), options(path)); err == nil || !strings.Contains(err.Error(), "another program") {
		t.Fatalf("opened: %v", err)
	}
	demandUntouched(t, path, before)
}

func TestOnlyTheOwnerCanReadTheFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has access lists instead of modes")
	}
	widenUmask(t)
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "state.db")
	// Files that a careless copy left readable.
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	db := openAt(t, options(path))
	if err := put(db, "a", "x"); err != nil {
		t.Fatal(err)
	}
	if err := db.Backup(context.Background(), filepath.Join(dir, "backup.db")); err != nil {
		t.Fatal(err)
	}
	count(t, db)
	seen := 0
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", p, info.Mode())
		}
		seen++
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 6 {
		t.Errorf("only %d entries: the log or the shared memory is missing", seen)
	}
}

func TestASharedFolderIsRefusedAndLeftAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has access lists instead of modes")
	}
	dir := filepath.Join(t.TempDir(), "shared")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777|fs.ModeSticky); err != nil {
		t.Fatal(err)
	}
	_, err := store.Open(context.Background(), options(filepath.Join(dir, "state.db")))
	if !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("opened: %v", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o777 {
		t.Errorf("the shared folder was changed to %v", info.Mode())
	}
}

func TestAPathWithSpecialCharactersIsOneFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?c=d&e#f%41'g")
	path := filepath.Join(dir, "state.db")
	closed(t, options(path), func(db *store.DB) {
		if err := put(db, "a", "x"); err != nil {
			t.Fatal(err)
		}
		if err := db.Backup(context.Background(), filepath.Join(dir, "copy.db")); err != nil {
			t.Fatal(err)
		}
	})
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"copy.db", "state.db", "state.db-lock", "state.db-lock.pid"}; !slices.Equal(names, want) {
		t.Errorf("files %v, want %v", names, want)
	}
}

func TestASecondOpenOfTheSameFileIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	openAt(t, options(path))
	_, err := store.Open(context.Background(), options(path))
	var locked *store.LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() || !errors.Is(err, store.ErrLocked) {
		t.Errorf("second open: %v", err)
	}
}

func TestABackupIsWholeAndOpens(t *testing.T) {
	dir := t.TempDir()
	db := openAt(t, options(filepath.Join(dir, "state.db")))
	if err := put(db, "a", "x"); err != nil {
		t.Fatal(err)
	}
	dest := filepath.Join(dir, "backup", "it's.db")
	if err := db.Backup(context.Background(), dest); err == nil {
		t.Error("a backup into a missing folder worked")
	}
	if err := os.Mkdir(filepath.Dir(dest), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := db.Backup(context.Background(), dest); err != nil {
		t.Fatal(err)
	}
	if err := db.Backup(context.Background(), dest); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a backup was overwritten: %v", err)
	}
	if err := put(db, "b", "x"); err != nil {
		t.Fatal(err)
	}
	if n := count(t, openAt(t, options(dest))); n != 1 {
		t.Errorf("%d notes in the backup, want 1", n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := db.Backup(ctx, dest+"2"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled backup: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(dest), "*.part"))
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %v %v", left, err)
	}
}

func TestCheckpointEmptiesTheLog(t *testing.T) {
	db := openNew(t)
	if err := put(db, "a", "x"); err != nil {
		t.Fatal(err)
	}
	before, err := db.WALSize()
	if err != nil || before == 0 {
		t.Fatalf("log size %d, %v", before, err)
	}
	began := time.Now()
	err = db.Read(context.Background(), func(*store.ReadTx) error {
		if err := put(db, "b", "x"); err != nil {
			return err
		}
		return db.Checkpoint(context.Background())
	})
	if err != nil {
		t.Errorf("with a reader in the way: %v", err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("a reader held the writer for %v", took)
	}
	if err := db.Checkpoint(context.Background()); err != nil {
		t.Fatal(err)
	}
	if after, err := db.WALSize(); err != nil || after != 0 {
		t.Errorf("log size %d, %v", after, err)
	}
}

// What was replaced or removed cannot be read out of the file any more, whether it
// lay in a page or in pages of its own.
func TestWhatWasReplacedIsNotLeftInTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	db := openAt(t, options(path))
	short, long := "canary-short", strings.Repeat("canary-long ", 4000)
	for id, body := range map[string]string{"kept": "x", "short": short, "long": long, "gone": short, "gone too": long} {
		if err := put(db, id, body); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Checkpoint(context.Background()); err != nil {
		t.Fatal(err)
	}
	if raw := contents(t, path)[""]; !bytes.Contains(raw, []byte("canary-short")) || !bytes.Contains(raw, []byte("canary-long")) {
		t.Fatal("the file never held it, so this proves nothing")
	}
	err := db.Write(context.Background(), func(tx *store.Tx) error {
		if _, err := tx.Exec(`UPDATE note SET body = '•••' WHERE id IN ('short', 'long')`); err != nil {
			return err
		}
		_, err := tx.Exec(`DELETE FROM note WHERE id IN ('gone', 'gone too')`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Checkpoint(context.Background()); err != nil {
		t.Fatal(err)
	}
	for suffix, raw := range contents(t, path) {
		if bytes.Contains(raw, []byte("canary-")) {
			t.Errorf("state.db%s still holds it", suffix)
		}
	}
}
