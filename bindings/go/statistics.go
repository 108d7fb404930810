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
	IsCounter bool   // it only grows while the database is open; false: a state of now
	Help      string // a line about it
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
				uint64(figure.integer), float64(figure.real), figure.is_counter != 0, C.GoString(figure.help)}
		}
	}
	C.lk_statistics_release(list, nil)
	return figures, db.leave(s, C.LK_OK)
}

// MetricsFormat is how Metrics writes.
type MetricsFormat int

// The formats: Prometheus's text format, and JSON.
const (
	PrometheusMetrics MetricsFormat = C.LK_METRICS_PROMETHEUS
	JSONMetrics       MetricsFormat = C.LK_METRICS_JSON
)

// Metrics returns all statistics and latencies as text for monitoring systems.
func (db *DB) Metrics(format MetricsFormat) (string, error) {
	s, err := db.enter()
	if err != nil {
		return "", err
	}
	code := C.lk_metrics(db.handle, C.int(format), &s.c.value, &s.c.error)
	text := ""
	if code == C.LK_OK {
		text = string(s.view())
	}
	return text, db.leave(s, code)
}

// ResetStatisticsExtremes restarts the minimum and maximum of space utilisation from now.
func (db *DB) ResetStatisticsExtremes() error {
	s, err := db.enter()
	if err != nil {
		return err
	}
	return db.leave(s, C.lk_reset_statistics_extremes(db.handle, &s.c.error))
}
