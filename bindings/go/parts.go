package latchkey

// #include "latchkey_go.h"
import "C"

import (
	"errors"
	"io"
)

// Values in parts: a value of many MiB is written and read without memory for all of it.

const partSize = 1 << 20

var errPartsOpen = &Error{FailedPrecondition, "PutFrom is writing a value in this transaction: one at a time, and no " +
	"commit before it has returned"}

// PutFrom is Put of all that r gives until io.EOF. It returns the size of the value. The key is locked from the start,
// and keeps its value until r has ended. After an error of r, which is returned, it keeps it for good, and the
// transaction goes on. r may use the transaction, but for another PutFrom and Commit.
func (tx *Tx) PutFrom(tree *Tree, key []byte, r io.Reader) (size int64, err error) {
	if r == nil {
		return 0, &Error{InvalidArgument, "the reader is nil: pass one that gives the value"}
	}
	s, err := tx.enter(tree)
	if err != nil {
		return 0, err
	}
	if tx.t.inParts {
		tx.t.leave(s, C.LK_OK)
		return 0, errPartsOpen
	}
	tx.t.changes.Add(1)
	code := C.lkgo_put_begin(tx.t.handle, tree.handle, pointerTo(key), sizeOf(key), s.c)
	tx.t.inParts = code == C.LK_OK
	if err := tx.t.leave(s, code); err != nil {
		return 0, err
	}
	isFinished := false
	defer func() { // also of a panic of r
		tx.t.mu.Lock()
		defer tx.t.mu.Unlock()
		tx.t.inParts = false
		if !isFinished && tx.t.reason == nil {
			C.lk_txn_put_give_up(tx.t.handle, nil)
		}
	}()
	part := make([]byte, partSize)
	for {
		n, readErr := io.ReadFull(r, part)
		if n > 0 {
			err := tx.inTransaction(func(s *scratch) C.lk_code {
				return C.lkgo_put_append(tx.t.handle, pointerTo(part[:n]), C.size_t(n), s.c)
			})
			if err != nil {
				return size, err
			}
			size += int64(n)
		}
		if errors.Is(readErr, io.EOF) || errors.Is(readErr, io.ErrUnexpectedEOF) {
			break
		}
		if readErr != nil {
			return size, readErr
		}
	}
	isFinished = true
	return size, tx.inTransaction(func(s *scratch) C.lk_code {
		tx.t.changes.Add(1)
		return C.lk_txn_put_finish(tx.t.handle, &s.c.error)
	})
}

func (tx *Tx) inTransaction(call func(*scratch) C.lk_code) error {
	s, err := tx.t.enter()
	if err != nil {
		return err
	}
	return tx.t.leave(s, call(s))
}

// GetPart copies the value from byte offset on into part, as much as there is of it, and returns how much that was and
// the size of the whole value. It has no error at the end of the value.
func (tx *Tx) GetPart(tree *Tree, key []byte, offset uint64, part []byte) (n int, size uint64, err error) {
	s, err := tx.enter(tree)
	if err != nil {
		return 0, 0, err
	}
	var whole C.uint64_t
	code := C.lkgo_get_part(tx.t.handle, tree.handle, pointerTo(key), sizeOf(key), C.uint64_t(offset), C.size_t(len(part)),
		&whole, s.c)
	if code == C.LK_OK {
		n = copy(part, s.view())
	}
	return n, uint64(whole), tx.t.leave(s, code)
}

// ValueReader reads the value of one key in parts; with io.NewSectionReader it is an io.Reader. It lives as long as its
// transaction, and reads what that reads at each call.
type ValueReader struct {
	tx   *Tx
	tree *Tree
	key  []byte
	size int64
}

// ValueReader returns a reader of the value of the key, or ErrNotFound.
//
//	reader, err := tx.ValueReader(tree, key)
//	if err != nil { ... }
//	_, err = io.Copy(file, io.NewSectionReader(reader, 0, reader.Size()))
func (tx *Tx) ValueReader(tree *Tree, key []byte) (*ValueReader, error) {
	_, size, err := tx.GetPart(tree, key, 0, nil)
	if err != nil {
		return nil, err
	}
	return &ValueReader{tx, tree, append([]byte(nil), key...), int64(size)}, nil
}

// Size returns the size of the value when the reader was made.
func (r *ValueReader) Size() int64 { return r.size }

// ReadAt is io.ReaderAt's.
func (r *ValueReader) ReadAt(part []byte, offset int64) (int, error) {
	if r == nil || r.tx == nil {
		return 0, errNil
	}
	if offset < 0 {
		return 0, &Error{InvalidArgument, "the offset of a read is below 0"}
	}
	n, _, err := r.tx.GetPart(r.tree, r.key, uint64(offset), part)
	if err == nil && n < len(part) {
		err = io.EOF
	}
	return n, err
}
