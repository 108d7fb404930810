package latchkey

// #include "latchkey_go.h"
import "C"

import (
	"errors"
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
	changes  atomic.Uint64 // writes so far: a scan that has read ahead reads again
	cursors  map[C.lk_cursor]struct{}
	previous *transaction // in the list
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
		t.aborted = t.aborted || code == C.LK_ABORTED
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
	for cursor := range t.cursors {
		C.lk_cursor_release(cursor, nil)
	}
	t.cursors = nil
	t.reason = reason
	t.isOver.Store(true)
	t.list.remove(t)
}

func (t *transaction) rollback() error {
	return t.finish(ErrTxDone, func() { C.lk_txn_rollback(t.handle, nil) })
}

func (t *transaction) commit() error {
	s, err := t.enter()
	if err != nil {
		return err
	}
	code := C.lk_txn_commit(t.handle, &s.c.error)
	if code != C.LK_RESOURCE_EXHAUSTED { // then it is still open
		t.end(ErrTxDone)
	}
	return t.leave(s, code)
}

func (t *transaction) addCursor(cursor C.lk_cursor) {
	if t.cursors == nil {
		t.cursors = map[C.lk_cursor]struct{}{}
	}
	t.cursors[cursor] = struct{}{}
}

// releaseCursor has no effect if the end of the transaction released it.
func (t *transaction) releaseCursor(cursor C.lk_cursor) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.cursors[cursor]; ok {
		delete(t.cursors, cursor)
		C.lk_cursor_release(cursor, nil)
	}
}

// wasAborted reports whether running the transaction again may help.
func (t *transaction) wasAborted(err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.aborted || errors.Is(err, ErrAborted)
}

func (t *transaction) endReason() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reason
}
