//go:build go1.23

package latchkey

import "iter"

// All returns the records that are left, for a range loop, and closes the scan at the loop's end. Afterwards
// Err tells an error from the end:
//
//	for key, value := range scan.All() { ... }
//	return scan.Err()
func (s *Scan) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		defer s.Close()
		for s.Next() {
			if !yield(s.Key(), s.Value()) {
				return
			}
		}
	}
}
