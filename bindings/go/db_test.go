package latchkey_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"latchkey"
)

func TestRecordsAreThereAfterACloseAndAnotherOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	for _, durability := range []string{"commit", "none"} {
		db, err := latchkey.Open(path, &latchkey.Options{CacheBytes: 2 << 20, Durability: durability})
		ok(t, err)
		tree, err := db.Tree("t")
		ok(t, err)
		if durability == "commit" {
			ok(t, tree.Put([]byte("key"), []byte("kept")))
		}
		value, err := tree.Get([]byte("key"))
		ok(t, err)
		same(t, value, []byte("kept"))
		ok(t, db.Checkpoint())
		ok(t, db.Verify())
		size, err := db.PageSize()
		ok(t, err)
		same(t, size, 4096)
		device, err := db.Device()
		ok(t, err)
		if !strings.Contains(device, "file") {
			t.Fatal(device)
		}
		ok(t, db.Close())
	}
}

func TestAnOpenDatabaseIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	db, err := latchkey.Open(path, nil)
	ok(t, err)
	_, err = latchkey.Open(path, nil)
	is(t, err, latchkey.ErrFailedPrecondition)
	ok(t, db.Close())
	_, err = latchkey.Open(path, &latchkey.Options{Set: map[string]string{"error-if-exists": "true"}})
	is(t, err, fs.ErrExist)
}

func TestAWrongOptionIsAnErrorThatNamesTheRemedy(t *testing.T) {
	for name, value := range map[string]string{"cash-size": "1MiB", "cache-size": "1Q", "a\x00b": "", "durability": "x\x00"} {
		_, err := latchkey.Open(filepath.Join(t.TempDir(), "x"), &latchkey.Options{Set: map[string]string{name: value}})
		is(t, err, latchkey.ErrInvalidArgument)
		var typed *latchkey.Error
		if !errors.As(err, &typed) || typed.Code != latchkey.InvalidArgument || len(typed.Message) < 20 {
			t.Fatalf("%#v", err)
		}
	}
	_, err := latchkey.Open("a\x00b", nil)
	is(t, err, latchkey.ErrInvalidArgument)
	_, err = latchkey.Open(filepath.Join(t.TempDir(), "no", "parent"), nil)
	if err == nil {
		t.Fatal("opened")
	}
	if latchkey.OptionHelp()["cache-size"] == "" || latchkey.Version() == "" {
		t.Fatal("no help or version")
	}
}

func TestMessagesGoToTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	db, err := latchkey.Open(path, nil)
	ok(t, err)
	ok(t, db.Close())
	var mu sync.Mutex
	var lines []string
	db, err = latchkey.Open(path, &latchkey.Options{Log: func(s latchkey.Severity, line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, s.String()+" "+line)
	}})
	ok(t, err)
	ok(t, db.Close())
	if all := strings.Join(lines, "\n"); !strings.Contains(all, "INFO recovery: ") {
		t.Fatalf("nothing of the recovery in %q", all)
	}
}

func TestEventsGoToTheProgram(t *testing.T) {
	var mu sync.Mutex
	var events []latchkey.Event
	options := &latchkey.Options{OnEvent: func(e latchkey.Event) {
		mu.Lock()
		defer mu.Unlock()
		events = append(events, e)
	}}
	db, err := latchkey.Open(filepath.Join(t.TempDir(), "test.db"), options)
	ok(t, err)
	ok(t, db.Checkpoint())
	ok(t, db.Close())
	for _, e := range events {
		if e.Kind == latchkey.CheckpointEvent && e.Duration > 0 && strings.Contains(e.Message, "complete") {
			return
		}
	}
	t.Fatalf("no checkpoint in %v", events)
}

func TestTreesAreListedFoundAndDropped(t *testing.T) {
	db, _ := memory(t)
	other, err := db.Tree("öther")
	ok(t, err)
	same(t, other.Name(), "öther")
	names, err := db.TreeNames()
	ok(t, err)
	same(t, names, []string{"t", "öther"})
	_, err = db.FindTree("missing")
	is(t, err, latchkey.ErrNotFound)
	ok(t, db.DropTree("öther"))
	is(t, other.Put([]byte("k"), nil), latchkey.ErrFailedPrecondition)
	is(t, db.DropTree("öther"), latchkey.ErrNotFound)
	_, err = db.Tree("")
	is(t, err, latchkey.ErrInvalidArgument)
}

func TestATreeIsAMapOfBytes(t *testing.T) {
	_, tree := memory(t)
	ok(t, tree.Put([]byte("a"), []byte("1")))
	ok(t, tree.Put(nil, nil))
	value, err := tree.Get(nil)
	ok(t, err)
	if value == nil || len(value) != 0 {
		t.Fatalf("%#v is not the empty value", value)
	}
	buffer, err := tree.AppendGet([]byte("x"), []byte("a"))
	ok(t, err)
	same(t, buffer, []byte("x1"))
	buffer, err = tree.AppendGet(buffer, []byte("missing"))
	is(t, err, fs.ErrNotExist)
	same(t, buffer, []byte("x1"))
	ok(t, tree.Delete([]byte("a")))
	is(t, tree.Delete([]byte("a")), latchkey.ErrNotFound)
	is(t, tree.Put(make([]byte, 1025), nil), latchkey.ErrInvalidArgument)
}

func TestAGetIntoABufferAllocatesNothing(t *testing.T) {
	_, tree := memory(t)
	ok(t, tree.Put([]byte("a"), []byte("1")))
	key, buffer := []byte("a"), make([]byte, 0, 64)
	if count := testing.AllocsPerRun(100, func() { buffer, _ = tree.AppendGet(buffer[:0], key) }); count > 0 && !isRace {
		t.Fatalf("%v allocations", count)
	}
}

func TestALargeValueIsSeenWithoutACopy(t *testing.T) {
	db, tree := memory(t)
	large := bytes.Repeat([]byte("abc"), 700_000)
	ok(t, tree.Put([]byte("large"), large))
	ok(t, db.View(func(tx *latchkey.Tx) error {
		is(t, tx.WithValue(tree, []byte("x"), func([]byte) error { return nil }), latchkey.ErrNotFound)
		return tx.WithValue(tree, []byte("large"), func(value []byte) error {
			if _, err := tx.Get(tree, []byte("large")); err != nil { // the transaction may be used meanwhile
				return err
			}
			if !bytes.Equal(value, large) {
				t.Error("another value")
			}
			return nil
		})
	}))
}

func TestABatchIsAppliedAsAWhole(t *testing.T) {
	db, tree := memory(t)
	fill(t, db, tree, 10)
	var batch latchkey.Batch
	ok(t, batch.Delete(tree, key(3)))
	ok(t, batch.Delete(tree, []byte("missing")))
	ok(t, batch.Put(tree, []byte("new"), nil))
	ok(t, db.Write(&batch))
	same(t, keys(t, tree.Scan(latchkey.Range{From: []byte("002")}))[:2], []string{"002", "004"})
	other, err := db.Tree("other")
	ok(t, err)
	ok(t, db.DropTree("other"))
	ok(t, batch.Put(tree, []byte("again"), nil))
	ok(t, batch.Put(other, []byte("k"), nil))
	is(t, db.Write(&batch), latchkey.ErrFailedPrecondition)
	_, err = tree.Get([]byte("again"))
	is(t, err, latchkey.ErrNotFound)
	batch.Clear()
	same(t, batch.Len(), 0)
	ok(t, db.Write(&batch))
}

func TestStatisticsHaveNames(t *testing.T) {
	db, tree := memory(t)
	ok(t, tree.Put([]byte("a"), nil))
	figures, err := db.Statistics()
	ok(t, err)
	if f := figures["commits"]; !f.IsInteger || f.Integer == 0 || f.Real == 0 {
		t.Fatalf("%+v", f)
	}
	if f := figures["log.records"]; f.Measured || f.Name != "log.records" {
		t.Fatalf("%+v", f) // durability none has no log
	}
	if f := figures["commits"]; !f.IsCounter || f.Help != "transactions committed" {
		t.Fatalf("%+v", f)
	}
	text, err := db.Metrics(latchkey.PrometheusMetrics)
	ok(t, err)
	if !strings.Contains(text, "\nlatchkey_commits_total ") {
		t.Fatal(text)
	}
	text, err = db.Metrics(latchkey.JSONMetrics)
	ok(t, err)
	if !json.Valid([]byte(text)) {
		t.Fatal(text)
	}
	_, err = db.Metrics(7)
	is(t, err, latchkey.ErrInvalidArgument)
	ok(t, db.ResetStatisticsExtremes())
	ok(t, db.SetCacheBytes(16<<20))
	is(t, db.SetCacheBytes(1), latchkey.ErrInvalidArgument)
}
