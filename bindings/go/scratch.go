package latchkey

// #include "latchkey_go.h"
import "C"

import (
	"runtime"
	"sync"
	"unsafe"
)

// A scratch is the memory in which the library leaves the results of one call at a time. It is C's, so
// the library may keep pointers into it.
type scratch struct{ c *C.lkgo_scratch }

// A value above this many bytes gives its memory back at once.
const mostKeptBytes = 1 << 20

// The garbage collector empties pools: then the finalizer frees C's memory.
var scratches = sync.Pool{New: func() any {
	s := &scratch{C.lkgo_make_scratch()}
	if s.c == nil {
		panic("latchkey: out of memory") // as Go's own allocations do
	}
	runtime.SetFinalizer(s, func(s *scratch) { C.lkgo_free_scratch(s.c) })
	return s
}}

func takeScratch() *scratch { return scratches.Get().(*scratch) }

func (s *scratch) give() {
	if s.c.value.size > mostKeptBytes {
		C.lk_value_release(&s.c.value)
	}
	scratches.Put(s)
}

// failure is the error of a call that returned code.
func (s *scratch) failure(code C.lk_code) error {
	return &Error{Code(code), C.GoString(&s.c.error.message[0])}
}

// view shows the value that was read. It is C's memory: valid until the next call with s.
func (s *scratch) view() []byte {
	return viewOf(unsafe.Pointer(s.c.value.data), s.c.value.size)
}

func viewOf(data unsafe.Pointer, size C.size_t) []byte {
	if size == 0 {
		return []byte{}
	}
	return unsafe.Slice((*byte)(data), int(size))
}

// getMany reads packed keys, by the transaction or by one of its own.
func (s *scratch) getMany(db C.lk_db, txn C.lk_txn, tree C.lk_tree, packed []byte, keySizes []C.uint32_t) ([][]byte, C.lk_code) {
	count := len(keySizes)
	keySizes = append(keySizes, 0) // it is never empty
	sizes := make([]C.uint64_t, count+1)
	code := C.lkgo_get_many(db, txn, tree, pointerTo(packed), &keySizes[0], C.size_t(count), &sizes[0], s.c)
	if code != C.LK_OK {
		return nil, code
	}
	rest, values := copyOf(s.view()), make([][]byte, count)
	for i := range values {
		if size := sizes[i]; size != C.LKGO_MISSING {
			values[i], rest = rest[:size:size], rest[size:]
		}
	}
	return values, code
}

// copyOf returns bytes of its own; never nil.
func copyOf(view []byte) []byte { return append(make([]byte, 0, len(view)), view...) }

// pointerTo is where b begins, for C to read during one call.
func pointerTo(b []byte) *C.char {
	if len(b) == 0 {
		return nil
	}
	return (*C.char)(unsafe.Pointer(&b[0]))
}
func sizeOf(b []byte) C.size_t { return C.size_t(len(b)) }
