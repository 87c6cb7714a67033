package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// object is one entry of a schema, declared or live.
type object struct {
	kind  string // table, virtual, index, trigger, view
	name  string
	table string // the table an index or trigger belongs to
	sql   string
	owner string // of a declared object
}

// form is the object's definition in canonical text.
func (o object) form() string {
	if o.kind == "table" {
		return parseTable(o.sql).canonical(strings.ToLower(o.name))
	}
	return canonical(tokens(o.sql))
}

// declaration is what all owners declare together, in composed order.
type declaration struct{ objects []object }

func (d *declaration) find(kind, name string) (object, bool) {
	return find(d.objects, kind, name)
}

func find(objects []object, kind, name string) (object, bool) {
	i := slices.IndexFunc(objects, func(o object) bool { return o.kind == kind && strings.EqualFold(o.name, name) })
	if i < 0 {
		return object{}, false
	}
	return objects[i], true
}

// declare has SQLite read each owner's DDL in an empty database of its own, so
// an index or trigger on another owner's table fails here.
func declare(ctx context.Context, schemas []Schema) (*declaration, error) {
	d := &declaration{}
	for _, s := range schemas {
		objects, references, err := declareOne(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("schema of %s: %w", s.Owner, err)
		}
		for _, o := range objects {
			if i := slices.IndexFunc(d.objects, func(p object) bool { return strings.EqualFold(p.name, o.name) }); i >= 0 {
				return nil, fmt.Errorf("schema of %s: %s %s is declared by %s already", s.Owner, o.kind, o.name, d.objects[i].owner)
			}
		}
		d.objects = append(d.objects, objects...)
		for _, r := range references {
			if err := d.checkReference(s.Owner, r); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

// reference is one foreign key.
type reference struct{ from, to, onUpdate, onDelete string }

// checkReference holds foreign keys between owners to composed order, without
// cascades: an owner never changes another's rows.
func (d *declaration) checkReference(owner string, r reference) error {
	target, found := d.find("table", r.to)
	if !found {
		return fmt.Errorf("schema of %s: %s refers to %s, which no owner composed before declares", owner, r.from, r.to)
	}
	passive := func(action string) bool { return action == "NO ACTION" || action == "RESTRICT" }
	if target.owner != owner && !(passive(r.onUpdate) && passive(r.onDelete)) {
		return fmt.Errorf("schema of %s: %s may not cascade from %s of %s", owner, r.from, r.to, target.owner)
	}
	return nil
}

func declareOne(ctx context.Context, s Schema) (objects []object, refs []reference, err error) {
	pool, err := sql.Open(driverName, ":memory:?_dqs=0&_error_rc=1")
	if err != nil {
		return nil, nil, err
	}
	pool.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, pool.Close()) }()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, s.DDL); err != nil {
		return nil, nil, err
	}
	q := connQuerier{ctx, conn}
	if objects, err = liveObjects(q); err != nil {
		return nil, nil, err
	}
	for i := range objects {
		objects[i].owner = s.Owner
	}
	if err := demandStrict(q); err != nil {
		return nil, nil, err
	}
	refs, err = references(q)
	return objects, refs, err
}

func demandStrict(q Querier) error {
	loose, err := names(q, `SELECT name FROM pragma_table_list
		WHERE schema = 'main' AND type = 'table' AND strict = 0 AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`)
	if err != nil {
		return err
	}
	if len(loose) > 0 {
		return fmt.Errorf("table %s is not STRICT", loose[0])
	}
	return nil
}

func names(q Querier, query string) (out []string, err error) {
	rows, err := q.Query(query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	return out, rows.Err()
}

func references(q Querier) (out []reference, err error) {
	rows, err := q.Query(`SELECT t.name, f."table", f.on_update, f.on_delete
		FROM pragma_table_list AS t, pragma_foreign_key_list(t.name) AS f WHERE t.schema = 'main' AND t.type = 'table'`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var r reference
		if err := rows.Scan(&r.from, &r.to, &r.onUpdate, &r.onDelete); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// liveObjects reads a database's schema in order of creation, without SQLite's
// own tables and without the shadow tables of virtual ones.
func liveObjects(q Querier) (out []object, err error) {
	rows, err := q.Query(`SELECT CASE WHEN t.type = 'virtual' THEN 'virtual' ELSE s.type END, s.name, s.tbl_name, s.sql
		FROM sqlite_schema AS s
		LEFT JOIN pragma_table_list AS t ON t.schema = 'main' AND t.name = s.name AND s.type = 'table'
		WHERE s.sql IS NOT NULL AND s.name NOT LIKE 'sqlite\_%' ESCAPE '\'
			AND (t.type IS NULL OR t.type <> 'shadow')
			AND s.tbl_name NOT IN (SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow')
		ORDER BY s.rowid`)
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var o object
		if err := rows.Scan(&o.kind, &o.name, &o.table, &o.sql); err != nil {
			return nil, fmt.Errorf("read schema: %w", err)
		}
		out = append(out, o)
	}
	return out, rows.Err()
}

// connQuerier reads through one connection.
type connQuerier struct {
	ctx  context.Context
	conn *sql.Conn
}

func (c connQuerier) Query(q string, args ...any) (*sql.Rows, error) {
	return c.conn.QueryContext(c.ctx, q, args...)
}

func (c connQuerier) QueryRow(q string, args ...any) *sql.Row {
	return c.conn.QueryRowContext(c.ctx, q, args...)
}
