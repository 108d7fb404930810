package latchkey

// #include "latchkey_go.h"
import "C"

import "encoding/binary"

// Records that one call of the library reads: few at first, so that a short scan reads little in vain.
const (
	firstBatch     = 12
	mostBatch      = 512
	mostBatchBytes = 64 << 10
)

// Scan walks through a range in one direction:
//
//	scan := tx.Scan(tree, latchkey.Range{})
//	defer scan.Close()
//	for scan.Next() {
//		use(scan.Key(), scan.Value())
//	}
//	return scan.Err()
//
// It shows what its transaction writes ahead of it meanwhile. One goroutine at a time may use it.
type Scan struct {
	tx         *Tx
	handle     C.lk_cursor
	step       C.int
	isStarted  bool
	isOver     bool
	ownsTx     bool
	batch      int
	seen       uint64 // changes of the transaction when packed was read
	packed     []byte // records that were not returned yet
	key, value []byte
	err        error
}

// Scan returns a scan that stands before the range.
func (tx *Tx) Scan(tree *Tree, r Range) *Scan {
	s := &Scan{tx: tx, step: 1, batch: firstBatch}
	if r.Reverse {
		s.step = -1
	}
	from, to, err := r.bounds()
	if err == nil {
		s.err = s.start(tree, from, to)
	} else {
		s.err = err
	}
	s.isOver = s.err != nil
	return s
}

// start creates the cursor and reads the first records.
func (s *Scan) start(tree *Tree, from, to []byte) error {
	memory, err := s.tx.enter(tree)
	if err != nil {
		return err
	}
	t := s.tx.t
	code := C.lkgo_scan_new(t.handle, tree.handle, rangeOf(from, to), pointerTo(from), pointerTo(to), s.step,
		C.size_t(s.batch), mostBatchBytes, memory.c)
	return s.take(memory, code)
}

// take copies the records that were read and ends the call.
func (s *Scan) take(memory *scratch, code C.lk_code) error {
	t := s.tx.t
	if code == C.LK_OK {
		if s.handle.id == 0 {
			s.handle = memory.c.cursor
			t.addCursor(s.handle)
		}
		s.packed = copyOf(memory.view())
		s.seen = t.changes.Load()
	}
	err := t.leave(memory, code)
	if code == C.LK_NOT_FOUND { // the end of the range; a write may put a record behind it
		return nil
	}
	return err
}

// Next moves to the next record. False at the end and after an error; Err tells the two apart.
func (s *Scan) Next() bool {
	if s == nil || s.err != nil || s.isOver {
		return false
	}
	if s.tx == nil {
		s.err = errNil
		return false
	}
	if s.tx.t.isOver.Load() {
		s.err = s.tx.t.endReason()
		return s.stop()
	}
	hasChanged := s.tx.t.changes.Load() != s.seen
	if len(s.packed) == 0 || hasChanged {
		if !s.refill(hasChanged) {
			return s.stop()
		}
	}
	key := int(binary.LittleEndian.Uint32(s.packed))
	value := int(binary.LittleEndian.Uint32(s.packed[4:]))
	end := 8 + key + value
	s.key, s.value = s.packed[8:8+key:8+key], s.packed[8+key:end:end]
	s.packed = s.packed[end:]
	s.isStarted = true
	return true
}

func (s *Scan) stop() bool {
	s.key, s.value, s.packed = nil, nil, nil
	s.Close()
	return false
}

// refill reads further records; false if there are none. The records that were read before a change of the
// transaction are dropped.
func (s *Scan) refill(hasChanged bool) bool {
	s.packed = nil
	if s.handle.id == 0 {
		return false
	}
	if hasChanged {
		s.batch = 1
	} else if s.batch < mostBatch {
		s.batch *= 2
	}
	seek := C.int(C.LKGO_ON)
	if hasChanged && s.isStarted {
		seek = C.LKGO_BEHIND
	} else if hasChanged {
		seek = C.LKGO_START
	}
	memory, err := s.tx.t.enter()
	if err != nil {
		s.err = err
		return false
	}
	code := C.lkgo_scan(s.handle, s.step, seek, pointerTo(s.key), sizeOf(s.key), C.size_t(s.batch), mostBatchBytes,
		memory.c)
	s.err = s.take(memory, code)
	return len(s.packed) > 0
}

// Key returns the key of the record; nil if there is none. It is the caller's to keep, not to change.
func (s *Scan) Key() []byte {
	if s == nil {
		return nil
	}
	return s.key
}

// Value returns the value of the record, as Key.
func (s *Scan) Value() []byte {
	if s == nil {
		return nil
	}
	return s.value
}

// Err returns the error that ended the scan; nil after its end and after Close.
func (s *Scan) Err() error {
	if s == nil {
		return errNil
	}
	return s.err
}

// Close ends the scan, at once or again; it returns Err.
func (s *Scan) Close() error {
	if s == nil {
		return errNil
	}
	s.isOver = true
	if s.handle.id != 0 {
		s.tx.t.releaseCursor(s.handle)
		s.handle.id = 0
	}
	if s.ownsTx {
		s.ownsTx = false
		s.tx.Rollback()
	}
	return s.err
}
