package latchkey

// #include "latchkey_go.h"
import "C"

// Statistic is one figure of the database.
type Statistic struct {
	Name      string
	Measured  bool   // false: both values are 0
	IsInteger bool   // Integer is exact, and Real the nearest float64
	Integer   uint64 // counters are since the open
	Real      float64
}

// Statistics returns every figure by its name: "commits", "log.syncs", "space_utilization".
func (db *DB) Statistics() (map[string]Statistic, error) {
	s, err := db.enter()
	if err != nil {
		return nil, err
	}
	var list C.lk_statistics
	if code := C.lk_statistics_take(db.handle, &list, &s.c.error); code != C.LK_OK {
		return nil, db.leave(s, code)
	}
	figures := map[string]Statistic{}
	for i := C.size_t(0); i < C.lk_statistics_count(list); i++ {
		var figure C.lk_statistic
		figure.struct_size = C.uint32_t(C.sizeof_lk_statistic)
		if C.lk_statistics_at(list, i, &figure, nil) == C.LK_OK {
			name := C.GoString(figure.name)
			figures[name] = Statistic{name, figure.is_measured != 0, figure.is_integer != 0,
				uint64(figure.integer), float64(figure.real)}
		}
	}
	C.lk_statistics_release(list, nil)
	return figures, db.leave(s, C.LK_OK)
}

// ResetStatisticsExtremes restarts the minimum and maximum of space utilisation from now.
func (db *DB) ResetStatisticsExtremes() error {
	s, err := db.enter()
	if err != nil {
		return err
	}
	return db.leave(s, C.lk_reset_statistics_extremes(db.handle, &s.c.error))
}
