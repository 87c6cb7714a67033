package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/backend/store"
)

// ddlV1, ddlV2 and ddlV3 are the versions of one owner's schema: V2 only adds,
// V3 needs a migration. With testdata they stand for every released version.
const (
	ddlV1 = `
CREATE TABLE IF NOT EXISTS peer (
	id TEXT PRIMARY KEY
) STRICT;
CREATE TABLE IF NOT EXISTS post (
	id    INTEGER PRIMARY KEY,
	title TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS post_title ON post (title);`

	ddlV2 = `
CREATE TABLE IF NOT EXISTS peer (
	id TEXT PRIMARY KEY,
	"Name" TEXT NOT NULL DEFAULT 'nobody, yet (''x'')' -- shown, in lists
) STRICT;
CREATE TABLE IF NOT EXISTS post (
	id      INTEGER PRIMARY KEY,
	peer_id TEXT REFERENCES peer (id), /* who, if known */
	title   TEXT NOT NULL,
	state   TEXT NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'old'))
) STRICT;
CREATE INDEX IF NOT EXISTS post_title ON post (title, state) WHERE state = 'new';
CREATE INDEX IF NOT EXISTS post_peer ON post (peer_id);
CREATE TABLE IF NOT EXISTS mark (
	post_id INTEGER NOT NULL REFERENCES post (id),
	kind    TEXT NOT NULL,
	PRIMARY KEY (post_id, kind)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS post_old AFTER UPDATE OF state ON post BEGIN
	DELETE FROM mark WHERE post_id = new.id;
END;
CREATE VIEW IF NOT EXISTS fresh AS SELECT id FROM post WHERE state = 'new';
CREATE VIRTUAL TABLE IF NOT EXISTS post_text USING fts5(title);`
)

var ddlV3 = strings.Replace(ddlV2, "title   TEXT NOT NULL,", "title   BLOB NOT NULL,", 1)

func version(path, ddl string, format int, steps ...store.Migration) store.Options {
	return store.Options{Path: path, Format: format, Migrations: steps,
		Schemas: []store.Schema{{Owner: "blog", DDL: ddl}},
		Now:     func() time.Time { return time.Date(2026, 12, 1, 10, 15, 0, 0, time.UTC) }}
}

// toV3 builds post again with a title of another type.
func toV3() store.Migration {
	return store.Migration{To: 2, Name: "titles are bytes", Apply: func(tx store.MigrationTx) error {
		for _, q := range []string{
			`DROP TRIGGER IF EXISTS post_old`, `DROP VIEW IF EXISTS fresh`,
			`CREATE TABLE post_new (
				id INTEGER PRIMARY KEY, title BLOB NOT NULL, peer_id TEXT REFERENCES peer (id),
				state TEXT NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'old'))) STRICT`,
			`INSERT INTO post_new (id, title) SELECT id, CAST(title AS BLOB) FROM post`,
			`DROP TABLE post`,
			`ALTER TABLE post_new RENAME TO post`,
		} {
			if _, err := tx.Exec(q); err != nil {
				return err
			}
		}
		return nil
	}}
}

func fillV1(t testing.TB) func(db *store.DB) {
	return func(db *store.DB) {
		err := db.Write(context.Background(), func(tx *store.Tx) error {
			_, err := tx.Exec(`INSERT INTO post (id, title) VALUES (1, 'first')`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func ddlOf(t testing.TB, db *store.DB) []string {
	t.Helper()
	drift, err := db.Drift(context.Background())
	if err != nil || len(drift) > 0 {
		t.Errorf("drift %v, %v", drift, err)
	}
	ddl, err := db.DDL(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return ddl
}

func TestEveryUpgradeEndsWithTheSchemaOfAFreshFile(t *testing.T) {
	for name, tc := range map[string]struct{ from, to store.Options }{
		"same":                          {version("", ddlV2, 1), version("", ddlV2, 1)},
		"additions":                     {version("", ddlV1, 1), version("", ddlV2, 1)},
		"migration":                     {version("", ddlV2, 1), version("", ddlV3, 2, toV3())},
		"migration, then its additions": {version("", ddlV1, 1), version("", ddlV3, 2, toV3())},
	} {
		t.Run(name, func(t *testing.T) {
			fresh := tc.to
			fresh.Path = filepath.Join(t.TempDir(), "fresh.db")
			want := ddlOf(t, openAt(t, fresh))
			if len(want) < 5 {
				t.Fatalf("the fresh schema is %v", want)
			}
			tc.from.Path = filepath.Join(t.TempDir(), "old.db")
			tc.to.Path = tc.from.Path
			closed(t, tc.from, fillV1(t))
			db := openAt(t, tc.to)
			if got := ddlOf(t, db); !slices.Equal(got, want) {
				t.Errorf("upgraded:\n%s\nfresh:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			var title, state, kind string
			err := db.Read(context.Background(), func(tx *store.ReadTx) error {
				return tx.QueryRow(`SELECT CAST(title AS TEXT), state, typeof(title) FROM post WHERE id = 1`).Scan(&title, &state, &kind)
			})
			if err != nil || title != "first" || state != "new" {
				t.Errorf("row %q %q %q, %v", title, state, kind, err)
			}
		})
	}
}

func TestThePreviousVersionStillOpensAfterAdditions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	// Made by the later version, so the previous one meets it for the first time.
	closed(t, version(path, ddlV2, 1), nil)
	closed(t, version(path, ddlV1, 1), fillV1(t))
	ddlOf(t, openAt(t, version(path, ddlV2, 1)))
}

func TestChangesThatCannotBeAddedAskForAMigration(t *testing.T) {
	edit := func(old, changed string) string {
		if !strings.Contains(ddlV2, old) {
			t.Fatalf("no %q to change", old)
		}
		return strings.Replace(ddlV2, old, changed, 1)
	}
	for name, ddl := range map[string]string{
		"retyped":                edit("title   TEXT NOT NULL", "title   INTEGER NOT NULL"),
		"default changed":        edit("DEFAULT 'new'", "DEFAULT 'old'"),
		"check changed":          edit("('new', 'old')", "('new', 'old', 'odd')"),
		"key changed":            edit("PRIMARY KEY (post_id, kind)", "PRIMARY KEY (kind, post_id)"),
		"options changed":        edit("STRICT, WITHOUT ROWID", "STRICT"),
		"removed":                edit("	title   TEXT NOT NULL,\n", ""),
		"new, without a default": edit("	title   TEXT NOT NULL,\n", "	title   TEXT NOT NULL,\n	slug TEXT NOT NULL,\n"),
		"virtual table changed":  edit("fts5(title)", "fts5(title, tokenize = 'trigram')"),
	} {
		t.Run(name, func(t *testing.T) {
			// An index or view on the removed column would fail for its own reason.
			ddl := ddl
			if name == "removed" {
				ddl = strings.ReplaceAll(ddl, "ON post (title, state)", "ON post (state)")
			}
			path := filepath.Join(t.TempDir(), "state.db")
			closed(t, version(path, ddlV2, 1), fillV1(t))
			_, err := store.Open(context.Background(), version(path, ddl, 1))
			var wrong *store.SchemaError
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "migration") {
				t.Fatalf("opened: %v", err)
			}
			ddlOf(t, openAt(t, version(path, ddlV2, 1)))
		})
	}
}

func TestDriftNamesWhatIsNoLongerDeclared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	closed(t, version(path, ddlV2, 1), nil)
	db := openAt(t, version(path, ddlV1, 1))
	drift, err := db.Drift(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(drift, "\n")
	for _, want := range []string{"table peer is", "table post is", "index post_peer is not declared", "table mark is not declared", "virtual post_text"} {
		if !strings.Contains(all, want) {
			t.Errorf("drift lacks %q:\n%s", want, all)
		}
	}
}

func TestASnapshotIsMadeBeforeAMigrationOnly(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.db")
	snapshots := func() []string {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(dir, "*.snapshot*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	closed(t, version(path, ddlV1, 1), fillV1(t))
	closed(t, version(path, ddlV2, 1), nil)
	if got := snapshots(); len(got) != 0 {
		t.Errorf("a snapshot before additions: %v", got)
	}
	closed(t, version(path, ddlV3, 2, toV3()), nil)
	want := path + ".format-1.20261201T101500.000Z.snapshot"
	if got := snapshots(); !slices.Equal(got, []string{want}) {
		t.Fatalf("snapshots %v, want %s", got, want)
	}
	info, err := os.Stat(want)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("snapshot mode %v, %v", info.Mode(), err)
	}
	ddlOf(t, openAt(t, version(want, ddlV2, 1)))
}

func TestAMigrationThatFailsLeavesTheOldFile(t *testing.T) {
	second := func(fail func(tx store.MigrationTx) error) []store.Migration {
		return []store.Migration{toV3(), {To: 3, Name: "second", Apply: fail}}
	}
	for name, fail := range map[string]func(tx store.MigrationTx) error{
		"its error":  func(store.MigrationTx) error { return errors.New("no") },
		"its commit": func(tx store.MigrationTx) error { _, err := tx.Exec("COMMIT"); return err },
		"a panic":    func(store.MigrationTx) error { panic("boom") },
		"a row that points nowhere": func(tx store.MigrationTx) error {
			_, err := tx.Exec(`INSERT INTO post (id, title, peer_id) VALUES (9, x'00', 'nobody')`)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "state.db")
			closed(t, version(path, ddlV1, 1), fillV1(t))
			for range 2 {
				if _, err := store.Open(context.Background(), version(path, ddlV3, 3, second(fail)...)); err == nil {
					t.Fatal("opened")
				}
			}
			if left, err := filepath.Glob(filepath.Join(dir, "*.snapshot*")); err != nil || len(left) > 0 {
				t.Errorf("failed starts pile up snapshots: %v %v", left, err)
			}
			db := openAt(t, version(path, ddlV1, 1))
			ddlOf(t, db)
			var title string
			err := db.Read(context.Background(), func(tx *store.ReadTx) error {
				return tx.QueryRow(`SELECT title FROM post WHERE id = 1`).Scan(&title)
			})
			if err != nil || title != "first" {
				t.Errorf("title %q, %v", title, err)
			}
		})
	}
}

func TestAMissingMigrationIsSaid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	closed(t, version(path, ddlV1, 1), nil)
	_, err := store.Open(context.Background(), version(path, ddlV3, 3, store.Migration{To: 3, Apply: nothing}))
	if err == nil || !strings.Contains(err.Error(), "no migration to format 2") {
		t.Errorf("opened: %v", err)
	}
}

func TestDeclarationsAreHeldToTheRules(t *testing.T) {
	base := store.Schema{Owner: "base", DDL: `CREATE TABLE IF NOT EXISTS base (id TEXT PRIMARY KEY) STRICT;`}
	refer := func(action string) store.Schema {
		return store.Schema{Owner: "above", DDL: fmt.Sprintf(
			`CREATE TABLE IF NOT EXISTS above (id TEXT NOT NULL REFERENCES base (id) %s) STRICT;`, action)}
	}
	for name, tc := range map[string]struct {
		schemas []store.Schema
		want    string // "" when it is allowed
	}{
		"reference down":   {[]store.Schema{base, refer("")}, ""},
		"reference up":     {[]store.Schema{refer(""), base}, "no owner composed before"},
		"cascade":          {[]store.Schema{base, refer("ON DELETE CASCADE")}, "may not cascade"},
		"set null":         {[]store.Schema{base, refer("ON UPDATE SET NULL")}, "may not cascade"},
		"cascade at home":  {[]store.Schema{{Owner: "x", DDL: base.DDL + refer("ON DELETE CASCADE").DDL}}, ""},
		"declared twice":   {[]store.Schema{base, {Owner: "other", DDL: base.DDL}}, "declared by base already"},
		"not strict":       {[]store.Schema{{Owner: "x", DDL: `CREATE TABLE t (id TEXT)`}}, "not STRICT"},
		"index of another": {[]store.Schema{base, {Owner: "x", DDL: `CREATE INDEX i ON base (id)`}}, "no such table"},
		"broken":           {[]store.Schema{{Owner: "x", DDL: `CREATE TABLE`}}, "schema of x"},
		"our own table":    {[]store.Schema{{Owner: "x", DDL: `CREATE TABLE change_log (id TEXT) STRICT`}}, "declared by store already"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(filepath.Join(t.TempDir(), "state.db"))
			o.Schemas = tc.schemas
			db, err := store.Open(context.Background(), o)
			if tc.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}
