//go:build go1.23

package latchkey

import "iter"

// All returns the records that are left, for a range loop, and closes the scan at the loop's end. With Range.Lend key
// and value are valid in their step of the loop only. Afterwards Err tells an error from the end:
//
//	for key, value := range scan.All() { ... }
//	return scan.Err()
func (s *Scan) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		defer s.finish()
		if s.Next() && yield(s.Key(), s.Value()) {
			s.each(yield)
		}
	}
}
