// Package schematest composes the schemas of all owners of state as the host
// does. It demands that opening them again changes nothing, and that no owner is
// left out.
package schematest

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"countersign/backend/host"
	"countersign/backend/testkit/tempstore"
)

func TestAReopenedFileIsAFreshOne(t *testing.T) {
	dir := t.TempDir()
	var first []string
	for _, life := range []string{"fresh", "reopened", "reopened again"} {
		t.Run(life, func(t *testing.T) {
			db := tempstore.OpenIn(t, dir, host.Schemas()...)
			drift, err := db.Drift(context.Background())
			if err != nil || len(drift) > 0 {
				t.Errorf("the file differs from what is declared: %v (%v)", drift, err)
			}
			ddl, err := db.DDL(context.Background())
			if err != nil || len(ddl) == 0 {
				t.Fatal(ddl, err)
			}
			if first == nil {
				first = ddl
			}
			if !slices.Equal(ddl, first) {
				t.Errorf("opening changed the schema from\n%v\nto\n%v", first, ddl)
			}
		})
	}
}

func TestNoOwnerIsLeftOut(t *testing.T) {
	files, err := filepath.Glob("../../*/schema.sql")
	if err != nil || len(files) < 6 {
		t.Fatalf("only %v found (%v)", files, err)
	}
	var want, got []string
	for _, f := range files {
		want = append(want, filepath.Base(filepath.Dir(f)))
	}
	for _, s := range host.Schemas() {
		got = append(got, s.Owner)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the host composes %v, there are %v", got, want)
	}
}
