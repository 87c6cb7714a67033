package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// reconcile adds to the live schema what is declared and missing. What cannot
// be added is a [SchemaError]; the caller's transaction then changes nothing.
func (d *declaration) reconcile(tx MigrationTx) error {
	live, err := liveObjects(tx)
	if err != nil {
		return err
	}
	for _, o := range d.objects {
		old, found := find(live, o.kind, o.name)
		switch {
		case !found:
			err = add(tx, o)
		case o.kind == "table":
			err = growTable(tx, o, old)
		case o.form() == old.form():
		case o.kind == "virtual":
			err = &SchemaError{Object: o.name, Detail: "the virtual table is declared differently"}
		default:
			err = replace(tx, o)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func add(tx MigrationTx, o object) error {
	if _, err := tx.Exec(o.sql); err != nil {
		return fmt.Errorf("add %s %s: %w", o.kind, o.name, err)
	}
	return nil
}

// replace builds an index, trigger or view again: they hold no data of their own.
func replace(tx MigrationTx, o object) error {
	if _, err := tx.Exec("DROP " + strings.ToUpper(o.kind) + " " + quoteName(o.name)); err != nil {
		return fmt.Errorf("replace %s %s: %w", o.kind, o.name, err)
	}
	return add(tx, o)
}

func growTable(tx MigrationTx, declared, live object) error {
	want, have := parseTable(declared.sql), parseTable(live.sql)
	if !slices.Equal(want.constraints, have.constraints) {
		return &SchemaError{Object: declared.name, Detail: "its constraints changed"}
	}
	if want.options != have.options {
		return &SchemaError{Object: declared.name, Detail: fmt.Sprintf("its options changed from %q to %q", have.options, want.options)}
	}
	for _, c := range want.columns {
		old, found := have.column(c.name)
		if found && old.form != c.form {
			return &SchemaError{Object: declared.name + "." + c.name,
				Detail: fmt.Sprintf("the column changed from %q to %q", old.form, c.form)}
		}
		if found {
			continue
		}
		if _, err := tx.Exec("ALTER TABLE " + quoteName(declared.name) + " ADD COLUMN " + c.text); err != nil {
			return &SchemaError{Object: declared.name + "." + c.name, Detail: "the column cannot be added: " + err.Error()}
		}
	}
	return checkLeftovers(tx, declared.name, want)
}

// checkLeftovers refuses a column that is no longer declared and without which
// no row can be inserted. One with a default may have been added by a later
// version of the same format, and this version must still open the file.
func checkLeftovers(tx MigrationTx, name string, want table) error {
	required, err := names(tx, `SELECT name FROM pragma_table_info(`+quoteText(name)+`)
		WHERE "notnull" <> 0 AND dflt_value IS NULL AND pk = 0`)
	if err != nil {
		return fmt.Errorf("read columns of %s: %w", name, err)
	}
	for _, c := range required {
		if _, declared := want.column(strings.ToLower(c)); !declared {
			return &SchemaError{Object: name + "." + c, Detail: "the column was removed from the declaration"}
		}
	}
	return nil
}

// drift lists what the live schema has and the declaration lacks or says
// differently.
func (d *declaration) drift(q Querier) ([]string, error) {
	live, err := liveObjects(q)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, o := range live {
		want, found := d.find(o.kind, o.name)
		switch {
		case !found:
			out = append(out, o.kind+" "+o.name+" is not declared")
		case o.form() != want.form():
			out = append(out, o.kind+" "+o.name+" is "+o.form()+" but declared "+want.form())
		}
	}
	for _, o := range d.objects {
		if _, found := find(live, o.kind, o.name); !found {
			out = append(out, o.kind+" "+o.name+" is declared but missing")
		}
	}
	return out, nil
}

// Drift lists how the file's schema differs from the declared one: empty right
// after a fresh start or an upgrade. A removed column or table shows here, so
// the test over former fixtures demands that it is empty.
func (db *DB) Drift(ctx context.Context) (out []string, err error) {
	err = db.Read(ctx, func(tx *ReadTx) (err error) {
		out, err = db.schemas.drift(tx)
		return err
	})
	return out, err
}

// DDL is the file's schema in a canonical form, sorted, for comparing two
// files. Column order is left out, since every statement names its columns.
func (db *DB) DDL(ctx context.Context) (out []string, err error) {
	err = db.Read(ctx, func(tx *ReadTx) error {
		live, err := liveObjects(tx)
		for _, o := range live {
			out = append(out, o.form())
		}
		return err
	})
	slices.Sort(out)
	return out, err
}

func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func quoteText(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
