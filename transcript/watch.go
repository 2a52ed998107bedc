package transcript

import (
	"context"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// changes says when a file may have changed: when the system reports it, and from time to time,
// since some file systems report nothing.
type changes struct {
	path     string
	watcher  *fsnotify.Watcher // nil: the system reports nothing
	reported chan struct{}
	interval time.Duration
}

const (
	pollBesides = time.Second
	pollAlone   = time.Second / 4
)

func watch(path string) *changes {
	c := &changes{path: path, reported: make(chan struct{}, 1), interval: pollAlone}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return c
	}
	// The directory tells of another file in the place, the file itself of what is written when
	// the path is a link.
	if watcher.Add(filepath.Dir(path)) != nil || watcher.Add(path) != nil {
		_ = watcher.Close()
		return c
	}
	c.watcher, c.interval = watcher, pollBesides
	go c.collect(watcher)
	return c
}

// collect makes one report of all that come until somebody waits.
func (c *changes) collect(watcher *fsnotify.Watcher) {
	for {
		select {
		case event, open := <-watcher.Events:
			if !open {
				return
			}
			if filepath.Base(event.Name) != filepath.Base(c.path) {
				continue // another file of the directory
			}
		case _, open := <-watcher.Errors: // some reports are lost
			if !open {
				return
			}
		}
		select {
		case c.reported <- struct{}{}:
		default:
		}
	}
}

// again watches the file that is at the path now.
func (c *changes) again() {
	if c.watcher != nil {
		_ = c.watcher.Add(c.path) // when it cannot, there is still the directory and the clock
	}
}

// wait returns when the file may have changed, or with the error of ctx.
func (c *changes) wait(ctx context.Context) error {
	timer := time.NewTimer(c.interval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.reported:
	case <-timer.C:
	}
	return nil
}

func (c *changes) stop() {
	if c.watcher != nil {
		_ = c.watcher.Close()
	}
}
