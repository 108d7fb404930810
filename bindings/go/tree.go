package latchkey

// #include "latchkey_go.h"
import "C"

import (
	"errors"
	"time"
)

// Tree is a named tree of a database. Each of its calls is a transaction of its own. All goroutines may use
// it at once. It stays usable until the database is closed or the tree dropped.
type Tree struct {
	db     *DB
	handle C.lk_tree
	name   string
}

// Name returns the name of the tree; "" for nil.
func (t *Tree) Name() string {
	if t == nil {
		return ""
	}
	return t.name
}

func (t *Tree) enter() (*scratch, error) {
	if t == nil {
		return nil, errNoTree
	}
	return t.db.enter()
}

// Get returns the value of the key, or ErrNotFound.
func (t *Tree) Get(key []byte) ([]byte, error) { return t.AppendGet(nil, key) }

// AppendGet appends the value of the key to buffer and returns the result: with a buffer that is large enough
// nothing is allocated. After an error it returns buffer unchanged.
func (t *Tree) AppendGet(buffer, key []byte) ([]byte, error) {
	s, err := t.enter()
	if err != nil {
		return buffer, err
	}
	code := C.lkgo_get(t.db.handle, t.handle, pointerTo(key), sizeOf(key), s.c)
	if code == C.LK_OK {
		buffer = appendView(buffer, s.view())
	}
	return buffer, t.db.leaveFound(s, code)
}

// appendView is append, but never returns nil.
func appendView(buffer, view []byte) []byte {
	if buffer == nil {
		return copyOf(view)
	}
	return append(buffer, view...)
}

// leaveFound is leave; a missing key is ErrNotFound itself, without an allocation.
func (db *DB) leaveFound(s *scratch, code C.lk_code) error {
	if code == C.LK_NOT_FOUND {
		db.leave(s, C.LK_OK)
		return ErrNotFound
	}
	return db.leave(s, code)
}

// Put inserts or replaces.
func (t *Tree) Put(key, value []byte) error {
	return t.write(func(s *scratch) C.lk_code {
		return C.lkgo_put(t.db.handle, t.handle, pointerTo(key), sizeOf(key), pointerTo(value), sizeOf(value), s.c)
	})
}

// Delete returns ErrNotFound if the tree does not hold the key.
func (t *Tree) Delete(key []byte) error {
	return t.write(func(s *scratch) C.lk_code {
		return C.lkgo_delete(t.db.handle, t.handle, pointerTo(key), sizeOf(key), s.c)
	})
}

func (t *Tree) write(call func(*scratch) C.lk_code) error {
	if t == nil {
		return errNoTree
	}
	return t.db.write(call)
}

// write runs a call that is a transaction of its own.
//
// The library does not wait for a lock that a transaction of the same thread holds: it returns Aborted at
// once. But goroutines share threads, so that transaction may be another goroutine's and end soon. Therefore
// the call is repeated for as long as the library would have waited.
func (db *DB) write(call func(*scratch) C.lk_code) error {
	var started time.Time
	for attempt := 0; ; attempt++ {
		s, err := db.enter()
		if err != nil {
			return err
		}
		err = db.leave(s, call(s))
		if !errors.Is(err, ErrAborted) {
			return err
		}
		if started.IsZero() {
			started = time.Now()
		} else if time.Since(started) > db.lockWait {
			return err
		}
		time.Sleep(pause(attempt))
	}
}

// Scan walks through a range of one snapshot. Close it, or walk to its end.
func (t *Tree) Scan(r Range) *Scan {
	if t == nil {
		return &Scan{err: errNoTree}
	}
	tx, err := t.db.Snapshot()
	if err != nil {
		return &Scan{err: err}
	}
	scan := tx.Scan(t, r)
	scan.ownsTx = true
	return scan
}
