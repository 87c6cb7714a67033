package registry_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"countersign/backend/protocol"
	"countersign/backend/registry"
	"countersign/backend/store"
	"countersign/backend/testkit/tempstore"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type rig struct {
	*testing.T
	db *store.DB
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return &rig{t, tempstore.Open(t, registry.Schema())}
}

func (r *rig) write(fn func(*store.Tx) error) error { return r.db.Write(context.Background(), fn) }

func (r *rig) must(fn func(*store.Tx) error) {
	r.Helper()
	tempstore.Write(r, r.db, fn)
}

func (r *rig) agent(id protocol.AgentID) (a registry.Agent) {
	r.Helper()
	r.must(func(tx *store.Tx) (err error) {
		a, err = registry.GetAgent(tx, id)
		return err
	})
	return a
}

// told are the changes that clients learn of since after.
func (r *rig) told(after int64) (out []string) {
	r.Helper()
	changes, complete, err := r.db.Changes(context.Background(), after, 0)
	if err != nil || !complete {
		r.Fatal("read changes", complete, err)
	}
	for _, c := range changes {
		out = append(out, c.Kind+" "+c.Key)
	}
	return out
}

func TestAnAgentIsStoredReplacedAndListed(t *testing.T) {
	r := newRig(t)
	a := registry.Agent{ID: "main", Name: "Ada", Emoji: "🦊", Workspace: "/w", Model: "m", Allow: []string{"read", "group:fs"}, Deny: []string{"exec"}}
	r.must(func(tx *store.Tx) error { return registry.PutAgent(tx, a, 100) })
	a.Version = 1
	if got := r.agent("main"); !reflect.DeepEqual(got, a) {
		t.Errorf("stored as %+v", got)
	}
	b := registry.Agent{ID: "main", Name: "Bea", Workspace: "/v"}
	seq := r.db.LastSeq()
	r.must(func(tx *store.Tx) error { return registry.PutAgent(tx, b, 200) })
	got := r.agent("main")
	if got.Name != "Bea" || got.Emoji != "" || got.Model != "" || len(got.Allow)+len(got.Deny) != 0 || got.Version != 2 {
		t.Errorf("replaced by %+v", got)
	}
	if told := r.told(seq); !slices.Equal(told, []string{"agent main"}) {
		t.Errorf("clients were told %v", told)
	}
	r.must(func(tx *store.Tx) error {
		return registry.PutAgent(tx, registry.Agent{ID: "a-first", Workspace: "/x"}, 300)
	})
	r.must(func(tx *store.Tx) error {
		all, err := registry.Agents(tx)
		if len(all) != 2 || all[0].ID != "a-first" || all[1].ID != "main" {
			t.Errorf("listed as %+v", all)
		}
		return err
	})
	err := r.write(func(tx *store.Tx) error {
		_, err := registry.GetAgent(tx, "nobody")
		return err
	})
	if !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("nobody: %v", err)
	}
}

func TestFoldersAreOpenedChangedAndClosed(t *testing.T) {
	r := newRig(t)
	for _, id := range []protocol.AgentID{"main", "other"} {
		r.must(func(tx *store.Tx) error { return registry.PutAgent(tx, registry.Agent{ID: id, Workspace: "/w"}, 1) })
	}
	add := func(id protocol.AgentID, path string, writable bool) error {
		return r.write(func(tx *store.Tx) error {
			return registry.AddFolder(tx, id, registry.Folder{Path: path, Writable: writable}, 2)
		})
	}
	folders := func(id protocol.AgentID) (out []registry.Folder) {
		r.must(func(tx *store.Tx) (err error) {
			out, err = registry.Folders(tx, id)
			return err
		})
		return out
	}
	for _, err := range []error{add("main", "/z", false), add("main", "/a b/ä", true), add("main", "/z", true), add("other", "/z", false)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, want := folders("main"), []registry.Folder{{Path: "/a b/ä", Writable: true}, {Path: "/z", Writable: true}}; !slices.Equal(got, want) {
		t.Errorf("open are %+v, want %+v", got, want)
	}
	if got, want := folders("other"), []registry.Folder{{Path: "/z"}}; !slices.Equal(got, want) {
		t.Errorf("open to another are %+v, want %+v", got, want)
	}
	if err := add("nobody", "/z", false); err == nil || len(folders("nobody")) > 0 {
		t.Errorf("a folder was opened to nobody: %v", err)
	}
	version, seq := r.agent("main").Version, r.db.LastSeq()
	remove := func(path string) error {
		return r.write(func(tx *store.Tx) error { return registry.RemoveFolder(tx, "main", path, 3) })
	}
	if err := remove("/z"); err != nil || len(folders("main")) != 1 || len(folders("other")) != 1 {
		t.Errorf("closed: %v, left %v and %v", err, folders("main"), folders("other"))
	}
	if r.agent("main").Version != version+1 || !slices.Equal(r.told(seq), []string{"agent main"}) {
		t.Errorf("version %d after %d, told %v", r.agent("main").Version, version, r.told(seq))
	}
	if err := remove("/z"); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("closed twice: %v", err)
	}
}

func TestDevicesArePairedSeenAndRemoved(t *testing.T) {
	r := newRig(t)
	d := registry.Device{ID: "d1", Name: "phone", Platform: "android", Scopes: []protocol.Scope{protocol.ScopeRead, protocol.ScopeApprovals}, PairedAtMs: 100}
	add := func(d registry.Device) { r.must(func(tx *store.Tx) error { return registry.AddDevice(tx, d) }) }
	get := func(id protocol.DeviceID) (d registry.Device, err error) {
		err = r.write(func(tx *store.Tx) (err error) {
			d, err = registry.GetDevice(tx, id)
			return err
		})
		return d, err
	}
	add(d)
	d.LastSeenMs = 100
	if got, err := get("d1"); err != nil || !reflect.DeepEqual(got, d) {
		t.Errorf("paired as %+v (%v)", got, err)
	}
	r.must(func(tx *store.Tx) error { return registry.TouchDevice(tx, "d1", 500) })
	d.Name, d.Scopes, d.PairedAtMs, d.LastSeenMs = "new phone", []protocol.Scope{protocol.ScopeRead}, 600, 500
	add(d) // pairing again takes scopes away too
	if got, err := get("d1"); err != nil || !reflect.DeepEqual(got, d) {
		t.Errorf("paired again as %+v (%v)", got, err)
	}
	add(registry.Device{ID: "d0", PairedAtMs: 700})
	r.must(func(tx *store.Tx) error {
		all, err := registry.Devices(tx)
		if len(all) != 2 || all[0].ID != "d0" || all[1].ID != "d1" {
			t.Errorf("listed as %+v", all)
		}
		return err
	})
	remove := func() error {
		return r.write(func(tx *store.Tx) error { return registry.RemoveDevice(tx, "d1", 800) })
	}
	seq := r.db.LastSeq()
	if err := remove(); err != nil || !slices.Equal(r.told(seq), []string{"device d1"}) {
		t.Errorf("removed: %v, told %v", err, r.told(seq))
	}
	if _, err := get("d1"); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("still there: %v", err)
	}
	if err := remove(); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
	r.must(func(tx *store.Tx) error { return registry.TouchDevice(tx, "d1", 900) })
	if _, err := get("d1"); !errors.Is(err, registry.ErrNotFound) {
		t.Error("being seen paired a removed device")
	}
}

func (r *rig) addBrowser(id protocol.BrowserID, madeMs, usedMs, endsMs int64) {
	r.Helper()
	r.must(func(tx *store.Tx) error {
		return registry.AddBrowser(tx, registry.Browser{
			ID: id, CookieHash: "hash of " + string(id), Name: "Firefox on Linux", CreatedAtMs: madeMs, LastUsedMs: usedMs, ExpiresAtMs: endsMs,
		})
	})
}

func (r *rig) browsers() (ids []protocol.BrowserID) {
	r.Helper()
	r.must(func(tx *store.Tx) error {
		all, err := registry.Browsers(tx)
		for _, b := range all {
			ids = append(ids, b.ID)
		}
		return err
	})
	return ids
}

func (r *rig) findBrowser(hash string) (b registry.Browser, err error) {
	err = r.write(func(tx *store.Tx) (err error) {
		b, err = registry.FindBrowser(tx, hash)
		return err
	})
	return b, err
}

func TestBrowsersAreKeptRenewedAndRemoved(t *testing.T) {
	r := newRig(t)
	r.addBrowser("b1", 100, 100, 1000)
	want := registry.Browser{ID: "b1", CookieHash: "hash of b1", Name: "Firefox on Linux", CreatedAtMs: 100, LastUsedMs: 100, ExpiresAtMs: 1000}
	if got, err := r.findBrowser("hash of b1"); err != nil || got != want {
		t.Errorf("kept as %+v (%v)", got, err)
	}
	r.must(func(tx *store.Tx) error { return registry.RenewBrowser(tx, "b1", 500, 1400) })
	want.LastUsedMs, want.ExpiresAtMs = 500, 1400
	if got, err := r.findBrowser("hash of b1"); err != nil || got != want {
		t.Errorf("renewed as %+v (%v)", got, err)
	}
	r.addBrowser("b2", 600, 600, 2000)
	if got := r.browsers(); !slices.Equal(got, []protocol.BrowserID{"b2", "b1"}) {
		t.Errorf("listed as %v", got)
	}
	seq := r.db.LastSeq()
	remove := func() error {
		return r.write(func(tx *store.Tx) error { return registry.RemoveBrowser(tx, "b1", 700) })
	}
	if err := remove(); err != nil || !slices.Equal(r.told(seq), []string{"browser b1"}) {
		t.Errorf("removed: %v, told %v", err, r.told(seq))
	}
	r.must(func(tx *store.Tx) error { return registry.RenewBrowser(tx, "b1", 800, 1800) })
	if _, err := r.findBrowser("hash of b1"); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("being seen brought a removed browser back: %v", err)
	}
	if err := remove(); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
}

func TestBrowsersThatAreOverOrTooManyAreForgotten(t *testing.T) {
	r := newRig(t)
	r.addBrowser("over", 1, 1, 50)
	r.addBrowser("away", 2, 2, 9000)
	r.addBrowser("used", 2, 8000, 9000)
	if got := r.browsers(); len(got) != 3 {
		t.Fatalf("kept are %v", got)
	}
	for i := range registry.MaxBrowsers - 1 {
		r.addBrowser(protocol.BrowserID(fmt.Sprintf("n%02d", i)), 60, 60+int64(i), 9000)
	}
	got := r.browsers()
	if len(got) != registry.MaxBrowsers || slices.Contains(got, "over") || slices.Contains(got, "away") || got[0] != "used" {
		t.Errorf("kept are %d: %v", len(got), got)
	}
	// The newest stays, whatever its clock says.
	r.addBrowser("newest", 60, 0, 9000)
	if got := r.browsers(); len(got) != registry.MaxBrowsers || !slices.Contains(got, "newest") || slices.Contains(got, "n00") {
		t.Errorf("kept are %d: %v", len(got), got)
	}
}
