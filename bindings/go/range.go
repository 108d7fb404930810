package latchkey

// #include "latchkey_go.h"
import "C"

// Range of keys: From <= key < To, or all that begin with Prefix. nil is unbounded.
type Range struct {
	From, To []byte
	Prefix   []byte
	Reverse  bool // of a Scan: from the last key to the first
	// Lend makes a Scan faster: it uses its memory again, so a key or value is valid only until the next step. Copy what
	// you keep. Without it they are yours, and each batch of records takes new memory.
	Lend bool
}

// bounds returns the range with Prefix as From and To.
func (r Range) bounds() (from, to []byte, err error) {
	if r.Prefix == nil {
		return r.From, r.To, nil
	}
	if r.From != nil || r.To != nil {
		return nil, nil, invalid("a Range has Prefix, or From and To: leave one of them nil")
	}
	return r.Prefix, behindPrefix(r.Prefix), nil
}

// behindPrefix is the first key behind all that begin with prefix; nil if there is none.
func behindPrefix(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			end := copyOf(prefix[:i+1])
			end[i]++
			return end
		}
	}
	return nil
}

func rangeOf(from, to []byte) C.lkgo_range {
	var r C.lkgo_range
	if from != nil {
		r.has_from, r.from_size = 1, sizeOf(from)
	}
	if to != nil {
		r.has_to, r.to_size = 1, sizeOf(to)
	}
	return r
}
