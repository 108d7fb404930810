package latchkey

// #include "latchkey_go.h"
import "C"

import (
	"sync"
	"sync/atomic"
)

// transaction is what a Tx refers to. The database lists the open ones, so that Close ends them.
type transaction struct {
	mu       sync.Mutex // held during each call
	handle   C.lk_txn
	reason   error // of the end; nil: it is open
	isOver   atomic.Bool
	aborted  bool
	inParts  bool          // PutFrom is writing a value
	isVain   bool          // a repetition would wait for the same lock
	changes  atomic.Uint64 // writes so far: a scan that has read ahead reads again
	cursors  []C.lk_cursor // at their places; zero: nobody's place
	places   []int         // nobody's, in cursors
	retired  C.lk_cursor   // closed; the next scan releases it, which saves a call of C
	previous *transaction  // in the list
	next     *transaction
	list     *transactionList
}

// transactionList is a ring around first.
type transactionList struct {
	mu    sync.Mutex
	first transaction
}

func (l *transactionList) add(t *transaction) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first.next == nil {
		l.first.next, l.first.previous = &l.first, &l.first
	}
	t.list, t.previous, t.next = l, l.first.previous, &l.first
	t.previous.next, t.next.previous = t, t
}

func (l *transactionList) remove(t *transaction) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.previous.next, t.next.previous = t.next, t.previous
}

func (l *transactionList) all() (open []*transaction) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for t := l.first.next; t != nil && t != &l.first; t = t.next {
		open = append(open, t)
	}
	return open
}

// enter begins a call; the caller ends it with leave.
func (t *transaction) enter() (*scratch, error) {
	t.mu.Lock()
	if t.reason != nil {
		err := t.reason
		t.mu.Unlock()
		return nil, err
	}
	return takeScratch(), nil
}

func (t *transaction) leave(s *scratch, code C.lk_code) (err error) {
	switch code {
	case C.LK_OK:
	case C.LK_NOT_FOUND:
		err = ErrNotFound
	default:
		err = s.failure(code)
		if code == C.LK_ABORTED {
			t.aborted = true
			t.isVain = C.lk_txn_is_vain_to_repeat(t.handle) != 0
		}
	}
	s.give()
	t.mu.Unlock()
	return err
}

// finish ends the transaction by end(), unless it is over already.
func (t *transaction) finish(reason error, end func()) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reason != nil {
		return t.reason
	}
	t.end(reason)
	end()
	return nil
}

// end releases what the transaction holds but its handle. REQUIRES: mu.
func (t *transaction) end(reason error) {
	for _, cursor := range append(t.cursors, t.retired) {
		if cursor.id != 0 {
			C.lk_cursor_release(cursor, nil)
		}
	}
	t.cursors, t.places, t.retired.id = nil, nil, 0
	t.reason = reason
	t.isOver.Store(true)
	t.changes.Add(1) // a scan that has read ahead looks at the reason
	t.list.remove(t)
}

func (t *transaction) rollback() error {
	return t.finish(ErrTxDone, func() { C.lk_txn_rollback(t.handle, nil) })
}

func (t *transaction) commit(durability Durability) error {
	s, err := t.enter()
	if err != nil {
		return err
	}
	if t.inParts {
		t.leave(s, C.LK_OK)
		return errPartsOpen
	}
	// With options, a commit that returned one of these has left the transaction open, or it was over before.
	code := C.lkgo_commit(t.handle, C.int(durability), s.c)
	goesOn := code == C.LK_RESOURCE_EXHAUSTED || code == C.LK_INVALID_ARGUMENT ||
		code == C.LK_FAILED_PRECONDITION && durability > NoDurability && !t.aborted
	if !goesOn {
		t.end(ErrTxDone)
	}
	return t.leave(s, code)
}

// addCursor returns the place of the cursor. REQUIRES: mu.
func (t *transaction) addCursor(cursor C.lk_cursor) (place int) {
	if last := len(t.places) - 1; last >= 0 {
		place, t.places = t.places[last], t.places[:last]
		t.cursors[place] = cursor
		return place
	}
	t.cursors = append(t.cursors, cursor)
	return len(t.cursors) - 1
}

// has reports whether the cursor is open: neither closed nor released by the end of the transaction. REQUIRES: mu.
func (t *transaction) has(cursor C.lk_cursor, place int) bool {
	return place < len(t.cursors) && t.cursors[place] == cursor && cursor.id != 0
}

// releaseCursor has no effect if the end of the transaction released it. The last cursor that was closed stays in C's
// memory until the next one is.
func (t *transaction) releaseCursor(cursor C.lk_cursor, place int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.has(cursor, place) {
		return
	}
	t.cursors[place].id = 0
	t.places = append(t.places, place)
	if t.retired.id != 0 {
		C.lk_cursor_release(t.retired, nil)
	}
	t.retired = cursor
}

// takeRetired returns a cursor for the caller to release, or zero. REQUIRES: mu.
func (t *transaction) takeRetired() (cursor C.lk_cursor) {
	cursor, t.retired.id = t.retired, 0
	return cursor
}

// wasAborted reports whether the library aborted the transaction, and whether a repetition would wait for the
// same lock.
func (t *transaction) wasAborted() (aborted, isVain bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.aborted, t.isVain
}

func (t *transaction) endReason() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reason
}
