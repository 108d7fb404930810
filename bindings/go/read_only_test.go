package latchkey_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"latchkey"
)

var readOnly = &latchkey.Options{CacheBytes: 2 << 20, Set: map[string]string{"read-only": "true"}}

// files returns the bytes of each file in folder, and when it was written last.
func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(folder)
	ok(t, err)
	for _, entry := range entries {
		about, err := entry.Info()
		ok(t, err)
		content, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		ok(t, err)
		all[entry.Name()] = about.ModTime().String() + string(content)
	}
	return all
}

func unchanged(t *testing.T, folder string, before map[string]string) {
	t.Helper()
	after := files(t, folder)
	same(t, len(after), len(before))
	for name, content := range before {
		if after[name] != content {
			t.Errorf("%s has changed", name)
		}
	}
}

// closed makes a database with the record k=kept and closes it.
func closed(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	db, err := latchkey.Open(path, nil)
	ok(t, err)
	tree, err := db.Tree("t")
	ok(t, err)
	ok(t, tree.Put([]byte("k"), []byte("kept")))
	ok(t, db.Close())
	return path
}

func TestTwoReadersReadAtOnceAndChangeNoFile(t *testing.T) {
	path := closed(t)
	before := files(t, path)
	var readers []*latchkey.DB
	for i := 0; i < 2; i++ {
		db, err := latchkey.Open(path, readOnly)
		ok(t, err)
		readers = append(readers, db)
	}
	_, err := latchkey.Open(path, nil)
	is(t, err, latchkey.ErrFailedPrecondition)
	for _, db := range readers {
		tree, err := db.Tree("t")
		ok(t, err)
		value, err := tree.Get([]byte("k"))
		ok(t, err)
		same(t, value, []byte("kept"))
		same(t, keys(t, tree.Scan(latchkey.Range{})), []string{"k"})
		ok(t, db.Close())
	}
	unchanged(t, path, before)
}

func TestAReaderRefusesEachWriteAndGoesOn(t *testing.T) {
	path := closed(t)
	before := files(t, path)
	db, err := latchkey.Open(path, readOnly)
	ok(t, err)
	tree, err := db.Tree("t")
	ok(t, err)
	put := tree.Put([]byte("k"), []byte("new"))
	is(t, put, latchkey.ErrFailedPrecondition)
	if !strings.Contains(put.Error(), "opened read-only") {
		t.Error(put)
	}
	is(t, tree.Delete([]byte("k")), latchkey.ErrFailedPrecondition)
	is(t, db.Update(func(tx *latchkey.Tx) error { return tx.Put(tree, []byte("k"), nil) }), latchkey.ErrFailedPrecondition)
	var batch latchkey.Batch
	ok(t, batch.Put(tree, []byte("k"), nil))
	is(t, db.Write(&batch), latchkey.ErrFailedPrecondition)
	_, err = db.Tree("new")
	is(t, err, latchkey.ErrFailedPrecondition)
	ok(t, db.View(func(tx *latchkey.Tx) error {
		value, err := tx.Get(tree, []byte("k"))
		same(t, value, []byte("kept"))
		return err
	}))
	ok(t, db.Close())
	unchanged(t, path, before)
}

func TestAReadOnlyOpenMakesNoDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none")
	_, err := latchkey.Open(path, readOnly)
	is(t, err, fs.ErrNotExist)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Error(err)
	}
}
