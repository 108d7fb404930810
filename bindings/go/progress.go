package latchkey

// #include "latchkey_go.h"
import "C"

import (
	"context"
	"runtime/cgo"
	"unsafe"
)

// watcher is what lkgoProgress finds behind its handle.
type watcher struct {
	ctx      context.Context
	tell     func(unsafe.Pointer) // what C was told; may be nil
	panicked any                  // of tell: it must not run through the library
}

//export lkgoProgress
func lkgoProgress(handle C.uintptr_t, progress unsafe.Pointer) (stop C.int) {
	w := cgo.Handle(handle).Value().(*watcher)
	defer func() {
		if p := recover(); p != nil {
			w.panicked, stop = p, 1
		}
	}()
	if w.tell != nil {
		w.tell(progress)
	}
	if w.ctx.Err() != nil {
		return 1
	}
	return 0
}

// watched runs a call with the handle of a watcher, which it frees. Once ctx is done, the call ends with ctx.Err().
func watched(ctx context.Context, tell func(unsafe.Pointer), call func(C.uintptr_t) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &watcher{ctx: ctx, tell: tell}
	handle := cgo.NewHandle(w)
	defer handle.Delete()
	err := call(C.uintptr_t(handle))
	if w.panicked != nil {
		panic(w.panicked)
	}
	if known, ok := err.(*Error); ok && known.Code == Cancelled && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
