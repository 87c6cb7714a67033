// Package store owns the SQLite file under every owner of state: opening it,
// its schema, its one writer, its readers, its change log, its backups and the
// lock that keeps a second process out.
//
// # What it promises
//
//   - [DB.Write] returns nil only after COMMIT has returned, with
//     synchronous=FULL: what is acknowledged is on disk.
//   - A function's changes are stored whole or not at all, whatever its
//     neighbours in the same commit do.
//   - [DB.Read] sees one snapshot and never an uncommitted row.
//   - [Tx.Emit] appends to the change log in the same commit; [DB.Subscribe]
//     sees only what is committed, in order, without gaps.
//   - A file that cannot be used (newer, damaged, foreign, held by another
//     process) is refused before anything in it is changed.
//
// # Group commit
//
// One goroutine writes. Functions that wait while a COMMIT is under way share
// the next one, and so one fsync. Each runs in a savepoint of its own. Rules
// for a function given to [DB.Write]:
//
//   - It does no I/O besides its statements, and takes no longer than 50 ms;
//     bulk work goes in pieces. All other writers wait while it runs.
//   - It may run twice, so it sets what it returns and never adds to it.
//   - Its caller's context counts only until it begins. An interrupt would roll
//     back released neighbours too.
//   - It never calls Write, Checkpoint or Close: it would wait for itself.
//   - It ends no transaction. BEGIN, COMMIT, ROLLBACK, SAVEPOINT, ATTACH and
//     DETACH are refused.
//
// SQLite may roll back the whole transaction, released neighbours included,
// when a statement meets a full disk, an I/O error or ON CONFLICT ROLLBACK. So
// after any error the writer looks whether its transaction is still there, and
// if not, or if COMMIT fails, runs every function of the batch again, each
// alone. Nobody is answered before: also a function that failed waits for the
// commit, for its failure may rest on what a neighbour wrote and then lost.
//
// # Schema
//
// Owners declare their DDL as a [Schema]. Opening compares it with the file:
// missing tables, columns, indexes, triggers and views are added, a changed
// index is built again. A changed column or constraint is a [SchemaError] that
// asks for a numbered [Migration]. Additive changes keep the format number, so
// the previous version still opens the file; therefore a column that this
// version does not declare is left alone as long as rows can be inserted
// without it. [DB.Drift] lists such leftovers, for the test that demands none.
//
// # What it refuses
//
// Tables that are not STRICT, foreign keys to owners composed later or with a
// cascade between owners, files of a newer format, folders that other people
// share, network drives, and content in the change log: keys and versions only.
package store
