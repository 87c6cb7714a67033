package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"countersign/backend/tool"
	"countersign/backend/tool/internal/place"
)

// tempName is where a plan's new content waits for its renaming. It follows from
// the plan, so that what a crash left is found again and belongs to no other act.
func tempName(plan tool.Plan) string { return tempNameOf(tool.PlanHash(plan)) }

func tempNameOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return ".countersign-" + hex.EncodeToString(sum[:8]) + ".tmp"
}

// replace puts c.after in the place of what was planned. After an error nothing
// is changed. A note tells what is done and not yet certain.
func (c *change) replace(ctx context.Context, p *place.Place) (note string, err error) {
	parent, err := p.MakeParent(c.spot)
	if err != nil {
		return "", err
	}
	defer parent.Close()
	r := replacement{dir: parent.Dir, name: c.spot.Name(), temp: tempName(c.plan), content: c.after, mode: newFileMode}
	if c.was.exists {
		r.mode, r.owner = c.was.mode, c.was.info
	}
	if err := r.write(); err != nil {
		r.drop()
		parent.Unmake()
		return "", err
	}
	if err := c.verify(ctx, p, parent.Dir); err != nil {
		r.drop()
		parent.Unmake()
		return "", err
	}
	if err := r.swap(c.was.exists); err != nil {
		r.drop()
		parent.Unmake()
		return "", err
	}
	if err := syncDir(parent.Dir); err != nil {
		return "done; the disk did not confirm the folder's entry yet", nil
	}
	return "", nil
}

// verify looks once more, as late as possible: the file is what was planned, and
// its directory is still where the path leads.
func (c *change) verify(ctx context.Context, p *place.Place, dir *os.Root) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now, err := lookIn(ctx, dir, c.spot.Name())
	if err != nil {
		return asChanged(err)
	}
	if !now.sameAs(c.was) || now.exists && now.mode != c.was.mode {
		return fmt.Errorf("%w: %s has other content now", tool.ErrPlanChanged, c.spot.Show)
	}
	fresh, err := p.OpenParent(c.spot)
	if err != nil {
		return asChanged(err)
	}
	defer func() { _ = fresh.Close() }()
	a, errA := fresh.Stat(".")
	b, errB := dir.Stat(".")
	if errA != nil || errB != nil || !os.SameFile(a, b) {
		return fmt.Errorf("%w: the folder of %s was moved", tool.ErrPlanChanged, c.spot.Show)
	}
	return nil
}

// replacement is new content on its way to a name in an open directory.
type replacement struct {
	dir     *os.Root
	name    string
	temp    string
	content []byte
	mode    fs.FileMode
	// owner is the file whose owner and group are kept, nil for a new one.
	owner fs.FileInfo
}

// write makes the temporary file, on disk when it returns.
func (r replacement) write() (err error) {
	r.drop()
	f, err := r.dir.OpenFile(r.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, r.mode)
	if err != nil {
		return fmt.Errorf("write beside %s: %w", r.name, err)
	}
	defer func() {
		if closeErr := f.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("write beside %s: %w", r.name, closeErr)
		}
	}()
	if _, err := f.Write(r.content); err != nil {
		return fmt.Errorf("write beside %s: %w", r.name, err)
	}
	if r.owner != nil {
		if err := keepOwner(f, r.owner); err != nil {
			return err
		}
		// After the owner, since changing that may clear bits.
		if err := f.Chmod(r.mode); err != nil {
			return fmt.Errorf("keep the mode of %s: %w", r.name, err)
		}
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("write beside %s: %w", r.name, err)
	}
	return nil
}

// swap gives the content its name. A name that should be free is taken by
// linking, which refuses when somebody was faster; where the disk knows no links
// a last look has to do.
func (r replacement) swap(replaces bool) error {
	if !replaces {
		err := r.dir.Link(r.temp, r.name)
		if err == nil {
			r.drop()
			return nil
		}
		if _, lookErr := r.dir.Lstat(r.name); !errors.Is(lookErr, fs.ErrNotExist) {
			return fmt.Errorf("%w: %s exists now", tool.ErrPlanChanged, r.name)
		}
	}
	if err := r.dir.Rename(r.temp, r.name); err != nil {
		return fmt.Errorf("put %s in place: %w", r.name, err)
	}
	return nil
}

// drop removes the temporary file. What cannot be removed is left; it is never
// taken for content.
func (r replacement) drop() { _ = r.dir.Remove(r.temp) }

// sweep removes what an interrupted change left beside its file.
func sweep(p *place.Place, s place.Spot, plan tool.Plan) {
	dir, err := p.OpenParent(s)
	if err != nil {
		return
	}
	defer func() { _ = dir.Close() }()
	replacement{dir: dir, temp: tempName(plan)}.drop()
}
