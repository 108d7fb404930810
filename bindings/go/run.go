package latchkey

// #include "latchkey_go.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"runtime"
	"time"
)

// Isolation of a transaction.
type Isolation int

// DefaultIsolation is that of the option "isolation".
const (
	DefaultIsolation Isolation = C.LK_ISOLATION_DEFAULT
	SnapshotIsolated Isolation = C.LK_ISOLATION_SNAPSHOT
	Serializable     Isolation = C.LK_ISOLATION_SERIALIZABLE
)

// Durability of one commit.
type Durability int

// DefaultDurability is that of the option "durability".
const (
	DefaultDurability Durability = C.LK_DURABILITY_DEFAULT
	NoDurability      Durability = C.LK_DURABILITY_NONE   // durable with a later commit, Sync, a checkpoint or the close
	GroupDurability   Durability = C.LK_DURABILITY_GROUP  // durable within the option "group-commit-delay-ms"
	CommitDurability  Durability = C.LK_DURABILITY_COMMIT // durable when the commit returns
)

// TxOptions of Begin and Run.
type TxOptions struct {
	Isolation Isolation
	// ReadOnly: a snapshot. Writes are refused, and it waits for no one.
	ReadOnly bool
	// Durability of the commit of Run. Begin does not use it: see CommitWith.
	Durability Durability
	// MostAttempts of Run; 0 is DefaultAttempts.
	MostAttempts int
}

// DefaultAttempts bounds how often Update and Run run a function. With their pauses this takes about half a minute.
const DefaultAttempts = 1000

// Begin begins a transaction, to be ended by Commit or Rollback. Update and View do that by themselves. Prefer
// them: they run the transaction again if it was Aborted.
//
// The library takes threads for users. A goroutine that runs on the thread which another one's transaction has
// used last gets ErrAborted at once, and does not wait, if that transaction has locked its key.
func (db *DB) Begin(options TxOptions) (*Tx, error) {
	tx, err := db.begin(options)
	if err == nil { // a safety net: a lost transaction keeps its locks
		runtime.SetFinalizer(tx, func(tx *Tx) { go tx.t.rollback() })
	}
	return tx, err
}

// Snapshot begins a transaction that only reads: Begin(TxOptions{ReadOnly: true}). End it with Rollback.
func (db *DB) Snapshot() (*Tx, error) { return db.Begin(TxOptions{ReadOnly: true}) }

func (db *DB) begin(options TxOptions) (*Tx, error) {
	s, err := db.enter()
	if err != nil {
		return nil, err
	}
	readOnly := C.int(0)
	if options.ReadOnly {
		readOnly = 1
	}
	t := &transaction{}
	code := C.lkgo_begin(db.handle, C.int(options.Isolation), readOnly, &t.handle, s.c)
	if code == C.LK_OK {
		db.open.add(t)
	}
	if err := db.leave(s, code); err != nil {
		return nil, err
	}
	return &Tx{db: db, t: t}, nil
}

// Update runs function in a transaction and commits it; after an error of function it rolls back and returns
// that error. If the transaction was Aborted, it runs function again, with growing pauses: so function must have no
// other effects that must not be repeated. It gives up with ErrAborted, and a message that tells the reason, after
// DefaultAttempts, and if the transaction waits for a key that its own thread or someone else keeps locked for longer
// than lock-wait-ms. An aborted error that function got elsewhere, from a Tree or another Tx, is returned at once. Return
// ErrAborted itself to be run again.
func (db *DB) Update(function func(*Tx) error) error {
	return db.Run(context.Background(), TxOptions{}, function)
}

// View runs function in a transaction that only reads one snapshot, and waits for no one.
func (db *DB) View(function func(*Tx) error) error {
	return db.Run(context.Background(), TxOptions{ReadOnly: true}, function)
}

// Run is Update with options. Once ctx is done it does not begin again, and does not commit: it returns an
// error that is ctx.Err(). A wait for a lock inside a call ends after the option lock-wait-ms.
func (db *DB) Run(ctx context.Context, options TxOptions, function func(*Tx) error) error {
	if function == nil {
		return errNoFunction
	}
	if !options.ReadOnly {
		// The library takes threads for users: no other goroutine may run on this one meanwhile.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	most := options.MostAttempts
	if most <= 0 {
		most = DefaultAttempts
	}
	started := time.Now()
	for attempt := 1; ; attempt++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		again, isVain, err := db.runOnce(ctx, options, function)
		if !again {
			return err
		}
		// The transaction of this thread that holds the key may be another goroutine's, and end soon: see DB.write.
		if attempt == most || isVain && time.Since(started) >= db.lockWait {
			return &Error{Aborted, fmt.Sprintf("gave up after %d attempts: %s", attempt, reasonOf(err))}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause(attempt)):
		}
	}
}

func reasonOf(err error) string {
	var known *Error
	if errors.As(err, &known) {
		return known.Message
	}
	return err.Error()
}

// runOnce reports whether the transaction was aborted, and whether a repetition would wait for the same lock.
func (db *DB) runOnce(ctx context.Context, options TxOptions, function func(*Tx) error) (again, isVain bool, err error) {
	tx, err := db.begin(options)
	if err != nil {
		return false, false, err
	}
	tx.managed = true
	defer tx.t.rollback() // also after a panic; has no effect after the commit
	if err = function(tx); err == nil && tx.t.endReason() == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = tx.t.commit(options.Durability)
	}
	again, isVain = tx.t.wasAborted()
	return again && err != nil || err == ErrAborted, isVain, err
}

// pause before another attempt: random, up to 0.2 ms that double with each one, up to 50 ms.
func pause(attempt int) time.Duration {
	if attempt > 8 {
		attempt = 8
	}
	return time.Duration(rand.Int63n(int64(200*time.Microsecond) << attempt))
}
