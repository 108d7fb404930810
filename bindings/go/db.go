// Package latchkey is an embedded, ordered, transactional key/value store: a map of bytes to bytes in files.
//
// Errors are *Error; errors.Is finds their kinds. A call after the end of its database, transaction or cursor
// returns an error, as does a call of a nil handle. All slices that calls return are the caller's to keep,
// unless noted. Keys have 0 to 1,024 bytes, values up to 1 GiB; nil is the empty key or value.
package latchkey

// #cgo pkg-config: latchkey
// #cgo CFLAGS: -std=c99 -O2 -Wall -Wextra -Wno-unused-parameter
// #include "latchkey_go.h"
import "C"

import (
	"runtime"
	"runtime/cgo"
	"strings"
	"sync"
	"time"
)

// The largest sizes, in bytes.
const (
	MaxKeySize      = C.LK_MAX_KEY_SIZE
	MaxValueSize    = C.LK_MAX_VALUE_SIZE
	MaxTreeNameSize = C.LK_MAX_TREE_NAME_SIZE
)

// DB is an open database. All goroutines may use it at once.
type DB struct{ *database }

// database is what a DB refers to. It refers to no DB: so a DB that is lost can be collected.
type database struct {
	mu       sync.RWMutex // shared by each call that is no transaction's, exclusive in Close
	handle   C.lk_db
	isOpen   bool
	lockWait time.Duration
	log      cgo.Handle
	onEvent  cgo.Handle
	open     transactionList
}

// Open opens the database in the directory path, and creates it if it is missing. options may be nil.
// End it with Close.
func Open(path string, options *Options) (*DB, error) {
	if strings.ContainsRune(path, 0) {
		return nil, invalid("the path has a NUL byte")
	}
	if options == nil {
		options = &Options{}
	}
	s := takeScratch()
	defer s.give()
	d := &database{isOpen: true}
	if err := options.open(path, d, s); err != nil {
		return nil, err
	}
	db := &DB{d}
	runtime.SetFinalizer(db, func(db *DB) { go db.Close() }) // a safety net; it may take long
	return db, nil
}

func (d *database) forgetSinks() {
	for _, sink := range []*cgo.Handle{&d.log, &d.onEvent} {
		if *sink != 0 {
			sink.Delete()
			*sink = 0
		}
	}
}

// enter begins a call; the caller ends it with leave.
func (db *DB) enter() (*scratch, error) {
	if db == nil || db.database == nil {
		return nil, errNil
	}
	db.mu.RLock()
	if !db.isOpen {
		db.mu.RUnlock()
		return nil, ErrClosed
	}
	return takeScratch(), nil
}

// leave ends a call that returned code.
func (db *DB) leave(s *scratch, code C.lk_code) error {
	var err error
	if code != C.LK_OK {
		err = s.failure(code)
	}
	s.give()
	db.mu.RUnlock()
	return err
}

// Close rolls back the running transactions, writes everything out and releases the files. It waits for the
// calls of other goroutines. A second Close returns ErrClosed.
func (db *DB) Close() error {
	if db == nil || db.database == nil {
		return errNil
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if !db.isOpen {
		return ErrClosed
	}
	for _, t := range db.open.all() {
		t.finish(ErrClosed, func() { C.lk_txn_rollback(t.handle, nil) })
	}
	s := takeScratch()
	defer s.give()
	code := C.lk_close(db.handle, &s.c.error)
	if code != C.LK_RESOURCE_EXHAUSTED { // then it is still open
		db.isOpen = false
		db.forgetSinks()
		runtime.SetFinalizer(db, nil)
	}
	if code != C.LK_OK {
		return s.failure(code)
	}
	return nil
}

// Tree returns the tree of that name (1 to 255 bytes), and creates it if it is missing.
func (db *DB) Tree(name string) (*Tree, error) { return db.tree(name, 1) }

// FindTree returns the tree of that name, or ErrNotFound.
func (db *DB) FindTree(name string) (*Tree, error) { return db.tree(name, 0) }

func (db *DB) tree(name string, create C.int) (*Tree, error) {
	s, err := db.enter()
	if err != nil {
		return nil, err
	}
	var handle C.lk_tree
	bytes := []byte(name)
	code := C.lkgo_open_tree(db.handle, pointerTo(bytes), sizeOf(bytes), create, &handle, s.c)
	if err := db.leave(s, code); err != nil {
		return nil, err
	}
	return &Tree{db, handle, name}, nil
}

// DropTree removes the tree and all its records at once, for snapshots too. It is part of no transaction.
func (db *DB) DropTree(name string) error {
	s, err := db.enter()
	if err != nil {
		return err
	}
	bytes := []byte(name)
	return db.leave(s, C.lkgo_drop_tree(db.handle, pointerTo(bytes), sizeOf(bytes), s.c))
}

// RenameTree gives a tree another name, for all transactions at once; its *Tree stays usable, with its old Name.
// ErrNotFound: there is no tree from. ErrAlreadyExists: there is a tree to.
func (db *DB) RenameTree(from, to string) error {
	s, err := db.enter()
	if err != nil {
		return err
	}
	old, new := []byte(from), []byte(to)
	return db.leave(s, C.lkgo_rename_tree(db.handle, pointerTo(old), sizeOf(old), pointerTo(new), sizeOf(new), s.c))
}

// TreeNames returns the names of all trees, as they are now.
func (db *DB) TreeNames() ([]string, error) {
	s, err := db.enter()
	if err != nil {
		return nil, err
	}
	var list C.lk_names
	code := C.lk_list_trees(db.handle, &list, &s.c.error)
	names := make([]string, 0, C.lk_names_count(list))
	for i := C.size_t(0); i < C.lk_names_count(list); i++ {
		var name C.lk_bytes
		if C.lk_names_at(list, i, &name, nil) == C.LK_OK {
			names = append(names, string(viewOf(name.data, name.size)))
		}
	}
	C.lk_names_release(list, nil)
	return names, db.leave(s, code)
}

// Sync makes every commit durable that returned before the call, whatever its durability. ErrFailedPrecondition:
// the database was opened without durability.
func (db *DB) Sync() error {
	s, err := db.enter()
	if err != nil {
		return err
	}
	return db.leave(s, C.lk_sync(db.handle, &s.c.error))
}

// Checkpoint writes every dirty page. It may take long.
func (db *DB) Checkpoint() error {
	s, err := db.enter()
	if err != nil {
		return err
	}
	return db.leave(s, C.lk_checkpoint(db.handle, &s.c.error))
}

// Verify reads and checks every page; ErrDataLoss names the first fault. No one may write meanwhile.
func (db *DB) Verify() error {
	s, err := db.enter()
	if err != nil {
		return err
	}
	return db.leave(s, C.lk_verify(db.handle, &s.c.error))
}

// SetCacheBytes changes Options.CacheBytes of the open database.
func (db *DB) SetCacheBytes(bytes uint64) error {
	s, err := db.enter()
	if err != nil {
		return err
	}
	return db.leave(s, C.lk_set_cache_size(db.handle, C.uint64_t(bytes), &s.c.error))
}

// PageSize returns the size of a page in bytes.
func (db *DB) PageSize() (int, error) {
	s, err := db.enter()
	if err != nil {
		return 0, err
	}
	var bytes C.uint32_t
	code := C.lk_page_size(db.handle, &bytes, &s.c.error)
	return int(bytes), db.leave(s, code)
}

// Device describes the device that holds the data, as "file(db/data.lk, O_DIRECT, libaio)".
func (db *DB) Device() (string, error) {
	s, err := db.enter()
	if err != nil {
		return "", err
	}
	code := C.lk_device_description(db.handle, &s.c.value, &s.c.error)
	text := ""
	if code == C.LK_OK {
		text = string(s.view())
	}
	return text, db.leave(s, code)
}
