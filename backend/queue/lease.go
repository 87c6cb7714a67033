package queue

import (
	"database/sql"
	"errors"
	"fmt"

	"countersign/backend/protocol"
	"countersign/backend/store"
)

// Lease is the right of one goroutine of one boot to write for one run.
type Lease struct {
	Run   protocol.RunID
	Epoch int64
	No    int64
}

// Boot raises the epoch: every lease of an older one is void from the commit on.
// clean tells whether the boot before ended in order, or that there was none.
func Boot(tx *store.Tx, nowMs int64) (epoch int64, clean bool, err error) {
	var ended sql.NullInt64
	err = tx.QueryRow(`SELECT ended_at_ms FROM boots ORDER BY epoch DESC LIMIT 1`).Scan(&ended)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		clean = true
	case err != nil:
		return 0, false, fmt.Errorf("read boots: %w", err)
	default:
		clean = ended.Valid
	}
	res, err := tx.Exec(`INSERT INTO boots (started_at_ms) VALUES (?)`, nowMs)
	if err != nil {
		return 0, false, fmt.Errorf("raise epoch: %w", err)
	}
	epoch, err = res.LastInsertId()
	if err != nil {
		return 0, false, fmt.Errorf("raise epoch: %w", err)
	}
	return epoch, clean, nil
}

// EndBoot notes that a boot ended in order.
func EndBoot(tx *store.Tx, epoch, nowMs int64) error {
	if _, err := tx.Exec(`UPDATE boots SET ended_at_ms = ? WHERE epoch = ?`, nowMs, epoch); err != nil {
		return fmt.Errorf("end boot: %w", err)
	}
	return nil
}

// Next finds the run to claim: the oldest queued run that is the oldest open one
// of its session. ok is false when there is none.
func Next(q store.Querier) (id protocol.RunID, ok bool, err error) {
	err = q.QueryRow(`SELECT run_id FROM runs r WHERE state = 'queued' AND NOT EXISTS (
			SELECT 1 FROM runs o WHERE o.session_key = r.session_key AND o.seq < r.seq AND o.state IN ('queued','running','parked'))
		ORDER BY seq LIMIT 1`).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("find next run: %w", err)
	}
	return id, true, nil
}

// Claim takes a queued run under a new lease of this epoch, or reports
// ErrWrongState when it is no longer queued or its lane is held by an older run,
// and ErrLeaseLost when a later boot has begun.
func Claim(tx *store.Tx, id protocol.RunID, epoch, nowMs int64) (Lease, error) {
	if err := ofThisBoot(tx, epoch); err != nil {
		return Lease{}, err
	}
	res, err := tx.Exec(`UPDATE runs SET state = 'running', lease_epoch = ?1, lease_no = lease_no + 1, park_reason = '', park_detail = '', parked_at_ms = 0,
			step = 'Starting', started_at_ms = CASE started_at_ms WHEN 0 THEN ?2 ELSE started_at_ms END, wall_at_ms = ?2, version = version + 1
		WHERE run_id = ?3 AND state = 'queued' AND NOT EXISTS (
			SELECT 1 FROM runs o WHERE o.session_key = runs.session_key AND o.seq < runs.seq AND o.state IN ('queued','running','parked'))`,
		epoch, nowMs, string(id))
	if err := changedOne(res, err, "claim run", id); err != nil {
		return Lease{}, err
	}
	lease := Lease{Run: id, Epoch: epoch}
	if err := tx.QueryRow(`SELECT lease_no FROM runs WHERE run_id = ?`, string(id)).Scan(&lease.No); err != nil {
		return Lease{}, fmt.Errorf("claim run %s: %w", id, err)
	}
	emitRun(tx, id, nowMs)
	return lease, nil
}

// Held reads the run of a lease, or reports ErrLeaseLost when the lease is void.
func Held(tx *store.Tx, l Lease) (Run, error) {
	if err := ofThisBoot(tx, l.Epoch); err != nil {
		return Run{}, err
	}
	r, err := Get(tx, l.Run)
	if err != nil {
		return Run{}, err
	}
	if r.State != protocol.RunRunning || r.LeaseEpoch != l.Epoch || r.LeaseNo != l.No {
		return Run{}, ErrLeaseLost
	}
	return r, nil
}

// ofThisBoot refuses an epoch that a later boot has made void.
func ofThisBoot(tx *store.Tx, epoch int64) error {
	var newest int64
	if err := tx.QueryRow(`SELECT coalesce(max(epoch), 0) FROM boots`).Scan(&newest); err != nil {
		return fmt.Errorf("read epoch: %w", err)
	}
	if newest != epoch {
		return ErrLeaseLost
	}
	return nil
}

// changedOne turns an update that touched no row into ErrWrongState.
func changedOne(res sql.Result, err error, act string, id protocol.RunID) error {
	if err != nil {
		return fmt.Errorf("%s %s: %w", act, id, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return fmt.Errorf("%s %s: %w", act, id, err)
	}
	if n == 0 {
		return ErrWrongState
	}
	return nil
}

func emitRun(tx *store.Tx, id protocol.RunID, nowMs int64) {
	tx.Emit(store.Change{Kind: ChangeRun, Key: string(id), AtMs: nowMs})
}
