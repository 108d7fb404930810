package latchkey

import (
	"bytes"
	"encoding/binary"
	"math"
)

// KeyWriter builds keys whose bytewise order is the order of their parts: numbers by value, bytes bytewise, a key of
// several parts by its first part, then its second. All keys of a tree should have parts of the same types. A number
// takes 8 bytes; bytes take 2 more than they have, and one for each zero byte. The zero value is empty.
//
//	var key latchkey.KeyWriter
//	orders.Put(key.Bytes(customer).Uint(number).Key(), order)
//	scan := orders.Scan(latchkey.Range{Prefix: new(latchkey.KeyWriter).Bytes(customer).Key()})
type KeyWriter struct{ key []byte }

// Int appends a signed number.
func (w *KeyWriter) Int(number int64) *KeyWriter { return w.Uint(uint64(number) ^ signBit) }

// Uint appends an unsigned number.
func (w *KeyWriter) Uint(number uint64) *KeyWriter {
	w.key = binary.BigEndian.AppendUint64(w.key, number)
	return w
}

// Float appends a number: -0 is 0, and every NaN is the same value, above all others.
func (w *KeyWriter) Float(number float64) *KeyWriter {
	bits := math.Float64bits(number)
	switch {
	case math.IsNaN(number):
		bits = quietNaN
	case number == 0:
		bits = 0
	}
	if bits&signBit != 0 {
		return w.Uint(^bits)
	}
	return w.Uint(bits ^ signBit)
}

// Bytes appends bytes, or the bytes of a string.
func (w *KeyWriter) Bytes(part []byte) *KeyWriter {
	for _, b := range part {
		w.key = append(w.key, b)
		if b == 0 {
			w.key = append(w.key, 0xff)
		}
	}
	w.key = append(w.key, 0, 1)
	return w
}

// Key returns a copy of the key.
func (w *KeyWriter) Key() []byte { return copyOf(w.key) }

// Clear empties the key and keeps its memory.
func (w *KeyWriter) Clear() *KeyWriter {
	w.key = w.key[:0]
	return w
}

const (
	signBit  = uint64(1) << 63
	quietNaN = uint64(0x7ff8) << 48
)

// KeyReader reads the parts of a key of KeyWriter in their order. A part that the key cannot have there is 0 or nil,
// and Err then returns ErrInvalidArgument.
type KeyReader struct {
	rest []byte
	err  error
}

// NewKeyReader reads key, which must not change meanwhile.
func NewKeyReader(key []byte) *KeyReader { return &KeyReader{rest: key} }

// Int reads a signed number.
func (r *KeyReader) Int() int64 {
	number := r.Uint()
	if r.err != nil {
		return 0
	}
	return int64(number ^ signBit)
}

// Uint reads an unsigned number.
func (r *KeyReader) Uint() uint64 {
	if r.err != nil || len(r.rest) < 8 {
		r.fail("number")
		return 0
	}
	number := binary.BigEndian.Uint64(r.rest)
	r.rest = r.rest[8:]
	return number
}

// Float reads a number.
func (r *KeyReader) Float() float64 {
	number := r.Uint()
	if r.err != nil {
		return 0
	}
	if number&signBit != 0 {
		return math.Float64frombits(number ^ signBit)
	}
	return math.Float64frombits(^number)
}

// Bytes reads bytes; never nil without an error.
func (r *KeyReader) Bytes() []byte {
	part := []byte{}
	for rest := r.rest; r.err == nil; {
		zero := bytes.IndexByte(rest, 0)
		if zero < 0 || zero+1 == len(rest) || rest[zero+1] != 1 && rest[zero+1] != 0xff {
			break
		}
		part = append(part, rest[:zero]...)
		end := rest[zero+1] == 1
		rest = rest[zero+2:]
		if end {
			r.rest = rest
			return part
		}
		part = append(part, 0)
	}
	r.fail("bytes")
	return nil
}

// AtEnd reports whether every part was read.
func (r *KeyReader) AtEnd() bool { return r.err == nil && len(r.rest) == 0 }

// Err returns the first error.
func (r *KeyReader) Err() error { return r.err }

func (r *KeyReader) fail(part string) {
	if r.err == nil {
		r.err = invalid("the key has no " + part + " here: read the parts in the order in which KeyWriter got them")
	}
}
