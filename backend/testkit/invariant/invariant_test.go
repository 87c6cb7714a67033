package invariant_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"countersign/backend/testkit/invariant"
)

// spoil returns a fault made by SQL.
func spoil(statements ...string) func(*testing.T, *invariant.Scene) {
	return func(t *testing.T, s *invariant.Scene) {
		t.Helper()
		s.DB.SetMaxOpenConns(1)
		for _, text := range append([]string{"PRAGMA foreign_keys = OFF", "PRAGMA ignore_check_constraints = ON"}, statements...) {
			res, err := s.DB.ExecContext(t.Context(), text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if n, err := res.RowsAffected(); !strings.HasPrefix(text, "PRAGMA") && (err != nil || n == 0) {
				t.Fatalf("%s: changed nothing", text)
			}
		}
	}
}

const copyMessage = `INSERT INTO messages (message_id, session_id, seq, run_id, role, message_json, at_ms)
	SELECT 'second', session_id, (SELECT last_seq + 1 FROM windows w WHERE w.session_id = m.session_id), run_id, role, message_json, at_ms FROM messages m WHERE `

// moveHead keeps the window in step with a message that was added or removed.
const moveHead = `UPDATE windows SET last_seq = (SELECT max(seq) FROM messages m WHERE m.session_id = windows.session_id)`

// faults are planted one at a time; each must be seen by the check it is made for.
var faults = []struct {
	name, check string
	plant       func(*testing.T, *invariant.Scene)
}{
	{"acknowledged before it was stored", "an acknowledged message is stored",
		spoil(`DELETE FROM runs WHERE run_id = 'heard'`)},
	{"the words are gone", "an acknowledged message is stored",
		spoil(`UPDATE messages SET message_json = replace(message_json, 'say hello', 'say nothing') WHERE run_id = 'heard' AND role = 'user'`)},
	{"stored in another session", "an acknowledged message is stored",
		spoil(`UPDATE runs SET session_key = 'agent:main:third' WHERE run_id = 'heard'`)},
	{"a decision is forgotten", "an acknowledged decision is stored",
		spoil(`UPDATE approvals SET state = 'pending', decision = '' WHERE run_id = 'written'`)},
	{"a decision is turned round", "an acknowledged decision is stored",
		spoil(`UPDATE approvals SET state = 'allowed', decision = 'allow-once' WHERE run_id = 'refused'`)},
	{"a message is heard twice", "a key has one run",
		spoil(copyMessage+`role = 'user' AND run_id = 'heard'`, moveHead)},
	{"a run nobody asked for", "a key has one run", func(_ *testing.T, s *invariant.Scene) {
		s.Messages = slices.DeleteFunc(s.Messages, func(m invariant.Message) bool { return m.Key == heard })
	}},
	{"a run works for ever", "every run ends in a state the owner can see",
		spoil(`UPDATE runs SET state = 'running', lease_epoch = (SELECT max(epoch) FROM boots) WHERE run_id = 'heard'`)},
	{"done without a word", "every run ends in a state the owner can see",
		spoil(`DELETE FROM messages WHERE run_id = 'heard' AND role = 'assistant'`)},
	{"failed without a reason", "every run ends in a state the owner can see",
		spoil(`UPDATE runs SET state = 'failed' WHERE run_id = 'heard'`)},
	{"parked with nothing to decide", "every run ends in a state the owner can see",
		spoil(`UPDATE approvals SET state = 'cancelled' WHERE run_id = 'waits'`)},
	{"parked for nothing known", "every run ends in a state the owner can see",
		spoil(`UPDATE runs SET park_reason = 'unknown' WHERE run_id = 'waits'`)},
	{"a lease of an older boot", "a run works only under a lease of this boot",
		spoil(`UPDATE runs SET state = 'running', lease_epoch = 0 WHERE run_id = 'heard'`)},
	{"an effect under way that nobody works at", "a run works only under a lease of this boot",
		spoil(`UPDATE effects SET state = 'started' WHERE run_id = 'waits'`)},
	{"a question whose run has ended", "a run works only under a lease of this boot",
		spoil(`UPDATE runs SET state = 'stopped', error_message = 'x' WHERE run_id = 'waits'`)},
	{"carried out twice", "a command is carried out at most once", func(t *testing.T, s *invariant.Scene) {
		rewrite(t, s, "trace.txt", "line one\nline one\n")
	}},
	{"called done and not done", "what is called done has happened", func(t *testing.T, s *invariant.Scene) {
		rewrite(t, s, "trace.txt", "")
	}},
	{"done though refused", "nothing begins before its start is stored", func(t *testing.T, s *invariant.Scene) {
		rewrite(t, s, "never.txt", "line two\n")
	}},
	{"begun while it waited", "nothing begins before its start is stored", func(t *testing.T, s *invariant.Scene) {
		rewrite(t, s, "later.txt", "line three\n")
	}},
	{"begun without a row", "nothing begins before its start is stored",
		spoil(`DELETE FROM effects WHERE run_id = 'written'`)},
	{"a second result", "a call has at most one result",
		spoil(copyMessage+`role = 'toolResult' AND run_id = 'written'`, moveHead)},
	{"a result without a call", "a call has at most one result",
		spoil(`UPDATE messages SET message_json = replace(message_json, '"toolCallId":"', '"toolCallId":"other') WHERE role = 'toolResult' AND run_id = 'reads'`)},
	{"a call without a result", "every call of an ended run has its result",
		spoil(`DELETE FROM messages WHERE role = 'toolResult' AND run_id = 'written'`)},
	{"an ending without a receipt", "every effect that ended has one receipt",
		spoil(`UPDATE effects SET state = 'failed' WHERE run_id = 'waits'`)},
	{"a receipt before the end", "every effect that ended has one receipt",
		spoil(`UPDATE effects SET state = 'authorised' WHERE run_id = 'written'`)},
	{"a receipt that says otherwise", "every effect that ended has one receipt",
		spoil(`UPDATE receipts SET outcome = 'failed' WHERE run_id = 'written'`)},
	{"an effect open in a run that ended", "every effect that ended has one receipt",
		spoil(`UPDATE runs SET state = 'failed', error_message = 'x' WHERE run_id = 'waits'`)},
	{"a gap in the numbers", "a session keeps its order",
		spoil(`DELETE FROM messages WHERE run_id = 'written' AND role = 'toolResult'`)},
	{"runs changed places", "a session keeps its order",
		spoil(`UPDATE runs SET seq = seq + 1000 WHERE run_id = 'heard'`)},
	{"a message stands among those of another run", "a session keeps its order",
		spoil(`UPDATE messages SET run_id = 'reads' WHERE run_id = 'written' AND role = 'user'`)},
	{"a receipt was edited", "the chain of receipts verifies",
		spoil(`UPDATE receipts SET payload_json = replace(payload_json, 'trace', 'other') WHERE run_id = 'written'`)},
	{"a receipt was removed", "the chain of receipts verifies",
		spoil(`DELETE FROM receipts WHERE seq = 1`)},
	{"receipts were exchanged", "the chain of receipts verifies",
		spoil(`UPDATE receipts SET seq = 1001 WHERE seq = 1`, `UPDATE receipts SET seq = 1 WHERE seq = 2`, `UPDATE receipts SET seq = 2 WHERE seq = 1001`)},
	{"a row that hangs in the air", "the database is whole",
		spoil(`DELETE FROM windows`)},
	{"a secret in a file", "no secret lies outside the keychain", func(t *testing.T, s *invariant.Scene) {
		s.Canaries = []string{"canary-1", "canary-2"}
		// It lies across two reads.
		rewrite(t, s, "large.txt", strings.Repeat("x", 1<<20-4)+"canary-2")
	}},
	{"a file others may read", "no file of the data directory is open to others", func(t *testing.T, s *invariant.Scene) {
		if err := os.Chmod(filepath.Join(s.Home, "state.db"), 0o640); err != nil {
			t.Fatal(err)
		}
	}},
}

func rewrite(t *testing.T, s *invariant.Scene, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.Workspace, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Reread(); err != nil {
		t.Fatal(err)
	}
}

func TestAHealthyHostKeepsEveryPromiseAndEachFaultIsSeen(t *testing.T) {
	w := newWorld(t)
	found, err := invariant.Examine(t.Context(), w.scene(t, w.account))
	if err != nil || len(found) > 0 {
		t.Fatalf("a healthy host is said to have broken %v; %v", found, err)
	}
	t.Run("a corrupt copy is seen", func(t *testing.T) { corruptCopy(t, w) })
	t.Run("what is unsettled is not called lost", func(t *testing.T) { unsettled(t, w) })
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			account := w.account
			account.Messages = slices.Clone(account.Messages)
			s := w.scene(t, account)
			f.plant(t, s)
			found, err := invariant.Examine(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(found, func(b invariant.Breach) bool { return b.Check.Name == f.check }) {
				t.Errorf("not seen that %s; found %v", f.check, found)
			}
		})
	}
}

func TestEveryCheckHasAFault(t *testing.T) {
	apart := map[string]bool{"no child process is left": true} // TestAProcessThatIsLeftIsSeen
	for _, c := range invariant.Checks() {
		planted := false
		for _, f := range faults {
			planted = planted || f.check == c.Name
		}
		if !planted && !apart[c.Name] {
			t.Errorf("no fault is planted for: %s", c.Name)
		}
	}
}

func corruptCopy(t *testing.T, w *world) {
	t.Helper()
	s := w.scene(t, w.account)
	var page, size int64
	if err := s.DB.QueryRowContext(t.Context(), `SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema WHERE name = 'messages_by_run'`).Scan(&page, &size); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(filepath.Dir(s.Home), "copy.db"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(make([]byte, size), (page-1)*size); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	found, err := invariant.Examine(t.Context(), s)
	if !slices.ContainsFunc(found, func(b invariant.Breach) bool { return b.Check.Name == "the database is whole" }) {
		t.Errorf("a page of zeros is not seen; found %v, %v", found, err)
	}
}

func unsettled(t *testing.T, w *world) {
	t.Helper()
	s := w.scene(t, w.account)
	spoil(`UPDATE runs SET state = 'running', lease_epoch = (SELECT max(epoch) FROM boots) WHERE run_id = 'heard'`)(t, s)
	s.Settled = false
	if found, err := invariant.Examine(t.Context(), s); err != nil || len(found) > 0 {
		t.Errorf("a run that works is called broken: %v, %v", found, err)
	}
}

func TestAProcessThatIsLeftIsSeen(t *testing.T) {
	mark := "mark-" + uuid.NewString()
	cmd := exec.Command("sleep", "60")
	cmd.Args[0] = mark
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	found, err := invariant.Orphans(t.Context(), []string{mark})
	if err != nil || len(found) != 1 || !strings.Contains(found[0].Words, fmt.Sprint(cmd.Process.Pid)) {
		t.Errorf("found %v, %v", found, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if found, err := invariant.Orphans(t.Context(), []string{mark}); err != nil || len(found) > 0 {
		t.Errorf("after its end: %v, %v", found, err)
	}
}

func TestCountSortsByKind(t *testing.T) {
	var all []invariant.Breach
	for _, c := range invariant.Checks() {
		all = append(all, invariant.Breach{Check: c})
	}
	sum := invariant.Count(all, invariant.Lost) + invariant.Count(all, invariant.Duplicated) + invariant.Count(all, invariant.Broken)
	if sum != len(all) || invariant.Count(all, invariant.Lost) == 0 || invariant.Count(all, invariant.Duplicated) == 0 {
		t.Errorf("%d of %d breaches have a kind", sum, len(all))
	}
}
