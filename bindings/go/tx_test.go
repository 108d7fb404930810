package latchkey_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"latchkey"
)

func TestATransactionReadsItsOwnWritesAndOneSnapshot(t *testing.T) {
	db, tree := memory(t)
	ok(t, tree.Put([]byte("a"), []byte("1")))
	tx, err := db.Begin(latchkey.TxOptions{})
	ok(t, err)
	ok(t, tx.Prefetch(tree, []byte("a"), []byte("b")))
	value, err := tx.Get(tree, []byte("a"))
	ok(t, err)
	same(t, value, []byte("1"))
	ok(t, tree.Put([]byte("c"), []byte("later")))
	ok(t, tx.Put(tree, []byte("b"), []byte("2")))
	_, err = tx.Get(tree, []byte("c"))
	is(t, err, latchkey.ErrNotFound)
	is(t, tx.Insert(tree, []byte("b"), nil), latchkey.ErrAlreadyExists)
	point, err := tx.Savepoint()
	ok(t, err)
	ok(t, tx.Delete(tree, []byte("a")))
	is(t, tx.Delete(tree, []byte("a")), latchkey.ErrNotFound)
	ok(t, tx.RollbackTo(point))
	is(t, tx.RollbackTo(latchkey.Savepoint{}), latchkey.ErrInvalidArgument)
	same(t, keys(t, tx.Scan(tree, latchkey.Range{})), []string{"a", "b"})
	ok(t, tx.Commit())
	is(t, tx.Rollback(), latchkey.ErrTxDone)
	same(t, keys(t, tree.Scan(latchkey.Range{})), []string{"a", "b", "c"})
}

func TestUpdateCommitsAndRollsBackAfterAnError(t *testing.T) {
	db, tree := memory(t)
	wrong := errors.New("wrong")
	put := func(then func() error) func(*latchkey.Tx) error {
		return func(tx *latchkey.Tx) error {
			ok(t, tx.Put(tree, []byte("a"), nil))
			is(t, tx.Commit(), latchkey.ErrFailedPrecondition)
			return then()
		}
	}
	is(t, db.Update(put(func() error { return wrong })), wrong)
	func() {
		defer func() { recover() }()
		db.Update(put(func() error { panic("away") }))
	}()
	_, err := tree.Get([]byte("a"))
	is(t, err, latchkey.ErrNotFound)
	ok(t, db.Update(put(func() error { return nil })))
	_, err = tree.Get([]byte("a"))
	ok(t, err)
	is(t, db.View(func(tx *latchkey.Tx) error { return tx.Put(tree, []byte("b"), nil) }), latchkey.ErrFailedPrecondition)
}

func count(tree *latchkey.Tree) func(*latchkey.Tx) error {
	return func(tx *latchkey.Tx) error {
		text, err := tx.Get(tree, []byte("n"))
		if err != nil {
			return err
		}
		number, err := strconv.Atoi(string(text))
		if err != nil {
			return err
		}
		return tx.Put(tree, []byte("n"), []byte(strconv.Itoa(number+1)))
	}
}

func TestUpdateRepeatsWhatWasAborted(t *testing.T) {
	db, tree := memory(t)
	ok(t, tree.Put([]byte("n"), []byte("0")))
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for j := 0; j < 25; j++ {
				if err := db.Update(count(tree)); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	group.Wait()
	value, err := tree.Get([]byte("n"))
	ok(t, err)
	same(t, value, []byte("200"))
}

// A goroutine on the thread that another one's transaction used last was refused instead of made to wait.
func TestAPutWaitsForTheTransactionOfAnotherGoroutineOnItsThread(t *testing.T) {
	db, tree := memory(t)
	for i := 0; i < 20; i++ {
		tx, err := db.Begin(latchkey.TxOptions{})
		ok(t, err)
		ok(t, tx.Put(tree, []byte("k"), []byte("first")))
		go func() {
			time.Sleep(2 * time.Millisecond)
			tx.Commit()
		}()
		ok(t, tree.Put([]byte("k"), []byte("second")))
		value, err := tree.Get([]byte("k"))
		ok(t, err)
		same(t, value, []byte("second"))
	}
}

func TestAPutOfALockedKeyEndsAfterTheLockWait(t *testing.T) {
	db, tree := memory(t)
	tx, err := db.Begin(latchkey.TxOptions{})
	ok(t, err)
	ok(t, tx.Put(tree, []byte("k"), nil))
	is(t, tree.Put([]byte("k"), nil), latchkey.ErrAborted)
	ok(t, tx.Rollback())
}

func TestRunEndsWithItsContext(t *testing.T) {
	db, tree := memory(t)
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	err := db.Run(ctx, latchkey.TxOptions{}, func(tx *latchkey.Tx) error {
		if calls++; calls == 3 {
			cancel()
		}
		return latchkey.ErrAborted
	})
	is(t, err, context.Canceled)
	same(t, calls, 3)
	is(t, db.Run(ctx, latchkey.TxOptions{}, func(*latchkey.Tx) error { calls++; return nil }), context.Canceled)
	same(t, calls, 3)
	ctx, cancel = context.WithCancel(context.Background())
	err = db.Run(ctx, latchkey.TxOptions{}, func(tx *latchkey.Tx) error {
		cancel()
		return tx.Put(tree, []byte("a"), nil)
	})
	is(t, err, context.Canceled)
	_, err = tree.Get([]byte("a"))
	is(t, err, latchkey.ErrNotFound)
}

func TestASerializableTransactionIsAbortedByWriteSkew(t *testing.T) {
	db, tree := memory(t)
	fill(t, db, tree, 2)
	tx, err := db.Begin(latchkey.TxOptions{Isolation: latchkey.Serializable})
	ok(t, err)
	_, err = tx.Get(tree, key(0))
	ok(t, err)
	ok(t, tree.Put(key(0), []byte("changed")))
	ok(t, tx.Put(tree, key(1), []byte("by it")))
	is(t, tx.Commit(), latchkey.ErrAborted)
	_, err = db.Begin(latchkey.TxOptions{Isolation: 99})
	is(t, err, latchkey.ErrInvalidArgument)
}
