package latchkey

// #include "latchkey_go.h"
import "C"

import (
	"runtime"
	"sync"
)

// BulkLoadOptions of DB.BulkLoader.
type BulkLoadOptions struct {
	// Fill is the share of each leaf that is filled, 0.5 to 1. 0 is 1.
	Fill float64
}

// BulkLoader makes a new tree out of records that come in ascending order of their keys. Pages are filled and written
// once, past the cache and the log. The tree appears at Finish with all its records, and is then as durable as a
// commit. Close before Finish gives the load up, and nothing of it stays. One goroutine at a time runs a call.
//
//	loader, err := db.BulkLoader("index", latchkey.BulkLoadOptions{})
//	if err != nil { ... }
//	defer loader.Close()
//	for ... { err = loader.Put(key, value) ... }
//	tree, err := loader.Finish()
type BulkLoader struct {
	mu     sync.Mutex
	db     *DB
	name   string
	handle C.lk_bulk_loader // zero: the load is over
}

var errLoadDone = &Error{FailedPrecondition, "the bulk load is over: it was finished or closed"}

// BulkLoader begins a load of a new tree. ErrAlreadyExists: there is a tree of that name.
func (db *DB) BulkLoader(name string, options BulkLoadOptions) (*BulkLoader, error) {
	s, err := db.enter()
	if err != nil {
		return nil, err
	}
	l := &BulkLoader{db: db, name: name}
	bytes := []byte(name)
	code := C.lkgo_bulk_create(db.handle, pointerTo(bytes), sizeOf(bytes), C.double(options.Fill), &l.handle, s.c)
	if err := db.leave(s, code); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(l, func(l *BulkLoader) { go l.Close() }) // a safety net
	return l, nil
}

// call runs a call of the load.
func (l *BulkLoader) call(call func(*scratch) C.lk_code) error {
	if l == nil || l.db == nil {
		return errNil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s, err := l.db.enter()
	if err != nil {
		return err
	}
	if l.handle.id == 0 {
		l.db.leave(s, C.LK_OK)
		return errLoadDone
	}
	return l.db.leave(s, call(s))
}

// Put adds a record. ErrInvalidArgument: the key is not above the one before, or a limit is exceeded; the load goes on
// without this record. Any other error ends the load.
func (l *BulkLoader) Put(key, value []byte) error {
	return l.call(func(s *scratch) C.lk_code {
		return C.lkgo_bulk_put(l.handle, pointerTo(key), sizeOf(key), pointerTo(value), sizeOf(value), s.c)
	})
}

// Records returns how many records were accepted so far.
func (l *BulkLoader) Records() (records uint64, err error) {
	err = l.call(func(*scratch) C.lk_code {
		records = uint64(C.lk_bulk_loader_count(l.handle))
		return C.LK_OK
	})
	return records, err
}

// Finish makes the records durable, then the tree visible. ErrAlreadyExists: another tree got the name meanwhile, and
// nothing of the load stays.
func (l *BulkLoader) Finish() (*Tree, error) {
	var handle C.lk_tree
	err := l.call(func(s *scratch) C.lk_code {
		code := C.lk_bulk_loader_finish(l.handle, &handle, &s.c.error)
		if code != C.LK_RESOURCE_EXHAUSTED {
			l.forget()
		}
		return code
	})
	if err != nil {
		return nil, err
	}
	return &Tree{l.db, handle, l.name}, nil
}

func (l *BulkLoader) forget() {
	l.handle.id = 0
	runtime.SetFinalizer(l, nil)
}

// Close gives the load up unless it was finished. Deferred after Finish, and a second time, it has no effect.
func (l *BulkLoader) Close() error {
	if l == nil || l.db == nil {
		return errNil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.handle.id == 0 {
		return nil
	}
	// Also when the database is closed: that has ended the load, but not its handle. Close of the database waits.
	l.db.mu.RLock()
	defer l.db.mu.RUnlock()
	C.lk_bulk_loader_release(l.handle, nil)
	l.forget()
	return nil
}
