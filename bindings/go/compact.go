package latchkey

// #include "latchkey_go.h"
import "C"

import (
	"context"
	"unsafe"
)

// CompactProgress is how far a compaction has come.
type CompactProgress struct {
	Leaves    uint64 // of trees, looked at so far
	Freed     uint64 // of these, united with another
	FileBytes uint64 // of the data file, now
}

// CompactInfo is what a compaction has done.
type CompactInfo struct {
	BytesBefore, BytesAfter uint64 // of the data file
	Leaves, Freed           uint64 // as in CompactProgress
}

// CompactOptions of DB.Compact.
type CompactOptions struct {
	MaxBytesPerSecond uint64                // of the leaves that are looked at; 0 is no limit
	Progress          func(CompactProgress) // called at least ten times a second, by this goroutine
}

// Compact makes the data file small while others go on reading and writing: it unites leaves that deletes have left
// sparse, moves pages to the front of the file, and cuts it. Once ctx is done it stops; what was done so far stays.
func (db *DB) Compact(ctx context.Context, options CompactOptions) (done CompactInfo, err error) {
	var tell func(unsafe.Pointer)
	if options.Progress != nil {
		tell = func(told unsafe.Pointer) {
			p := (*C.lk_compact_progress)(told)
			options.Progress(CompactProgress{uint64(p.leaves), uint64(p.freed), uint64(p.file_bytes)})
		}
	}
	err = watched(ctx, tell, func(watcher C.uintptr_t) error {
		s, err := db.enter()
		if err != nil {
			return err
		}
		info := C.lk_compact_info{struct_size: C.sizeof_lk_compact_info}
		code := C.lkgo_compact(db.handle, C.uint64_t(options.MaxBytesPerSecond), watcher, &info, s.c)
		done = CompactInfo{uint64(info.bytes_before), uint64(info.bytes_after), uint64(info.leaves), uint64(info.freed)}
		return db.leave(s, code)
	})
	return done, err
}
