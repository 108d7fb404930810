package latchkey

// #include <stdint.h>
// #include <stddef.h>
import "C"

import (
	"runtime/cgo"
	"time"
)

// Severity of a message of the library.
type Severity int

// The severities, in rising order.
const (
	LogDebug Severity = iota
	LogInfo
	LogWarning
	LogError
)

func (s Severity) String() string {
	names := []string{"DEBUG", "INFO", "WARNING", "ERROR"}
	if s < LogDebug || s > LogError {
		return "?"
	}
	return names[s]
}

//export lkgoLog
func lkgoLog(context C.uintptr_t, severity C.int, message *C.char, size C.size_t) {
	log := cgo.Handle(context).Value().(func(Severity, string))
	log(Severity(severity), C.GoStringN(message, C.int(size)))
}

// EventKind says what a database tells its program of.
type EventKind int

// The kinds of events.
const (
	CheckpointEvent EventKind = iota // a checkpoint is complete
	StallEvent                       // a call has waited 100 ms or longer for a frame of the cache or room in the log
	WriteErrorEvent                  // the device refused a write; it is written again, elsewhere or later
	ReadOnlyEvent                    // nothing more is written until the database is opened again
	SlowCallEvent                    // a call has taken the option slow-call-ms or longer
)

// Event is a condition that a program may want to react to.
type Event struct {
	Kind     EventKind
	Message  string        // one line
	Duration time.Duration // of the checkpoint, the wait or the call; otherwise 0
}

//export lkgoEvent
func lkgoEvent(context C.uintptr_t, event C.int, message *C.char, size C.size_t, nanoseconds C.uint64_t) {
	onEvent := cgo.Handle(context).Value().(func(Event))
	onEvent(Event{EventKind(event), C.GoStringN(message, C.int(size)), time.Duration(nanoseconds)})
}
