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
