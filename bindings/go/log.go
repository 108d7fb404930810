package latchkey

// #include <stdint.h>
// #include <stddef.h>
import "C"

import "runtime/cgo"

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
