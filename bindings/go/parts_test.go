package latchkey_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand"
	"testing"
	"testing/iotest"

	"latchkey"
)

func TestAValueIsWrittenAndReadInParts(t *testing.T) {
	db, tree := memory(t)
	value := make([]byte, 5<<20)
	rand.New(rand.NewSource(1)).Read(value)
	ok(t, db.Update(func(tx *latchkey.Tx) error {
		size, err := tx.PutFrom(tree, []byte("film"), iotest.HalfReader(bytes.NewReader(value)))
		same(t, size, int64(len(value)))
		return err
	}))
	ok(t, db.View(func(tx *latchkey.Tx) error {
		part := make([]byte, 10)
		n, size, err := tx.GetPart(tree, []byte("film"), uint64(len(value)-4), part)
		ok(t, err)
		same(t, size, uint64(len(value)))
		same(t, part[:n], value[len(value)-4:])
		_, err = tx.ValueReader(tree, []byte("none"))
		is(t, err, latchkey.ErrNotFound)
		reader, err := tx.ValueReader(tree, []byte("film"))
		ok(t, err)
		all, err := io.ReadAll(io.NewSectionReader(reader, 0, reader.Size()))
		ok(t, err)
		if !bytes.Equal(all, value) {
			t.Error("the value was read in parts, and is another")
		}
		_, err = reader.ReadAt(part, reader.Size())
		is(t, err, io.EOF)
		_, err = reader.ReadAt(part, -1)
		is(t, err, latchkey.ErrInvalidArgument)
		_, err = (*latchkey.ValueReader)(nil).ReadAt(part, 0)
		is(t, err, latchkey.ErrInvalidArgument)
		_, err = tx.PutFrom(tree, []byte("film"), bytes.NewReader(nil))
		is(t, err, latchkey.ErrFailedPrecondition)
		return nil
	}))
	ok(t, db.Verify())
}

// reading gives what its function gives.
type reading func([]byte) (int, error)

func (r reading) Read(part []byte) (int, error) { return r(part) }

func TestAReaderThatFailsLeavesTheOldValue(t *testing.T) {
	db, tree := memory(t)
	key := []byte("key")
	ok(t, tree.Put(key, []byte("old")))
	wrong := errors.New("wrong")
	tx, err := db.Begin(latchkey.TxOptions{})
	ok(t, err)
	left := 3
	_, err = tx.PutFrom(tree, key, reading(func(part []byte) (int, error) {
		// The reader may use the transaction, which cannot end meanwhile.
		value, err := tx.Get(tree, key)
		ok(t, err)
		same(t, value, []byte("old"))
		is(t, tx.Commit(), latchkey.ErrFailedPrecondition)
		_, err = tx.PutFrom(tree, []byte("other"), bytes.NewReader(nil))
		is(t, err, latchkey.ErrFailedPrecondition)
		if left--; left == 0 {
			return 0, wrong
		}
		return len(part), nil
	}))
	is(t, err, wrong)
	_, err = tx.PutFrom(tree, key, nil)
	is(t, err, latchkey.ErrInvalidArgument)
	func() {
		defer func() { recover() }()
		tx.PutFrom(tree, key, reading(func([]byte) (int, error) { panic("away") }))
	}()
	_, err = tx.PutFrom(tree, key, reading(func([]byte) (int, error) {
		ok(t, tx.Rollback())
		return 0, io.EOF
	}))
	is(t, err, latchkey.ErrTxDone)
	value, err := tree.Get(key)
	ok(t, err)
	same(t, value, []byte("old"))
	ok(t, db.Verify())
}
