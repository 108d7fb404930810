package latchkey

// #include "latchkey_go.h"
import "C"

import (
	"encoding/binary"
	"sync"
)

// Records that one call of the library reads, and the memory for them: little at first, so that a short scan reads
// little in vain.
const (
	firstBatch      = 12
	mostBatch       = 1024
	firstBatchBytes = 2 << 10
	mostBatchBytes  = 64 << 10
	mostLentBytes   = 16 << 10 // stays in the processor's first cache
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
	tx     *Tx
	handle C.lk_cursor
	place  int // in the list of the transaction
	step   C.int
	isOver bool
	ownsTx bool
	t      *transaction
	batch  int
	room   int    // bytes for a batch
	lends  bool   // the buffer is used again: nobody keeps the records
	seen   uint64 // changes of the transaction when packed was read
	packed []byte // the records of a batch
	next   int    // where the next record begins in packed
	record        // the one that it stands on
	buffer *lent  // if it lends
	err    error
}

// record is where a record lies in a batch. Numbers, not slices: to store a slice costs a write barrier.
type record struct {
	at, end int // its sizes begin at `at`; end == 0: there is no record
}

// split returns the key and the value of the record.
func (r record) split(packed []byte) (key, value []byte) {
	sizes := binary.LittleEndian.Uint64(packed[r.at:])
	middle := r.at + sizesOfRecord + int(uint32(sizes))
	return packed[r.at+sizesOfRecord : middle : middle], packed[middle:r.end:r.end]
}

const sizesOfRecord = 8

// lent is memory of scans that lend. A scan gives it back at its end, but for the record that it still lends: a loop over
// Next that was left early may use its last record.
type lent struct{ bytes []byte }

var lentBuffers = sync.Pool{New: func() any { return &lent{make([]byte, mostLentBytes)} }}

func (s *Scan) giveBuffer() {
	buffer := s.buffer
	if buffer == nil {
		return
	}
	s.buffer = nil
	if isInBuffer := s.end != 0 && &s.packed[0] == &buffer.bytes[0]; isInBuffer {
		buffer.bytes = buffer.bytes[s.end:]
	}
	if len(buffer.bytes) >= firstBatchBytes {
		lentBuffers.Put(buffer)
	}
}

// Scan returns a scan that stands before the range.
func (tx *Tx) Scan(tree *Tree, r Range) *Scan { return tx.scan(tree, r, r.Lend) }

// ForEach calls function for each record of the range until it returns an error, and returns that error. key and value
// are only valid during the call: so it allocates nothing for a record, and is faster than a Scan. function may use the
// transaction; what it writes ahead is shown.
func (tx *Tx) ForEach(tree *Tree, r Range, function func(key, value []byte) error) error {
	return forEach(tx.scan(tree, r, true), function)
}

// ForEach is Tx.ForEach in one snapshot.
func (t *Tree) ForEach(r Range, function func(key, value []byte) error) error {
	return forEach(t.scan(r, true), function)
}

func forEach(s *Scan, function func(key, value []byte) error) error {
	defer s.finish()
	if function == nil {
		return errNoFunction
	}
	var stopped error
	s.each(func(key, value []byte) bool {
		err := function(key, value)
		if err != nil {
			stopped = err // not at each record: a store to the heap
		}
		return err == nil
	})
	if stopped != nil {
		return stopped
	}
	return s.err
}

// each calls yield for the records that are left, until it returns false. The same as Next, Key and Value in a loop,
// without their calls for the records at hand. yield may move the scan.
func (s *Scan) each(yield func(key, value []byte) bool) {
	for {
		for s.next < len(s.packed) && s.t.changes.Load() == s.seen {
			packed, at := s.packed, s.next
			sizes := binary.LittleEndian.Uint64(packed[at:])
			key := packed[at+sizesOfRecord:]
			value := key[uint32(sizes):]
			key, value = key[:uint32(sizes):uint32(sizes)], value[:sizes>>32:sizes>>32]
			s.at = at
			s.end = at + sizesOfRecord + len(key) + len(value)
			s.next = s.end
			if !yield(key, value) {
				return
			}
		}
		if !s.more() || !yield(s.Key(), s.Value()) {
			return
		}
	}
}

func (tx *Tx) scan(tree *Tree, r Range, lends bool) *Scan {
	s := &Scan{tx: tx, step: 1, batch: firstBatch, room: firstBatchBytes, lends: lends}
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
	s.t = s.tx.t
	buffer := s.takeBuffer()
	code := C.lkgo_scan_new(s.t.handle, s.t.takeRetired(), tree.handle, rangeOf(from, to), pointerTo(from), pointerTo(to), s.step,
		C.size_t(s.batch), pointerTo(buffer), sizeOf(buffer), memory.c)
	if code == C.LK_OK {
		s.handle = memory.c.cursor
		s.place = s.t.addCursor(s.handle)
	}
	return s.take(memory, buffer, code)
}

// takeBuffer returns memory for a batch.
func (s *Scan) takeBuffer() []byte {
	if !s.lends {
		return make([]byte, s.room)
	}
	if s.buffer == nil {
		s.buffer = lentBuffers.Get().(*lent)
	}
	if len(s.buffer.bytes) < s.room {
		s.buffer.bytes = make([]byte, mostLentBytes)
	}
	return s.buffer.bytes[:s.room]
}

// take keeps the records that were read into buffer and ends the call. A record that is larger gets a buffer of its
// size.
func (s *Scan) take(memory *scratch, buffer []byte, code C.lk_code) error {
	if code == C.LK_OK && memory.c.count == 0 {
		buffer = make([]byte, memory.c.size)
		code = C.lkgo_scan(s.handle, s.step, C.LKGO_ON, nil, 0, 1, pointerTo(buffer), sizeOf(buffer), memory.c)
	}
	if code == C.LK_OK {
		s.packed, s.next = buffer[:memory.c.size:memory.c.size], 0
		s.seen = s.t.changes.Load()
	}
	err := s.t.leave(memory, code)
	if code == C.LK_NOT_FOUND { // the end of the range; a write may put a record behind it
		return nil
	}
	return err
}

// Next moves to the next record. False at the end and after an error; Err tells the two apart.
func (s *Scan) Next() bool {
	if s == nil || s.next >= len(s.packed) || s.t.changes.Load() != s.seen {
		return s.more()
	}
	s.show()
	return true
}

// show moves to the next of the records that were read.
func (s *Scan) show() {
	sizes := binary.LittleEndian.Uint64(s.packed[s.next:])
	s.at = s.next
	s.end = s.at + sizesOfRecord + int(uint32(sizes)) + int(sizes>>32)
	s.next = s.end
}

// more is Next when no record is at hand.
func (s *Scan) more() bool {
	if s == nil || s.err != nil || s.isOver {
		return false
	}
	if s.tx == nil {
		s.err = errNil
		return false
	}
	if s.t.isOver.Load() {
		s.err = s.t.endReason()
		return s.stop()
	}
	if !s.refill(s.t.changes.Load() != s.seen) {
		return s.stop()
	}
	s.show()
	return true
}

func (s *Scan) stop() bool {
	s.finish()
	return false
}

// refill reads further records; false if there are none. The records that were read before a change of the
// transaction are dropped.
func (s *Scan) refill(hasChanged bool) bool {
	if s.handle.id == 0 {
		return false
	}
	if hasChanged {
		s.batch, s.room = 1, firstBatchBytes
	} else {
		s.batch, s.room = atMost(2*s.batch, mostBatch), atMost(4*s.room, s.mostRoom())
	}
	seek := C.int(C.LKGO_ON)
	if hasChanged && s.end != 0 {
		seek = C.LKGO_BEHIND
	} else if hasChanged {
		seek = C.LKGO_START
	}
	memory, err := s.t.enter()
	if err != nil {
		s.err = err
		return false
	}
	last, buffer := s.Key(), s.takeBuffer()
	s.packed, s.next = nil, 0
	code := C.lkgo_scan(s.handle, s.step, seek, pointerTo(last), sizeOf(last), C.size_t(s.batch), pointerTo(buffer),
		sizeOf(buffer), memory.c)
	s.err = s.take(memory, buffer, code)
	return len(s.packed) > 0
}

func (s *Scan) mostRoom() int {
	if s.lends {
		return mostLentBytes
	}
	return mostBatchBytes
}

func atMost(number, most int) int {
	if number > most {
		return most
	}
	return number
}

// Key returns the key of the record; nil if there is none. It is the caller's to keep, not to change. With Range.Lend
// it is valid until the next call of Next.
func (s *Scan) Key() []byte {
	if s == nil || s.end == 0 {
		return nil
	}
	key, _ := s.split(s.packed)
	return key
}

// Value returns the value of the record, as Key.
func (s *Scan) Value() []byte {
	if s == nil || s.end == 0 {
		return nil
	}
	_, value := s.split(s.packed)
	return value
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
	s.next = len(s.packed)
	if s.handle.id != 0 {
		s.t.releaseCursor(s.handle, s.place)
		s.handle.id = 0
	}
	s.giveBuffer()
	if s.ownsTx {
		s.ownsTx = false
		s.tx.Rollback()
	}
	return s.err
}

// finish is Close when no record is lent any more.
func (s *Scan) finish() {
	if s != nil {
		s.packed, s.next, s.record = nil, 0, record{}
		s.Close()
	}
}
