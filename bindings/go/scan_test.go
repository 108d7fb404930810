package latchkey_test

import (
	"bytes"
	"testing"

	"latchkey"
)

func TestAScanWalksThroughItsRangeInBothDirections(t *testing.T) {
	db, tree := memory(t)
	fill(t, db, tree, 1000)
	all := keys(t, tree.Scan(latchkey.Range{}))
	same(t, len(all), 1000)
	same(t, keys(t, tree.Scan(latchkey.Range{From: key(10), To: key(12)})), []string{"010", "011"})
	same(t, keys(t, tree.Scan(latchkey.Range{Prefix: []byte("99"), Reverse: true}))[:2], []string{"999", "998"})
	same(t, keys(t, tree.Scan(latchkey.Range{To: []byte{}})), []string(nil))
	ok(t, tree.Put([]byte("\xff\xff"), nil))
	same(t, keys(t, tree.Scan(latchkey.Range{Prefix: []byte("\xff")})), []string{"\xff\xff"})
	wrong := tree.Scan(latchkey.Range{Prefix: []byte("a"), To: []byte("b")})
	same(t, wrong.Next(), false)
	is(t, wrong.Err(), latchkey.ErrInvalidArgument)
}

func TestSlicesOfAScanStayAfterTheClose(t *testing.T) {
	db, tree := memory(t)
	fill(t, db, tree, 100)
	var values [][]byte
	scan := tree.Scan(latchkey.Range{})
	for scan.Next() {
		values = append(values, scan.Value())
	}
	ok(t, scan.Close())
	ok(t, db.Close())
	same(t, values[99], []byte("v99"))
}

func TestALendingScanShowsTheSameRecordsAndUsesItsMemoryAgain(t *testing.T) {
	db, tree := memory(t)
	fill(t, db, tree, 1000)
	ok(t, tree.Put([]byte("5large"), bytes.Repeat([]byte("x"), 100_000)))
	for _, reverse := range []bool{false, true} {
		kept, lent := tree.Scan(latchkey.Range{Reverse: reverse}), tree.Scan(latchkey.Range{Reverse: reverse, Lend: true})
		for kept.Next() {
			same(t, lent.Next(), true)
			same(t, lent.Key(), kept.Key())
			same(t, lent.Value(), kept.Value())
		}
		ok(t, kept.Err())
		same(t, lent.Next(), false)
		ok(t, lent.Err())
		same(t, lent.Key(), []byte(nil))
	}
	scan := tree.Scan(latchkey.Range{Lend: true})
	allocations := testing.AllocsPerRun(1, func() {
		for i := 0; i < 400; i++ {
			scan.Next()
		}
	})
	if allocations > 20 {
		t.Errorf("%v allocations for 400 records", allocations)
	}
	ok(t, scan.Close())
}

func TestALendingScanLeftEarlyKeepsItsLastRecordAfterTheClose(t *testing.T) {
	db, tree := memory(t)
	fill(t, db, tree, 1000)
	ok(t, tree.Put([]byte("5large"), bytes.Repeat([]byte("x"), 100_000)))
	is(t, db.View(func(tx *latchkey.Tx) error {
		var lasts [][2][]byte
		for i := 0; i < 300; i++ {
			scan := tx.Scan(tree, latchkey.Range{From: key(3 * i), Lend: true})
			for steps := 0; steps <= i%40; steps++ {
				same(t, scan.Next(), true)
			}
			record := [2][]byte{scan.Key(), scan.Value()}
			ok(t, scan.Close())
			same(t, [][]byte{scan.Key(), scan.Value()}, []string{string(record[0]), string(record[1])})
			lasts = append(lasts, record)
		}
		large := tx.Scan(tree, latchkey.Range{Prefix: []byte("5l"), Lend: true})
		same(t, large.Next(), true)
		ok(t, large.Close())
		same(t, keys(t, tx.Scan(tree, latchkey.Range{Lend: true}))[999], "998")
		for i, last := range lasts {
			value, err := tx.Get(tree, last[0])
			ok(t, err)
			same(t, last[1], value)
			same(t, string(last[0]) >= string(key(3*i)), true)
		}
		same(t, len(large.Value()), 100_000)
		return nil
	}), nil)
}

func TestScansAndCursorsThatAreOpenTogetherStayApart(t *testing.T) {
	db, tree := memory(t)
	fill(t, db, tree, 1000)
	tx, err := db.Snapshot()
	ok(t, err)
	var scans []*latchkey.Scan
	var cursors []*latchkey.Cursor
	for i := 0; i < 100; i++ {
		scans = append(scans, tx.Scan(tree, latchkey.Range{From: key(i), Lend: true}))
		cursor, err := tx.Cursor(tree, latchkey.Range{From: key(i)})
		ok(t, err)
		cursors = append(cursors, cursor)
		if i%3 == 2 { // the places of these are used again
			ok(t, scans[i-1].Close())
			ok(t, cursors[i-2].Close())
		}
	}
	for i := range scans {
		same(t, scans[i].Next(), i%3 != 1 || i == 99)
		same(t, cursors[i].First(), i%3 != 0 || i == 99)
		if i%3 == 2 {
			same(t, [][]byte{scans[i].Key(), cursors[i].Key()}, []string{string(key(i)), string(key(i))})
		}
	}
	is(t, cursors[0].Close(), latchkey.ErrFailedPrecondition)
	ok(t, tx.Rollback())
	same(t, cursors[2].Next(), false)
	is(t, cursors[2].Err(), latchkey.ErrTxDone)
	same(t, scans[2].Next(), false)
	is(t, scans[2].Err(), latchkey.ErrTxDone)
	is(t, scans[2].Close(), latchkey.ErrTxDone)
}

func TestAScanShowsTheWritesOfItsTransaction(t *testing.T) {
	db, tree := memory(t)
	fill(t, db, tree, 30)
	for i := 0; i < 4; i++ {
		reverse, lend := i%2 == 1, i >= 2
		is(t, db.Update(func(tx *latchkey.Tx) error {
			scan := tx.Scan(tree, latchkey.Range{Reverse: reverse, Lend: lend})
			scan.Next()
			first := string(scan.Key())
			ok(t, tx.Delete(tree, key(1)))
			ok(t, tx.Delete(tree, key(28)))
			ok(t, tx.Put(tree, []byte("001b"), nil))
			ok(t, tx.Put(tree, []byte("028b"), nil))
			rest := keys(t, scan)
			same(t, len(rest), 29)
			same(t, []string{first, rest[0]}, map[bool][]string{false: {"000", "001b"}, true: {"029", "028b"}}[reverse])
			return latchkey.ErrUnknown // rolls back
		}), latchkey.ErrUnknown)
	}
}

func TestACursorMovesInBothDirections(t *testing.T) {
	db, tree := memory(t)
	fill(t, db, tree, 100)
	tx, err := db.Snapshot()
	ok(t, err)
	defer tx.Rollback()
	c, err := tx.Cursor(tree, latchkey.Range{From: key(10), To: key(20)})
	ok(t, err)
	same(t, c.Key(), []byte(nil))
	at := func(moved bool, want string) {
		t.Helper()
		same(t, moved, true)
		same(t, c.Key(), []byte(want))
	}
	at(c.First(), "010")
	at(c.Next(), "011")
	same(t, c.Value(), []byte("v11"))
	at(c.Last(), "019")
	same(t, c.Next(), false)
	ok(t, c.Err())
	same(t, c.Value(), []byte(nil))
	at(c.Seek([]byte("0115")), "012")
	at(c.Prev(), "011")
	at(c.SeekForPrev([]byte("0115")), "011")
	ok(t, c.Close())
	is(t, c.Close(), latchkey.ErrFailedPrecondition)
	same(t, c.Next(), false)
	is(t, c.Err(), latchkey.ErrFailedPrecondition)
}
