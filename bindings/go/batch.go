package latchkey

// #include "latchkey_go.h"
import "C"

import (
	"encoding/binary"
	"unsafe"
)

// Batch is a list of puts and deletes that DB.Write applies together or not at all. Its zero value is empty.
// One goroutine at a time may use it.
type Batch struct {
	// For each operation what lkgo_write reads: the tree's handle, is_delete, sizes of key and value, key,
	// value, without padding.
	packed []byte
	count  int
}

// Put adds a put. key and value are copied.
func (b *Batch) Put(tree *Tree, key, value []byte) error { return b.add(tree, 0, key, value) }

// Delete adds a delete; it has no effect if the key is missing.
func (b *Batch) Delete(tree *Tree, key []byte) error { return b.add(tree, 1, key, nil) }

func (b *Batch) add(tree *Tree, isDelete uint32, key, value []byte) error {
	if b == nil {
		return errNil
	}
	if tree == nil {
		return errNoTree
	}
	if len(key) > MaxKeySize || len(value) > MaxValueSize {
		return invalid("a key has at most 1024 bytes, and a value at most 1 GiB")
	}
	b.packed = append(b.packed, unsafe.Slice((*byte)(unsafe.Pointer(&tree.handle)), unsafe.Sizeof(tree.handle))...)
	var sizes [16]byte
	binary.LittleEndian.PutUint32(sizes[0:], isDelete)
	binary.LittleEndian.PutUint32(sizes[4:], uint32(len(key)))
	binary.LittleEndian.PutUint64(sizes[8:], uint64(len(value)))
	b.packed = append(append(append(b.packed, sizes[:]...), key...), value...)
	b.count++
	return nil
}

// Len returns the number of operations.
func (b *Batch) Len() int {
	if b == nil {
		return 0
	}
	return b.count
}

// Clear empties the batch and keeps its memory.
func (b *Batch) Clear() {
	if b != nil {
		b.packed, b.count = b.packed[:0], 0
	}
}

// Write applies the batch, which may be used again.
func (db *DB) Write(b *Batch) error { return db.WriteWith(b, DefaultDurability) }

// WriteWith is Write with a durability of this commit: CommitWith has its errors.
func (db *DB) WriteWith(b *Batch, durability Durability) error {
	if b == nil {
		return errNil
	}
	return db.write(func(s *scratch) C.lk_code {
		return C.lkgo_write(db.handle, pointerTo(b.packed), sizeOf(b.packed), C.int(durability), s.c)
	})
}
