package latchkey

// #include "latchkey_go.h"
import "C"

import "runtime"

// Tx is a transaction: it reads its own writes and one snapshot. If two transactions write the same key, one
// of them gets ErrAborted and is over. Its calls may come from several goroutines, one runs at a time.
type Tx struct {
	db      *DB
	t       *transaction
	managed bool
}

func (tx *Tx) enter(tree *Tree) (*scratch, error) {
	if tx == nil || tx.t == nil {
		return nil, errNil
	}
	if tree == nil {
		return nil, errNoTree
	}
	return tx.t.enter()
}

// Get returns the value of the key, or ErrNotFound.
func (tx *Tx) Get(tree *Tree, key []byte) ([]byte, error) { return tx.AppendGet(nil, tree, key) }

// AppendGet appends the value of the key to buffer and returns the result: with a buffer that is large enough
// nothing is allocated. After an error it returns buffer unchanged.
func (tx *Tx) AppendGet(buffer []byte, tree *Tree, key []byte) ([]byte, error) {
	s, err := tx.enter(tree)
	if err != nil {
		return buffer, err
	}
	code := C.lkgo_txn_get(tx.t.handle, tree.handle, pointerTo(key), sizeOf(key), s.c)
	if code == C.LK_OK {
		buffer = appendView(buffer, s.view())
	}
	return buffer, tx.t.leave(s, code)
}

// GetForUpdate is Get, and takes the write lock of the key.
func (tx *Tx) GetForUpdate(tree *Tree, key []byte) ([]byte, error) {
	s, err := tx.enter(tree)
	if err != nil {
		return nil, err
	}
	var value []byte
	code := C.lkgo_txn_get_for_update(tx.t.handle, tree.handle, pointerTo(key), sizeOf(key), s.c)
	if code == C.LK_OK {
		value = copyOf(s.view())
	}
	return value, tx.t.leave(s, code)
}

// WithValue calls function with the value of the key, without a copy of it. The slice is the library's memory:
// function must neither write to it nor keep it. function may use the transaction.
func (tx *Tx) WithValue(tree *Tree, key []byte, function func(value []byte) error) error {
	if function == nil {
		return errNoFunction
	}
	own := takeScratch()
	defer own.give()
	s, err := tx.enter(tree)
	if err != nil {
		return err
	}
	code := C.lkgo_txn_get(tx.t.handle, tree.handle, pointerTo(key), sizeOf(key), own.c)
	if code != C.LK_OK {
		s.c.error = own.c.error
		return tx.t.leave(s, code)
	}
	tx.t.leave(s, code)
	return function(own.view())
}

// Put inserts or replaces. It waits while another transaction holds the key.
func (tx *Tx) Put(tree *Tree, key, value []byte) error {
	s, err := tx.enter(tree)
	if err != nil {
		return err
	}
	tx.t.changes.Add(1)
	return tx.t.leave(s, C.lkgo_txn_put(tx.t.handle, tree.handle, pointerTo(key), sizeOf(key), pointerTo(value),
		sizeOf(value), s.c))
}

// Insert is Put, but returns ErrAlreadyExists if the tree holds the key.
func (tx *Tx) Insert(tree *Tree, key, value []byte) error {
	s, err := tx.enter(tree)
	if err != nil {
		return err
	}
	tx.t.changes.Add(1)
	return tx.t.leave(s, C.lkgo_txn_insert(tx.t.handle, tree.handle, pointerTo(key), sizeOf(key), pointerTo(value),
		sizeOf(value), s.c))
}

// Delete returns ErrNotFound if the tree does not hold the key.
func (tx *Tx) Delete(tree *Tree, key []byte) error {
	s, err := tx.enter(tree)
	if err != nil {
		return err
	}
	tx.t.changes.Add(1)
	return tx.t.leave(s, C.lkgo_txn_delete(tx.t.handle, tree.handle, pointerTo(key), sizeOf(key), s.c))
}

// GetMany returns the value of each key, and nil for a key that the tree does not hold. The reads of missing pages
// are in flight together. An empty value is not nil.
func (tx *Tx) GetMany(tree *Tree, keys ...[]byte) ([][]byte, error) {
	packed, sizes := packKeys(keys)
	s, err := tx.enter(tree)
	if err != nil {
		return nil, err
	}
	values, code := s.getMany(tree.db.handle, tx.t.handle, tree.handle, packed, sizes)
	return values, tx.t.leave(s, code)
}

// packKeys lays the keys one behind the other.
func packKeys(keys [][]byte) (packed []byte, sizes []C.uint32_t) {
	for _, key := range keys {
		packed = append(packed, key...)
		sizes = append(sizes, C.uint32_t(len(key)))
	}
	return packed, sizes
}

// Prefetch is a hint: it reads the pages of the keys with many reads in flight.
func (tx *Tx) Prefetch(tree *Tree, keys ...[]byte) error {
	packed, sizes := packKeys(keys)
	sizes = append(sizes, 0) // it is never empty
	s, err := tx.enter(tree)
	if err != nil {
		return err
	}
	return tx.t.leave(s, C.lkgo_prefetch(tx.t.handle, tree.handle, pointerTo(packed), &sizes[0], C.size_t(len(keys)),
		s.c))
}

// Savepoint is a point in a transaction.
type Savepoint struct{ handle C.lk_savepoint }

// Savepoint returns a point to which RollbackTo can return any number of times.
func (tx *Tx) Savepoint() (Savepoint, error) {
	var point Savepoint
	if tx == nil || tx.t == nil {
		return point, errNil
	}
	s, err := tx.t.enter()
	if err != nil {
		return point, err
	}
	code := C.lk_txn_set_savepoint(tx.t.handle, &point.handle, &s.c.error)
	return point, tx.t.leave(s, code)
}

// RollbackTo undoes the writes since point.
func (tx *Tx) RollbackTo(point Savepoint) error {
	if tx == nil || tx.t == nil {
		return errNil
	}
	s, err := tx.t.enter()
	if err != nil {
		return err
	}
	tx.t.changes.Add(1)
	return tx.t.leave(s, C.lk_txn_rollback_to(tx.t.handle, point.handle, &s.c.error))
}

// Commit ends the transaction. ErrAborted: run it again. After ErrResourceExhausted it is still open.
func (tx *Tx) Commit() error { return tx.CommitWith(DefaultDurability) }

// CommitWith is Commit with a durability of this commit. ErrFailedPrecondition: the database was opened without
// durability, so GroupDurability and CommitDurability are refused and the transaction goes on.
func (tx *Tx) CommitWith(durability Durability) error {
	return tx.finish(func(t *transaction) error { return t.commit(durability) })
}

// IsVainToRepeat reports, after an ErrAborted of Put, Insert, Delete or GetForUpdate, whether running the transaction
// again would end in the same way: one other transaction has kept the key locked for lock-wait-ms, or a transaction
// of the same thread holds it. A loop around Begin must end then; Update does.
func (tx *Tx) IsVainToRepeat() bool {
	if tx == nil || tx.t == nil {
		return false
	}
	_, isVain := tx.t.wasAborted()
	return isVain
}

// Rollback undoes everything. Deferred after a Commit it has no effect but ErrTxDone.
func (tx *Tx) Rollback() error { return tx.finish((*transaction).rollback) }

func (tx *Tx) finish(end func(*transaction) error) error {
	if tx == nil || tx.t == nil {
		return errNil
	}
	if tx.managed {
		return errManaged
	}
	err := end(tx.t)
	if tx.t.isOver.Load() {
		runtime.SetFinalizer(tx, nil)
	}
	return err
}
