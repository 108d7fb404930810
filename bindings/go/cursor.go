package latchkey

// #include "latchkey_go.h"
import "C"

// Cursor walks through a range in both directions. A move returns whether the cursor stands on a record; if
// not, Err tells an error from the end of the range. It ends with its transaction. One goroutine at a time may
// use it. For a walk from one end to the other a Scan is faster.
type Cursor struct {
	tx         *Tx // so that it is not collected
	t          *transaction
	handle     C.lk_cursor
	place      int        // in the list of the transaction
	key, value C.lk_bytes // C's memory, valid while it stands on a record of an open transaction
	stands     bool
	err        error
}

// Cursor returns a cursor that stands before the range. Close it, or end the transaction.
func (tx *Tx) Cursor(tree *Tree, r Range) (*Cursor, error) {
	from, to, err := r.bounds()
	if err != nil {
		return nil, err
	}
	s, err := tx.enter(tree)
	if err != nil {
		return nil, err
	}
	c := &Cursor{tx: tx, t: tx.t}
	code := C.lkgo_cursor_create(tx.t.handle, tree.handle, rangeOf(from, to), pointerTo(from), pointerTo(to), s.c)
	if code == C.LK_OK {
		c.handle = s.c.cursor
		c.place = tx.t.addCursor(c.handle)
	}
	if err := tx.t.leave(s, code); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Cursor) move(move C.int, key []byte) bool {
	if c == nil {
		return false
	}
	c.stands = false
	if c.t == nil {
		c.err = errNil
		return false
	}
	s, err := c.t.enter()
	if err != nil {
		c.err = err
		return false
	}
	if !c.t.has(c.handle, c.place) {
		c.t.leave(s, C.LK_OK)
		c.err = errCursorDone
		return false
	}
	code := C.lkgo_move(c.handle, move, pointerTo(key), sizeOf(key), s.c)
	c.key, c.value = s.c.key, s.c.record
	c.stands = code == C.LK_OK
	c.err = c.t.leave(s, code)
	if code == C.LK_NOT_FOUND {
		c.err = nil
	}
	return c.stands
}

// First moves to the first record of the range.
func (c *Cursor) First() bool { return c.move(C.LKGO_FIRST, nil) }

// Last moves to the last record of the range.
func (c *Cursor) Last() bool { return c.move(C.LKGO_LAST, nil) }

// Seek moves to the first key >= key.
func (c *Cursor) Seek(key []byte) bool { return c.move(C.LKGO_SEEK, key) }

// SeekForPrev moves to the last key <= key.
func (c *Cursor) SeekForPrev(key []byte) bool { return c.move(C.LKGO_SEEK_FOR_PREV, key) }

// Next moves to the next record. Before the first seek, and behind the range, it is an error.
func (c *Cursor) Next() bool { return c.move(C.LKGO_NEXT, nil) }

// Prev moves to the record before.
func (c *Cursor) Prev() bool { return c.move(C.LKGO_PREV, nil) }

// Key returns a copy of the key; nil if the cursor stands on no record or its transaction is over.
func (c *Cursor) Key() []byte { return c.copy(func() C.lk_bytes { return c.key }) }

// Value returns a copy of the value; nil as Key.
func (c *Cursor) Value() []byte { return c.copy(func() C.lk_bytes { return c.value }) }

func (c *Cursor) copy(part func() C.lk_bytes) []byte {
	if c == nil || c.t == nil || !c.stands {
		return nil
	}
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	if !c.t.has(c.handle, c.place) {
		return nil
	}
	bytes := part()
	return copyOf(viewOf(bytes.data, bytes.size))
}

// Err returns the error of the last move; nil at the end of the range.
func (c *Cursor) Err() error {
	if c == nil {
		return errNil
	}
	return c.err
}

// Close releases the cursor. A second Close returns an error.
func (c *Cursor) Close() error {
	if c == nil || c.t == nil {
		return errNil
	}
	s, err := c.t.enter()
	if err != nil {
		return err
	}
	ok := c.t.has(c.handle, c.place)
	c.t.leave(s, C.LK_OK)
	if !ok {
		return errCursorDone
	}
	c.stands = false
	c.t.releaseCursor(c.handle, c.place)
	return nil
}
