package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"sync"

	"github.com/tailscale/hujson"
)

// FileName is the name of the file in the data directory.
const FileName = "config.json"

// maxFileBytes bounds what is read; a larger file is not a configuration.
const maxFileBytes = 4 << 20

// ErrUnreadable is wrapped by Update when the file on disk cannot be read or
// parsed. The owner mends it, or Restore puts an earlier version back.
var ErrUnreadable = errors.New("config.json cannot be read, so it was not changed")

// ErrTooMuchLost is returned by Update when more than half of the keys would go.
var ErrTooMuchLost = errors.New("this change would remove more than half of config.json, so it was not made")

// File is the configuration file of one data directory. It is safe for
// concurrent use.
type File struct {
	path  string
	saver saver

	// write makes one Update at a time; it is held over disk access.
	write sync.Mutex

	mu       sync.Mutex
	current  Config
	watchers map[int]func(Config)
	nextID   int
}

// Load reads the configuration of dir. It never writes and never refuses what
// the file says: Problems tell what was not taken. The error is for dir itself,
// when it does not exist or is not a directory.
func Load(dir string) (*File, Problems, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("load configuration: %w", err)
	}
	if !info.IsDir() {
		return nil, nil, fmt.Errorf("load configuration: %s is not a directory", dir)
	}
	f := &File{
		path:     filepath.Join(dir, FileName),
		saver:    newSaver(),
		watchers: map[int]func(Config){},
	}
	_, c, problems, _ := f.read()
	f.current = c
	return f, problems, nil
}

// read returns the tree and its meaning. With an error the configuration is the
// default one and the problems say why.
func (f *File) read() (hujson.Value, Config, Problems, error) {
	source, err := readCapped(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return hujson.Value{Value: &hujson.Object{}}, Default(), nil, nil
	}
	if err != nil {
		return hujson.Value{}, Default(), Problems{{
			Path:     FileName,
			Sentence: fmt.Sprintf("The file cannot be read (%v); the defaults are used and the file stays as it is.", err),
			Remedy:   "Make " + f.path + " readable for you and start again.",
		}}, err
	}
	source = bytes.TrimPrefix(source, []byte("\xef\xbb\xbf"))
	root, err := hujson.Parse(source)
	if err != nil {
		return hujson.Value{}, Default(), Problems{{
			Path:     FileName,
			Line:     errorLine(source, err),
			Sentence: fmt.Sprintf("The file is not valid (%v); the defaults are used and the file stays as it is.", err),
			Remedy:   "Correct " + f.path + ", or put an earlier version back from " + backupName(f.path, 1) + ".",
		}}, err
	}
	c, problems := decode(source, &root)
	return root, c, problems, nil
}

// errorLine takes the line from the parser's message, which has no other form.
func errorLine(source []byte, err error) int {
	var line int
	if n, _ := fmt.Sscanf(err.Error(), "hujson: line %d", &line); n == 1 {
		return line
	}
	return 1 + bytes.Count(source, []byte("\n"))
}

func readCapped(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not an ordinary file")
	}
	if info.Size() > maxFileBytes {
		return nil, errors.New("it is larger than 4 MB")
	}
	return os.ReadFile(path)
}

// Path is where the file lies.
func (f *File) Path() string { return f.path }

// Current returns the configuration in use.
func (f *File) Current() Config {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.current.clone()
}

// Update changes the configuration. fn gets what the file says now, hand-made
// edits included; when it returns an error nothing happens. The new
// configuration is validated (*ValidationError), written in place and handed to
// the watchers. ctx bounds the waiting for a file that another program holds
// open, at most ten seconds. On an error the old file is intact.
func (f *File) Update(ctx context.Context, fn func(*Config) error) (Config, error) {
	f.write.Lock()
	defer f.write.Unlock()
	root, old, _, err := f.read()
	if err != nil {
		return f.Current(), fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	next := old.clone()
	if err := fn(&next); err != nil {
		return f.Current(), err
	}
	next = next.clone()
	if problems := validate(next); len(problems) > 0 {
		return f.Current(), &ValidationError{Problems: problems}
	}
	if !reflect.DeepEqual(old, next) {
		if err := f.save(ctx, root, old, next); err != nil {
			return f.Current(), err
		}
	}
	f.publish(next)
	return next.clone(), nil
}

func (f *File) save(ctx context.Context, root hujson.Value, old, next Config) error {
	before := countKeys(&root, &next)
	if err := patchTree(&root, old, next); err != nil {
		return err
	}
	if after := countKeys(&root, nil); after*2 < before {
		return ErrTooMuchLost
	}
	data := root.Pack()
	if len(data) == 0 || data[len(data)-1] != '\n' {
		data = append(data, '\n')
	}
	// What will be read next time must be what was meant; a mistake in the patch
	// is found here, not at the next start.
	check, err := hujson.Parse(data)
	if err != nil {
		return fmt.Errorf("check new configuration: %w", err)
	}
	if read, _ := decode(data, &check); !reflect.DeepEqual(read, next) {
		return errors.New("check new configuration: it does not read back as it was meant; nothing was changed")
	}
	return f.saver.save(ctx, f.path, data)
}

// Restore puts the n-th latest earlier version back, from 1. The file it
// replaces becomes an earlier version itself.
func (f *File) Restore(ctx context.Context, n int) (Config, error) {
	f.write.Lock()
	defer f.write.Unlock()
	data, err := readCapped(backupName(f.path, n))
	if err != nil {
		return f.Current(), fmt.Errorf("restore configuration: %w", err)
	}
	root, err := hujson.Parse(data)
	if err != nil {
		return f.Current(), fmt.Errorf("restore configuration: %w", err)
	}
	if err := f.saver.save(ctx, f.path, data); err != nil {
		return f.Current(), err
	}
	c, _ := decode(data, &root)
	f.publish(c)
	return c.clone(), nil
}

// Watch calls fn after each Update and Restore, from the goroutine that made it,
// in order. fn must not call Update. The returned function ends the watch.
func (f *File) Watch(fn func(Config)) (cancel func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := f.nextID
	f.nextID++
	f.watchers[id] = fn
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.watchers, id)
	}
}

func (f *File) publish(c Config) {
	f.mu.Lock()
	f.current = c.clone()
	fns := make([]func(Config), 0, len(f.watchers))
	for id := range f.nextID {
		if fn, ok := f.watchers[id]; ok {
			fns = append(fns, fn)
		}
	}
	f.mu.Unlock()
	for _, fn := range fns {
		fn(c.clone())
	}
}
