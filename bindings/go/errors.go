package latchkey

// #include "latchkey_go.h"
import "C"

import (
	"io/fs"
)

// Code is the kind of an [Error]; the numbers are those of the C interface.
type Code int

// The codes that callers act on.
const (
	Cancelled          Code = C.LK_CANCELLED           // the context or Progress ended a backup, check or restore
	Unknown            Code = C.LK_UNKNOWN             // a failure of the system that has no other code
	InvalidArgument    Code = C.LK_INVALID_ARGUMENT    // a limit, an option, a nil tree; the message states the remedy
	NotFound           Code = C.LK_NOT_FOUND           // no such key, tree or database
	AlreadyExists      Code = C.LK_ALREADY_EXISTS      // Insert: the tree holds the key
	PermissionDenied   Code = C.LK_PERMISSION_DENIED   // of the operating system
	ResourceExhausted  Code = C.LK_RESOURCE_EXHAUSTED  // disk full or out of memory: no effect, may be tried again
	FailedPrecondition Code = C.LK_FAILED_PRECONDITION // a database, transaction or cursor that is over
	Aborted            Code = C.LK_ABORTED             // conflict or deadlock: run the transaction again
	Internal           Code = C.LK_INTERNAL            // a defect of the library
	Unavailable        Code = C.LK_UNAVAILABLE         // the device failed
	DataLoss           Code = C.LK_DATA_LOSS           // a page failed its proof
)

// String returns the name of the code, as "NOT_FOUND".
func (c Code) String() string { return C.GoString(C.lk_code_name(C.lk_code(c))) }

// Error is the error of every call of this package. Compare kinds with errors.Is:
//
//	if errors.Is(err, latchkey.ErrNotFound) ...
//
// NotFound is fs.ErrNotExist as well, AlreadyExists fs.ErrExist, PermissionDenied fs.ErrPermission.
type Error struct {
	Code    Code
	Message string
}

func (e *Error) Error() string {
	if e == nil {
		return "latchkey: nil error"
	}
	return "latchkey: " + e.Message
}

// One error of each kind, for errors.Is.
var (
	ErrCancelled          = &Error{Cancelled, "cancelled"}
	ErrUnknown            = &Error{Unknown, "unknown failure"}
	ErrInvalidArgument    = &Error{InvalidArgument, "invalid argument"}
	ErrNotFound           = &Error{NotFound, "not found"}
	ErrAlreadyExists      = &Error{AlreadyExists, "already exists"}
	ErrPermissionDenied   = &Error{PermissionDenied, "permission denied"}
	ErrResourceExhausted  = &Error{ResourceExhausted, "resource exhausted"}
	ErrFailedPrecondition = &Error{FailedPrecondition, "failed precondition"}
	ErrAborted            = &Error{Aborted, "aborted: run the transaction again"}
	ErrInternal           = &Error{Internal, "internal"}
	ErrUnavailable        = &Error{Unavailable, "the device failed"}
	ErrDataLoss           = &Error{DataLoss, "data loss"}
)

// Objects that are over. Each is ErrFailedPrecondition as well; ErrClosed is fs.ErrClosed, too.
var (
	ErrClosed = &Error{FailedPrecondition, "the database is closed"}
	ErrTxDone = &Error{FailedPrecondition, "the transaction is over: it was committed or rolled back"}
)

var (
	errNil        = &Error{InvalidArgument, "a nil or zero handle: take it from Open, Tree, Begin, Cursor or Scan"}
	errNoTree     = &Error{InvalidArgument, "the tree is nil: take it from DB.Tree"}
	errNoFunction = &Error{InvalidArgument, "the function is nil"}
	errManaged    = &Error{FailedPrecondition, "DB.Update, View or Run ends this transaction: return nil or an error"}
	errCursorDone = &Error{FailedPrecondition, "the cursor is closed"}
)

var standard = map[Code]error{
	NotFound: fs.ErrNotExist, AlreadyExists: fs.ErrExist, PermissionDenied: fs.ErrPermission,
}

// Is reports whether target is of the same kind. ErrClosed and ErrTxDone are only themselves.
func (e *Error) Is(target error) bool {
	if e == nil {
		return false
	}
	if other, ok := target.(*Error); ok {
		return other != nil && e.Code == other.Code && other != ErrClosed && other != ErrTxDone
	}
	if e == ErrClosed {
		return target == fs.ErrClosed
	}
	return standard[e.Code] == target && target != nil
}

func invalid(message string) error { return &Error{InvalidArgument, message} }
