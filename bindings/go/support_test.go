package latchkey_test

import (
	"errors"
	"fmt"
	"testing"

	"latchkey"
)

// memory opens a database without files, with a tree.
func memory(t testing.TB) (*latchkey.DB, *latchkey.Tree) {
	t.Helper()
	db, err := latchkey.Open("memory", &latchkey.Options{
		CacheBytes: 8 << 20, Durability: "none", Set: map[string]string{"device": "memory", "lock-wait-ms": "500"}})
	ok(t, err)
	t.Cleanup(func() { db.Close() })
	tree, err := db.Tree("t")
	ok(t, err)
	return db, tree
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func is(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("%v instead of %v", err, target)
	}
}

func same(t testing.TB, got, want any) {
	t.Helper()
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Fatalf("%q instead of %q", got, want)
	}
}

// fill puts the keys 000, 001, ... with the values v0, v1, ...
func fill(t testing.TB, db *latchkey.DB, tree *latchkey.Tree, count int) {
	t.Helper()
	var batch latchkey.Batch
	for i := 0; i < count; i++ {
		ok(t, batch.Put(tree, key(i), []byte(fmt.Sprint("v", i))))
	}
	same(t, batch.Len(), count)
	ok(t, db.Write(&batch))
}

func key(i int) []byte { return []byte(fmt.Sprintf("%03d", i)) }

// keys walks to the scan's end.
func keys(t testing.TB, scan *latchkey.Scan) (all []string) {
	t.Helper()
	for scan.Next() {
		all = append(all, string(scan.Key()))
	}
	ok(t, scan.Err())
	return all
}
