package latchkey

// #include <stdlib.h>
// #include "latchkey_go.h"
import "C"

import (
	"runtime/cgo"
	"sort"
	"strconv"
	"strings"
	"time"
	"unsafe"
)

// Options of Open. The zero value of a member is the library's default.
type Options struct {
	// CacheBytes bounds all memory of the database. Default 256 MiB.
	CacheBytes uint64
	// Durability is "commit" (the default), "group" or "none".
	Durability string
	// Set has further options by their names on the command line: {"page-size": "16KiB"}. OptionHelp lists them.
	Set map[string]string
	// Log receives one-line messages, from any goroutine or thread. It must not use the database.
	Log func(Severity, string)
	// OnEvent receives events, from any thread. It must return soon and not use the database.
	OnEvent func(Event)
}

// OptionHelp returns the name of every option that Options.Set takes, and the values allowed.
func OptionHelp() map[string]string {
	help := map[string]string{}
	for i := C.size_t(0); i < C.lk_option_count(); i++ {
		var name, values *C.char
		if C.lk_option_at(i, &name, &values, nil) == C.LK_OK {
			help[C.GoString(name)] = C.GoString(values)
		}
	}
	return help
}

// Version of the library that is loaded, as "0.1.0".
func Version() string { return C.GoString(C.lk_version()) }

// named lists the options as text, in a fixed order.
func (o *Options) named() [][2]string {
	var all [][2]string
	for name, value := range o.Set {
		all = append(all, [2]string{name, value})
	}
	sort.Slice(all, func(i, j int) bool { return all[i][0] < all[j][0] })
	if o.CacheBytes != 0 {
		all = append(all, [2]string{"cache-size", strconv.FormatUint(o.CacheBytes, 10)})
	}
	if o.Durability != "" {
		all = append(all, [2]string{"durability", o.Durability})
	}
	return all
}

func (o *Options) apply(to C.lk_options, s *scratch) error {
	for _, option := range o.named() {
		if strings.ContainsRune(option[0]+option[1], 0) {
			return invalid("the option " + strconv.Quote(option[0]) + " has a NUL byte")
		}
		name, value := C.CString(option[0]), C.CString(option[1])
		code := C.lk_options_set(to, name, value, &s.c.error)
		C.free(unsafe.Pointer(name))
		C.free(unsafe.Pointer(value))
		if code != C.LK_OK {
			return s.failure(code)
		}
	}
	return nil
}

// lockWait is the option lock-wait-ms, how long a call waits for a lock.
func lockWait(options C.lk_options) time.Duration {
	var value C.lk_value
	defer C.lk_value_release(&value)
	name := C.CString("lock-wait-ms")
	defer C.free(unsafe.Pointer(name))
	if C.lk_options_get(options, name, &value, nil) == C.LK_OK {
		if ms, err := strconv.Atoi(C.GoStringN(value.data, C.int(value.size))); err == nil {
			return time.Duration(ms) * time.Millisecond
		}
	}
	return 5 * time.Second
}

// open opens the database with these options.
func (o *Options) open(path string, d *database, s *scratch) error {
	var options C.lk_options
	if code := C.lk_options_create(&options, &s.c.error); code != C.LK_OK {
		return s.failure(code)
	}
	defer C.lk_options_release(options, nil)
	if err := o.apply(options, s); err != nil {
		return err
	}
	d.lockWait = lockWait(options)
	if o.Log != nil {
		d.log = cgo.NewHandle(o.Log)
		C.lkgo_set_log(options, C.uintptr_t(d.log), s.c)
	}
	if o.OnEvent != nil {
		d.onEvent = cgo.NewHandle(o.OnEvent)
		C.lkgo_set_event(options, C.uintptr_t(d.onEvent), s.c)
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	if code := C.lk_open(name, options, &d.handle, &s.c.error); code != C.LK_OK {
		d.forgetSinks()
		return s.failure(code)
	}
	return nil
}
