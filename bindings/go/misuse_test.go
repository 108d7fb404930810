package latchkey_test

import (
	"context"
	"io/fs"
	"runtime"
	"sync"
	"testing"
	"time"

	"latchkey"
)

// calls are all calls of these objects that can fail.
func calls(db *latchkey.DB, tree *latchkey.Tree, tx *latchkey.Tx, c *latchkey.Cursor, scan *latchkey.Scan) map[string]func() error {
	k, p := []byte("k"), latchkey.Savepoint{}
	moved := func(bool) error { return c.Err() }
	drop := func(_ any, err error) error { return err }
	return map[string]func() error{
		"db.Tree":      func() error { _, err := db.Tree("t"); return err },
		"db.FindTree":  func() error { _, err := db.FindTree("t"); return err },
		"db.DropTree":  func() error { return db.DropTree("t") },
		"db.TreeNames": func() error { return drop(db.TreeNames()) }, "db.Begin": func() error { return drop(db.Begin(latchkey.TxOptions{})) },
		"db.Snapshot": func() error { return drop(db.Snapshot()) },
		"db.Update":   func() error { return db.Update(func(*latchkey.Tx) error { return nil }) },
		"db.View":     func() error { return db.View(func(*latchkey.Tx) error { return nil }) },
		"db.Write":    func() error { return db.Write(&latchkey.Batch{}) }, "db.Checkpoint": db.Checkpoint, "db.Verify": db.Verify,
		"db.SetCacheBytes": func() error { return db.SetCacheBytes(1 << 24) }, "db.PageSize": func() error { return drop(db.PageSize()) },
		"db.Device": func() error { return drop(db.Device()) }, "db.Statistics": func() error { return drop(db.Statistics()) },
		"db.ResetStatisticsExtremes": db.ResetStatisticsExtremes,
		"db.Metrics":                 func() error { return drop(db.Metrics(latchkey.JSONMetrics)) },
		"db.Sync":                    db.Sync, "db.RenameTree": func() error { return db.RenameTree("t", "u") },
		"db.WriteWith":  func() error { return db.WriteWith(&latchkey.Batch{}, latchkey.NoDurability) },
		"db.BulkLoader": func() error { return drop(db.BulkLoader("new", latchkey.BulkLoadOptions{})) },
		"db.Compact": func() error {
			return drop(db.Compact(context.Background(), latchkey.CompactOptions{}))
		},
		"db.Backup": func() error {
			return drop(db.Backup(context.Background(), "nowhere", latchkey.BackupOptions{}))
		},
		"tree.GetMany":          func() error { return drop(tree.GetMany(k)) },
		"tree.ApproximateCount": func() error { return drop(tree.ApproximateCount(latchkey.Range{})) },
		"tree.DeleteRange":      func() error { return tree.DeleteRange(latchkey.Range{}) },
		"tree.Clear":            func() error { return tree.Clear() },
		"tree.ApproximateBytes": func() error { return drop(tree.ApproximateBytes(latchkey.Range{})) },
		"tree.ForEach":          func() error { return tree.ForEach(latchkey.Range{}, func(_, _ []byte) error { return nil }) },
		"tx.GetMany":            func() error { return drop(tx.GetMany(tree, k)) },
		"tx.ForEach":            func() error { return tx.ForEach(tree, latchkey.Range{}, func(_, _ []byte) error { return nil }) },
		"tx.CommitWith":         func() error { return tx.CommitWith(latchkey.NoDurability) },
		"tree.Get":              func() error { return drop(tree.Get(k)) }, "tree.Put": func() error { return tree.Put(k, k) },
		"tree.Delete": func() error { return tree.Delete(k) }, "tree.Scan": func() error { return tree.Scan(latchkey.Range{}).Err() },
		"tx.Get": func() error { return drop(tx.Get(tree, k)) }, "tx.GetForUpdate": func() error { return drop(tx.GetForUpdate(tree, k)) },
		"tx.WithValue": func() error { return tx.WithValue(tree, k, func([]byte) error { return nil }) },
		"tx.Put":       func() error { return tx.Put(tree, k, k) }, "tx.Insert": func() error { return tx.Insert(tree, k, k) },
		"tx.Delete": func() error { return tx.Delete(tree, k) }, "tx.Prefetch": func() error { return tx.Prefetch(tree, k) },
		"tx.Cursor":    func() error { return drop(tx.Cursor(tree, latchkey.Range{})) },
		"tx.Scan":      func() error { return tx.Scan(tree, latchkey.Range{}).Err() },
		"tx.Savepoint": func() error { return drop(tx.Savepoint()) }, "tx.RollbackTo": func() error { return tx.RollbackTo(p) },
		"tx.Commit": tx.Commit, "tx.Rollback": tx.Rollback,
		"c.First": func() error { return moved(c.First()) }, "c.Last": func() error { return moved(c.Last()) },
		"c.Next": func() error { return moved(c.Next()) }, "c.Prev": func() error { return moved(c.Prev()) },
		"c.Seek": func() error { return moved(c.Seek(k)) }, "c.Close": c.Close,
		"scan.Next": func() error { scan.Next(); return scan.Err() },
		"db.Close":  db.Close,
	}
}

func TestEveryCallAfterCloseIsRefused(t *testing.T) {
	db, tree := memory(t)
	fill(t, db, tree, 100)
	tx, err := db.Begin(latchkey.TxOptions{})
	ok(t, err)
	c, err := tx.Cursor(tree, latchkey.Range{})
	ok(t, err)
	same(t, c.First(), true)
	scan, own := tx.Scan(tree, latchkey.Range{}), tree.Scan(latchkey.Range{})
	same(t, scan.Next() && own.Next(), true)
	ok(t, db.Close())
	for name, call := range calls(db, tree, tx, c, scan) {
		if err := call(); err != latchkey.ErrClosed {
			t.Errorf("%s: %v", name, err)
		}
	}
	is(t, db.Close(), fs.ErrClosed)
	is(t, db.Close(), latchkey.ErrFailedPrecondition)
	same(t, own.Next(), false)
	is(t, own.Err(), latchkey.ErrClosed)
	same(t, c.Key(), []byte(nil))
	same(t, scan.Value(), []byte(nil))
}

func TestEveryCallOfANilOrZeroObjectIsRefused(t *testing.T) {
	for _, all := range []map[string]func() error{
		calls(nil, nil, nil, nil, nil),
		calls(&latchkey.DB{}, nil, &latchkey.Tx{}, &latchkey.Cursor{}, nil),
	} {
		for name, call := range all {
			if err := call(); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
	}
	db, tree := memory(t)
	tx, err := db.Begin(latchkey.TxOptions{})
	ok(t, err)
	defer tx.Rollback()
	is(t, tx.Put(nil, nil, nil), latchkey.ErrInvalidArgument)
	is(t, tx.WithValue(tree, nil, nil), latchkey.ErrInvalidArgument)
	is(t, db.Update(nil), latchkey.ErrInvalidArgument)
	is(t, db.Write(nil), latchkey.ErrInvalidArgument)
	is(t, (&latchkey.Batch{}).Put(nil, nil, nil), latchkey.ErrInvalidArgument)
	is(t, (*latchkey.Batch)(nil).Put(tree, nil, nil), latchkey.ErrInvalidArgument)
	same(t, (*latchkey.Batch)(nil).Len(), 0)
	zero := &latchkey.Scan{}
	same(t, zero.Next(), false)
	is(t, zero.Close(), latchkey.ErrInvalidArgument)
	other, otherTree := memory(t)
	is(t, tx.Put(otherTree, nil, nil), latchkey.ErrFailedPrecondition)
	ok(t, other.Close())
}

func TestEveryCallAfterTheEndOfATransactionIsRefused(t *testing.T) {
	db, tree := memory(t)
	fill(t, db, tree, 100)
	tx, err := db.Begin(latchkey.TxOptions{})
	ok(t, err)
	c, err := tx.Cursor(tree, latchkey.Range{})
	ok(t, err)
	scan := tx.Scan(tree, latchkey.Range{})
	same(t, c.First() && scan.Next(), true)
	ok(t, tx.Commit())
	for name, call := range calls(nil, tree, tx, c, scan) {
		if name[0] != 'd' && name[:3] != "tre" {
			if err := call(); err != latchkey.ErrTxDone {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	same(t, c.Key(), []byte(nil))
}

func TestCloseWaitsForTheCallsOfOtherGoroutines(t *testing.T) {
	db, tree := memory(t)
	fill(t, db, tree, 100)
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			for {
				var err error
				switch i % 4 {
				case 0:
					err = tree.Put(key(i), key(i))
				case 1:
					_, err = tree.Get(key(i))
				case 2:
					err = tree.Scan(latchkey.Range{}).Close()
				default:
					err = db.Update(func(tx *latchkey.Tx) error { return tx.Put(tree, key(i), nil) })
				}
				if err != nil {
					is(t, err, latchkey.ErrClosed)
					return
				}
			}
		}(i)
	}
	time.Sleep(20 * time.Millisecond)
	ok(t, db.Close())
	group.Wait()
}

func TestATransactionServesSeveralGoroutines(t *testing.T) {
	db, tree := memory(t)
	ok(t, db.Update(func(tx *latchkey.Tx) error {
		var group sync.WaitGroup
		for i := 0; i < 4; i++ {
			group.Add(1)
			go func(i int) {
				defer group.Done()
				for j := 0; j < 50; j++ {
					tx.Put(tree, key(i*100+j), nil)
				}
			}(i)
		}
		group.Wait()
		return nil
	}))
	same(t, len(keys(t, tree.Scan(latchkey.Range{}))), 200)
}

func TestALostTransactionGivesItsLocksBack(t *testing.T) {
	db, tree := memory(t)
	func() {
		tx, err := db.Begin(latchkey.TxOptions{})
		ok(t, err)
		ok(t, tx.Put(tree, []byte("k"), nil))
	}()
	for {
		runtime.GC()
		if err := tree.Put([]byte("k"), nil); err == nil {
			return
		}
	}
}
