package latchkey_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"latchkey"
)

// onFiles opens a database with a log.
func onFiles(t testing.TB, path string) (*latchkey.DB, *latchkey.Tree) {
	t.Helper()
	db, err := latchkey.Open(path, &latchkey.Options{CacheBytes: 4 << 20})
	ok(t, err)
	t.Cleanup(func() { db.Close() })
	tree, err := db.Tree("t")
	ok(t, err)
	return db, tree
}

func TestManyKeysAreReadWithOneCall(t *testing.T) {
	db, tree := memory(t)
	ok(t, tree.Put([]byte("a"), []byte("1")))
	ok(t, tree.Put([]byte("empty"), nil))
	values, err := tree.GetMany([]byte("a"), []byte("none"), []byte("empty"), []byte("a"))
	ok(t, err)
	same(t, values, [][]byte{[]byte("1"), nil, {}, []byte("1")})
	same(t, values[1] == nil && values[2] != nil, true)
	away := errors.New("away")
	is(t, db.Update(func(tx *latchkey.Tx) error {
		ok(t, tx.Put(tree, []byte("none"), []byte("mine")))
		values, err := tx.GetMany(tree, []byte("none"), []byte("a"))
		ok(t, err)
		same(t, values, [][]byte{[]byte("mine"), []byte("1")})
		return away
	}), away)
	values, err = tree.GetMany()
	ok(t, err)
	same(t, len(values), 0)
	_, err = tree.GetMany(make([]byte, latchkey.MaxKeySize+1))
	is(t, err, latchkey.ErrInvalidArgument)
}

func TestForEachLendsEveryRecord(t *testing.T) {
	db, tree := memory(t)
	fill(t, db, tree, 1000)
	large := bytes.Repeat([]byte("x"), 100_000)
	ok(t, tree.Put([]byte("large"), large))
	var all []string
	ok(t, tree.ForEach(latchkey.Range{}, func(key, value []byte) error {
		if string(key) == "large" {
			same(t, bytes.Equal(value, large), true)
		}
		all = append(all, string(key))
		return nil
	}))
	same(t, all, keys(t, tree.Scan(latchkey.Range{})))
	same(t, len(all), 1001)
	enough := errors.New("enough")
	calls := 0
	is(t, tree.ForEach(latchkey.Range{Reverse: true}, func(key, _ []byte) error {
		if calls++; calls == 3 {
			same(t, key, []byte("998"))
			return enough
		}
		return nil
	}), enough)
	is(t, tree.ForEach(latchkey.Range{}, nil), latchkey.ErrInvalidArgument)
	var deleted int
	ok(t, db.Update(func(tx *latchkey.Tx) error {
		deleted = 0
		return tx.ForEach(tree, latchkey.Range{To: []byte("5")}, func(key, _ []byte) error {
			deleted++
			return tx.Delete(tree, key)
		})
	}))
	same(t, deleted, 500)
	same(t, len(keys(t, tree.Scan(latchkey.Range{}))), 501)
}

func TestAScanOfLargeValuesKeepsWhatItReturned(t *testing.T) {
	_, tree := memory(t)
	for i := 0; i < 20; i++ {
		ok(t, tree.Put(key(i), bytes.Repeat(key(i), 5000*(i%3))))
	}
	scan, kept := tree.Scan(latchkey.Range{}), [][]byte{}
	for scan.Next() {
		kept = append(kept, scan.Value())
	}
	ok(t, scan.Err())
	same(t, len(kept), 20)
	for i, value := range kept {
		same(t, bytes.Equal(value, bytes.Repeat(key(i), 5000*(i%3))), true)
	}
}

func TestATreeIsRenamedAndItsRangesAreEstimated(t *testing.T) {
	db, tree := memory(t)
	fill(t, db, tree, 1000)
	all, err := tree.ApproximateCount(latchkey.Range{})
	ok(t, err)
	half, err := tree.ApproximateCount(latchkey.Range{From: key(500)})
	ok(t, err)
	size, err := tree.ApproximateBytes(latchkey.Range{})
	ok(t, err)
	if all < 800 || all > 1200 || half < 400 || half > 600 || size < 5000 {
		t.Fatal(all, half, size)
	}
	_, err = tree.ApproximateCount(latchkey.Range{From: key(1), Prefix: key(1)})
	is(t, err, latchkey.ErrInvalidArgument)
	ok(t, tree.DeleteRange(latchkey.Range{From: key(500)}))
	_, err = tree.Get(key(999))
	is(t, err, latchkey.ErrNotFound)
	ok(t, db.RenameTree("t", "other"))
	_, err = db.FindTree("t")
	is(t, err, latchkey.ErrNotFound)
	_, err = tree.Get(key(1))
	ok(t, err)
	is(t, db.RenameTree("t", "x"), latchkey.ErrNotFound)
	_, err = db.Tree("t")
	ok(t, err)
	is(t, db.RenameTree("t", "other"), latchkey.ErrAlreadyExists)
	ok(t, tree.Clear())
	_, err = tree.Get(key(1))
	is(t, err, latchkey.ErrNotFound)
}

func TestACommitAsksForItsDurability(t *testing.T) {
	db, tree := onFiles(t, filepath.Join(t.TempDir(), "db"))
	tx, err := db.Begin(latchkey.TxOptions{})
	ok(t, err)
	ok(t, tx.Put(tree, []byte("a"), nil))
	is(t, tx.CommitWith(77), latchkey.ErrInvalidArgument)
	ok(t, tx.CommitWith(latchkey.NoDurability))
	var batch latchkey.Batch
	ok(t, batch.Put(tree, []byte("b"), nil))
	ok(t, db.WriteWith(&batch, latchkey.GroupDurability))
	ok(t, db.Run(context.Background(), latchkey.TxOptions{Durability: latchkey.NoDurability},
		func(tx *latchkey.Tx) error { return tx.Put(tree, []byte("c"), nil) }))
	ok(t, db.Sync())
	same(t, keys(t, tree.Scan(latchkey.Range{})), []string{"a", "b", "c"})

	db, tree = memory(t)
	is(t, db.Sync(), latchkey.ErrFailedPrecondition)
	tx, err = db.Begin(latchkey.TxOptions{})
	ok(t, err)
	ok(t, tx.Put(tree, []byte("a"), nil))
	is(t, tx.CommitWith(latchkey.CommitDurability), latchkey.ErrFailedPrecondition)
	ok(t, tx.Put(tree, []byte("b"), nil)) // it goes on
	ok(t, tx.Commit())
}

// Update repeated for ever a transaction that waits for a key of its own thread.
func TestUpdateGivesUpWhenItWaitsForItself(t *testing.T) {
	db, tree := memory(t)
	k := []byte("k")
	calls := 0
	err := db.Update(func(tx *latchkey.Tx) error { // another transaction inside
		calls++
		ok(t, tx.Put(tree, k, nil))
		return db.Update(func(inner *latchkey.Tx) error { return inner.Put(tree, k, nil) })
	})
	is(t, err, latchkey.ErrAborted)
	same(t, strings.Contains(err.Error(), "this thread would wait for itself"), true)
	same(t, calls, 1)
	calls = 0
	err = db.Update(func(tx *latchkey.Tx) error { // a call of the tree inside
		calls++
		ok(t, tx.Put(tree, k, nil))
		return tree.Put(k, nil)
	})
	is(t, err, latchkey.ErrAborted)
	same(t, calls, 1)
	holder, err := db.Begin(latchkey.TxOptions{})
	ok(t, err)
	ok(t, holder.Put(tree, k, nil))
	err = db.Update(func(tx *latchkey.Tx) error {
		err := tx.Put(tree, k, nil)
		same(t, tx.IsVainToRepeat(), true)
		return err
	})
	is(t, err, latchkey.ErrAborted)
	same(t, strings.Contains(err.Error(), "gave up after"), true)
	ok(t, holder.Rollback())
}

func TestRunGivesUpAfterItsAttempts(t *testing.T) {
	db, tree := memory(t)
	ok(t, tree.Put([]byte("k"), nil))
	calls := 0
	err := db.Run(context.Background(), latchkey.TxOptions{MostAttempts: 3}, func(tx *latchkey.Tx) error {
		calls++
		if _, err := tx.Get(tree, []byte("k")); err != nil {
			return err
		}
		ok(t, tree.Put([]byte("k"), nil)) // it conflicts with this transaction each time
		return tx.Put(tree, []byte("k"), nil)
	})
	is(t, err, latchkey.ErrAborted)
	same(t, calls, 3)
	same(t, strings.Contains(err.Error(), "gave up after 3 attempts"), true)
}

func TestKeysOfPartsAreOrderedAndReadBack(t *testing.T) {
	var w latchkey.KeyWriter
	w.Int(-2).Uint(259).Float(1.5).Float(-2).Float(math.NaN()).Bytes([]byte("a\x00b"))
	// The vectors of bindings/c/latchkey_c_calls_test.c.
	same(t, w.Key(), []byte("\x7f\xff\xff\xff\xff\xff\xff\xfe"+"\x00\x00\x00\x00\x00\x00\x01\x03"+
		"\xbf\xf8\x00\x00\x00\x00\x00\x00"+"\x3f\xff\xff\xff\xff\xff\xff\xff"+
		"\xff\xf8\x00\x00\x00\x00\x00\x00"+"a\x00\xffb\x00\x01"))
	r := latchkey.NewKeyReader(w.Key())
	same(t, []any{r.Int(), r.Uint(), r.Float(), r.Float(), math.IsNaN(r.Float()), r.Bytes(), r.AtEnd(), r.Err()},
		[]any{int64(-2), uint64(259), 1.5, -2.0, true, []byte("a\x00b"), true, error(nil)})
	same(t, r.Uint(), uint64(0))
	is(t, r.Err(), latchkey.ErrInvalidArgument)
	same(t, r.AtEnd(), false)
	for _, bad := range []string{"abc", "a\x00", "a\x00\x07"} {
		r = latchkey.NewKeyReader([]byte(bad))
		same(t, r.Bytes(), []byte(nil))
		is(t, r.Err(), latchkey.ErrInvalidArgument)
	}
	less := func(a, b []byte) { t.Helper(); same(t, bytes.Compare(a, b), -1) }
	one := func(build func(*latchkey.KeyWriter) *latchkey.KeyWriter) []byte { return build(w.Clear()).Key() }
	less(one(func(w *latchkey.KeyWriter) *latchkey.KeyWriter { return w.Int(math.MinInt64) }),
		one(func(w *latchkey.KeyWriter) *latchkey.KeyWriter { return w.Int(-1) }))
	less(one(func(w *latchkey.KeyWriter) *latchkey.KeyWriter { return w.Float(-1e300) }),
		one(func(w *latchkey.KeyWriter) *latchkey.KeyWriter { return w.Float(-1) }))
	less(one(func(w *latchkey.KeyWriter) *latchkey.KeyWriter { return w.Bytes([]byte("a")).Int(9) }),
		one(func(w *latchkey.KeyWriter) *latchkey.KeyWriter { return w.Bytes([]byte("a\x00")).Int(1) }))
	same(t, one(func(w *latchkey.KeyWriter) *latchkey.KeyWriter { return w.Float(math.Copysign(0, -1)) }),
		one(func(w *latchkey.KeyWriter) *latchkey.KeyWriter { return w.Float(0) }))
}

func TestABulkLoadMakesATreeAtItsEnd(t *testing.T) {
	db, _ := memory(t)
	_, err := db.BulkLoader("t", latchkey.BulkLoadOptions{})
	is(t, err, latchkey.ErrAlreadyExists)
	_, err = db.BulkLoader("x", latchkey.BulkLoadOptions{Fill: 0.1})
	is(t, err, latchkey.ErrInvalidArgument)
	loader, err := db.BulkLoader("new", latchkey.BulkLoadOptions{Fill: 0.8})
	ok(t, err)
	ok(t, loader.Put([]byte("a"), []byte("1")))
	is(t, loader.Put([]byte("a"), nil), latchkey.ErrInvalidArgument)
	ok(t, loader.Put([]byte("b"), []byte("2")))
	records, err := loader.Records()
	ok(t, err)
	same(t, records, uint64(2))
	_, err = db.FindTree("new")
	is(t, err, latchkey.ErrNotFound)
	tree, err := loader.Finish()
	ok(t, err)
	same(t, keys(t, tree.Scan(latchkey.Range{})), []string{"a", "b"})
	ok(t, loader.Close())
	_, err = loader.Finish()
	is(t, err, latchkey.ErrFailedPrecondition)
	is(t, loader.Put(nil, nil), latchkey.ErrFailedPrecondition)
	loader, err = db.BulkLoader("given up", latchkey.BulkLoadOptions{})
	ok(t, err)
	ok(t, loader.Close())
	ok(t, loader.Close())
	_, err = db.FindTree("given up")
	is(t, err, latchkey.ErrNotFound)
	loader, err = db.BulkLoader("outlives", latchkey.BulkLoadOptions{})
	ok(t, err)
	ok(t, db.Close())
	is(t, loader.Put([]byte("a"), nil), latchkey.ErrClosed)
	ok(t, loader.Close())
	for _, none := range []*latchkey.BulkLoader{nil, {}} {
		is(t, none.Put(nil, nil), latchkey.ErrInvalidArgument)
		is(t, none.Close(), latchkey.ErrInvalidArgument)
	}
}

func TestADatabaseIsCompacted(t *testing.T) {
	db, tree := onFiles(t, filepath.Join(t.TempDir(), "db"))
	defer db.Close()
	for i := 0; i < 3000; i++ {
		ok(t, tree.Put([]byte(fmt.Sprintf("key %06d", i)), bytes.Repeat([]byte("v"), 40)))
	}
	for i := 0; i < 3000; i++ {
		if i%10 != 0 {
			ok(t, tree.Delete([]byte(fmt.Sprintf("key %06d", i))))
		}
	}
	background := context.Background()
	ctx, cancel := context.WithCancel(background)
	_, err := db.Compact(ctx, latchkey.CompactOptions{Progress: func(latchkey.CompactProgress) { cancel() }})
	is(t, err, context.Canceled)
	info, err := db.Compact(background, latchkey.CompactOptions{MaxBytesPerSecond: 1 << 30})
	ok(t, err)
	if info.Leaves == 0 || info.Freed > info.Leaves || info.BytesAfter > info.BytesBefore {
		t.Fatal(info)
	}
}

func TestABackupIsMadeCheckedAndRestored(t *testing.T) {
	folder := t.TempDir()
	backups, restored := filepath.Join(folder, "backups"), filepath.Join(folder, "restored")
	background := context.Background()
	db, tree := onFiles(t, filepath.Join(folder, "db"))
	ok(t, tree.Put([]byte("k"), []byte("full")))
	_, err := latchkey.ListBackups(backups)
	is(t, err, latchkey.ErrNotFound)
	ctx, cancel := context.WithCancel(background)
	_, err = db.Backup(ctx, backups, latchkey.BackupOptions{Progress: func(latchkey.BackupProgress) { cancel() }})
	is(t, err, context.Canceled)
	func() {
		defer func() { same(t, recover(), "mine") }()
		db.Backup(background, backups, latchkey.BackupOptions{Progress: func(latchkey.BackupProgress) { panic("mine") }})
	}()
	calls := 0
	info, err := db.Backup(background, backups, latchkey.BackupOptions{Progress: func(p latchkey.BackupProgress) { calls++ }})
	ok(t, err)
	same(t, info.Number == 1 && info.Pages > 0 && calls > 2, true)
	_, err = db.Backup(background, backups, latchkey.BackupOptions{})
	is(t, err, latchkey.ErrAlreadyExists)
	ok(t, tree.Put([]byte("k"), []byte("later")))
	_, err = db.Backup(background, backups, latchkey.BackupOptions{Incremental: true})
	ok(t, err)
	all, err := latchkey.ListBackups(backups)
	ok(t, err)
	same(t, len(all) == 2 && all[1].ParentID == info.ID, true)
	all, err = latchkey.CheckBackups(background, backups, latchkey.CheckOptions{Number: 1})
	ok(t, err)
	same(t, all, []latchkey.BackupInfo{info})
	ok(t, latchkey.RestoreBackup(background, backups, restored,
		latchkey.RestoreOptions{Options: &latchkey.Options{CacheBytes: 4 << 20}}))
	is(t, latchkey.RestoreBackup(background, backups, restored, latchkey.RestoreOptions{}), latchkey.ErrAlreadyExists)
	is(t, latchkey.RestoreBackup(background, backups, restored, latchkey.RestoreOptions{
		Options: &latchkey.Options{Set: map[string]string{"no-such": "1"}}}), latchkey.ErrInvalidArgument)
	_, copied := onFiles(t, restored)
	value, err := copied.Get([]byte("k"))
	ok(t, err)
	same(t, value, []byte("later"))
	files, err := filepath.Glob(filepath.Join(backups, "*"))
	ok(t, err)
	for _, file := range files {
		if stat, err := os.Stat(file); err == nil && stat.Size() > 8192 {
			ok(t, os.Truncate(file, stat.Size()-1))
		}
	}
	_, err = latchkey.CheckBackups(background, backups, latchkey.CheckOptions{})
	is(t, err, latchkey.ErrDataLoss)
	_, err = db.Backup(background, "a\x00b", latchkey.BackupOptions{})
	is(t, err, latchkey.ErrInvalidArgument)
}
