//go:build go1.23

package latchkey_test

import (
	"testing"

	"latchkey"
)

func TestARangeLoopWalksAndClosesTheScan(t *testing.T) {
	db, tree := memory(t)
	fill(t, db, tree, 100)
	scan, met := tree.Scan(latchkey.Range{From: key(50)}), 0
	for key, value := range scan.All() {
		if met++; met == 20 {
			same(t, [][]byte{key, value}, []string{"069", "v69"})
			break
		}
	}
	same(t, met, 20)
	same(t, scan.Next(), false)
	ok(t, scan.Err())
}

func TestARangeLoopMeetsWhatItsBodyWritesAhead(t *testing.T) {
	db, tree := memory(t)
	fill(t, db, tree, 30)
	is(t, db.Update(func(tx *latchkey.Tx) error {
		var met []string
		scan := tx.Scan(tree, latchkey.Range{From: key(20), Lend: true})
		for key, value := range scan.All() {
			met = append(met, string(key)+"="+string(value))
			same(t, scan.Key(), key)
			switch string(key) {
			case "021":
				ok(t, tx.Put(tree, []byte("021b"), []byte("new")))
				ok(t, tx.Delete(tree, []byte("022")))
			case "025":
				same(t, scan.Next(), true) // passes over 026
			}
		}
		same(t, met, []string{"020=v20", "021=v21", "021b=new", "023=v23", "024=v24", "025=v25", "027=v27", "028=v28", "029=v29"})
		return scan.Err()
	}), nil)
}

func TestALendingRangeLoopLeavesNoRecordBehind(t *testing.T) {
	db, tree := memory(t)
	fill(t, db, tree, 100)
	is(t, db.View(func(tx *latchkey.Tx) error {
		scan := tx.Scan(tree, latchkey.Range{Lend: true})
		for key := range scan.All() {
			if string(key) == "003" {
				ok(t, scan.Close())
				same(t, scan.Key(), key)
			}
		}
		same(t, scan.Key(), []byte(nil))
		same(t, scan.Value(), []byte(nil))
		same(t, scan.Next(), false)
		for outer := range tx.Scan(tree, latchkey.Range{Lend: true}).All() {
			inner := tx.Scan(tree, latchkey.Range{From: outer, Lend: true})
			for key := range inner.All() {
				same(t, key, outer)
				break
			}
			ok(t, inner.Err())
		}
		return nil
	}), nil)
}
