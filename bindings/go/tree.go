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

// GetMany returns the value of each key in one snapshot, and nil for a key that the tree does not hold. The reads of
// missing pages are in flight together. An empty value is not nil.
func (t *Tree) GetMany(keys ...[]byte) ([][]byte, error) {
	packed, sizes := packKeys(keys)
	s, err := t.enter()
	if err != nil {
		return nil, err
	}
	values, code := s.getMany(t.db.handle, C.lk_txn{}, t.handle, packed, sizes)
	return values, t.db.leave(s, code)
}

// ApproximateCount estimates the records of a range from inner pages and a few leaves, usually some percent off.
func (t *Tree) ApproximateCount(r Range) (uint64, error) { return t.estimate(r, 0) }

// ApproximateBytes estimates the bytes of the pages of a range, as ApproximateCount.
func (t *Tree) ApproximateBytes(r Range) (uint64, error) { return t.estimate(r, 1) }

func (t *Tree) estimate(r Range, ofBytes C.int) (uint64, error) {
	from, to, err := r.bounds()
	if err != nil {
		return 0, err
	}
	s, err := t.enter()
	if err != nil {
		return 0, err
	}
	var figure C.uint64_t
	code := C.lkgo_estimate(t.db.handle, t.handle, rangeOf(from, to), pointerTo(from), pointerTo(to), ofBytes, &figure, s.c)
	return uint64(figure), t.db.leave(s, code)
}

// DeleteRange deletes the records of a range in one step, as a transaction of its own. Older snapshots go on reading
// them; until these have ended, writes to the range wait. ErrFailedPrecondition: the calling thread has begun a
// transaction that has written in the tree.
func (t *Tree) DeleteRange(r Range) error {
	from, to, err := r.bounds()
	if err != nil {
		return err
	}
	s, err := t.enter()
	if err != nil {
		return err
	}
	return t.db.leave(s, C.lkgo_delete_range(t.db.handle, t.handle, rangeOf(from, to), pointerTo(from), pointerTo(to), s.c))
}

// Clear deletes all records of the tree, as DeleteRange does.
func (t *Tree) Clear() error {
	s, err := t.enter()
	if err != nil {
		return err
	}
	return t.db.leave(s, C.lkgo_clear_tree(t.db.handle, t.handle, s.c))
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
func (t *Tree) Scan(r Range) *Scan { return t.scan(r, r.Lend) }

func (t *Tree) scan(r Range, lends bool) *Scan {
	if t == nil {
		return &Scan{err: errNoTree}
	}
	tx, err := t.db.Snapshot()
	if err != nil {
		return &Scan{err: err}
	}
	scan := tx.scan(t, r, lends)
	scan.ownsTx = true
	return scan
}
