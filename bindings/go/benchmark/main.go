// The same loops over Latchkey and over bbolt, one goroutine, operations/s. A module of its own: neither the build nor a
// test needs bbolt.
//
//	go run . [-records=200000] [-repeat=5] [-rounds=1] [-cpu] [-directory=DIR] [-only=scan]
//
// Each repetition makes new databases on files and runs all loops on one engine, then on the other; the order alternates. A
// figure is the median of the repetitions, +- half their range. The ratio is the median of the ratios of one repetition.
// Both work without syncs: Latchkey with durability none, bbolt with NoSync. Keys have 16 bytes, values 100.
//
// With -rounds each scan runs so many times in a repetition, and its median counts: the data is warm. With -cpu a rate is
// one per second of processor time of the whole process, the garbage collector's included: other programs disturb it less.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sort"
	"strings"
	"syscall"
	"time"

	"latchkey"

	bolt "go.etcd.io/bbolt"
)

const short = 10  // records of a short scan
const part = 1000 // puts of a transaction of medium size

var value = make([]byte, 100)

// What the scans that keep their records have kept last: the compiler cannot leave the copies away.
var keptKey, keptValue []byte

// engine has the loops as its users write them.
type engine interface {
	put(keys [][]byte)
	get(keys [][]byte)
	getAlone(keys [][]byte)
	scan(from []byte, most int) int
	keep() int
	lent() int
	forEach() int
	scanMany(keys [][]byte)
	leaveMany(keys [][]byte)
	close()
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

type latchkeyEngine struct {
	db   *latchkey.DB
	tree *latchkey.Tree
}

func openLatchkey(path string) engine {
	db, err := latchkey.Open(path, &latchkey.Options{CacheBytes: 512 << 20, Durability: "none"})
	must(err)
	tree, err := db.Tree("t")
	must(err)
	return &latchkeyEngine{db, tree}
}

func (e *latchkeyEngine) put(keys [][]byte) {
	must(e.db.Update(func(tx *latchkey.Tx) error {
		for _, key := range keys {
			if err := tx.Put(e.tree, key, value); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (e *latchkeyEngine) get(keys [][]byte) {
	must(e.db.View(func(tx *latchkey.Tx) error {
		var buffer []byte
		var err error
		for _, key := range keys {
			if buffer, err = tx.AppendGet(buffer[:0], e.tree, key); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (e *latchkeyEngine) getAlone(keys [][]byte) {
	var buffer []byte
	var err error
	for _, key := range keys {
		buffer, err = e.tree.AppendGet(buffer[:0], key)
		must(err)
	}
}

func walk(scan *latchkey.Scan, most int) (count int) {
	for count < most && scan.Next() {
		count += min(1, len(scan.Key())*len(scan.Value()))
	}
	must(scan.Close())
	return count
}

func (e *latchkeyEngine) scan(from []byte, most int) int {
	return walk(e.tree.Scan(latchkey.Range{From: from}), most)
}

// keep keeps every record.
func (e *latchkeyEngine) keep() (count int) {
	scan := e.tree.Scan(latchkey.Range{})
	for scan.Next() {
		keptKey, keptValue = scan.Key(), scan.Value()
		count++
	}
	must(scan.Close())
	return count
}

// lent reads without keeping a record.
func (e *latchkeyEngine) lent() (count int) {
	scan := e.tree.Scan(latchkey.Range{Lend: true})
	for key, value := range scan.All() {
		count += min(1, len(key)*len(value))
	}
	must(scan.Err())
	return count
}

func (e *latchkeyEngine) forEach() (count int) {
	must(e.tree.ForEach(latchkey.Range{}, func(key, value []byte) error {
		count += min(1, len(key)*len(value))
		return nil
	}))
	return count
}

// scanMany leaves each loop early.
func (e *latchkeyEngine) scanMany(keys [][]byte) {
	must(e.db.View(func(tx *latchkey.Tx) error {
		for _, from := range keys {
			scan, count := tx.Scan(e.tree, latchkey.Range{From: from, Lend: true}), 0
			for key, value := range scan.All() {
				if count += min(1, len(key)*len(value)); count == short {
					break
				}
			}
			must(scan.Err())
		}
		return nil
	}))
}

// leaveMany is scanMany by Next and Close.
func (e *latchkeyEngine) leaveMany(keys [][]byte) {
	must(e.db.View(func(tx *latchkey.Tx) error {
		for _, key := range keys {
			walk(tx.Scan(e.tree, latchkey.Range{From: key, Lend: true}), short)
		}
		return nil
	}))
}

func (e *latchkeyEngine) close() { must(e.db.Close()) }

type boltEngine struct{ db *bolt.DB }

var bucket = []byte("t")

func openBolt(path string) engine {
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true, NoFreelistSync: true, FreelistType: bolt.FreelistMapType,
		InitialMmapSize: 1 << 30})
	must(err)
	must(db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucket(bucket)
		return err
	}))
	return &boltEngine{db}
}

func (e *boltEngine) put(keys [][]byte) {
	must(e.db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucket)
		for _, key := range keys {
			if err := b.Put(key, value); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (e *boltEngine) get(keys [][]byte) {
	must(e.db.View(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucket)
		for _, key := range keys {
			if b.Get(key) == nil {
				log.Fatal("missing")
			}
		}
		return nil
	}))
}

func (e *boltEngine) getAlone(keys [][]byte) {
	for i := range keys {
		e.get(keys[i : i+1])
	}
}

func walkBolt(tx *bolt.Tx, from []byte, most int) (count int) {
	c := tx.Bucket(bucket).Cursor()
	for k, v := c.Seek(from); k != nil && count < most; k, v = c.Next() {
		count += min(1, len(k)*len(v))
	}
	return count
}

func (e *boltEngine) scan(from []byte, most int) (count int) {
	must(e.db.View(func(tx *bolt.Tx) error { count = walkBolt(tx, from, most); return nil }))
	return count
}

// keep copies, because what bbolt returns ends with the transaction.
func (e *boltEngine) keep() (count int) {
	must(e.db.View(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucket).Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			keptKey, keptValue = bytes.Clone(k), bytes.Clone(v)
			count++
		}
		return nil
	}))
	return count
}

func (e *boltEngine) lent() int { return e.scan(nil, 1<<62) }

func (e *boltEngine) forEach() (count int) {
	must(e.db.View(func(tx *bolt.Tx) error {
		return tx.Bucket(bucket).ForEach(func(key, value []byte) error {
			count += min(1, len(key)*len(value))
			return nil
		})
	}))
	return count
}

func (e *boltEngine) scanMany(keys [][]byte) {
	must(e.db.View(func(tx *bolt.Tx) error {
		for _, key := range keys {
			walkBolt(tx, key, short)
		}
		return nil
	}))
}

func (e *boltEngine) leaveMany(keys [][]byte) { e.scanMany(keys) }

func (e *boltEngine) close() { must(e.db.Close()) }

// loop runs over a share of the keys and returns the number of its operations.
type loop struct {
	name string
	run  func(e engine, keys [][]byte) int
}

var loops = []loop{
	{"put of new records, one transaction", func(e engine, k [][]byte) int { e.put(k); return len(k) }},
	{"put of old records, 1000 a transaction", putInParts},
	{"put, a transaction each", func(e engine, k [][]byte) int {
		k = k[:len(k)/10]
		for i := range k {
			e.put(k[i : i+1])
		}
		return len(k)
	}},
	{"get, one transaction", func(e engine, k [][]byte) int { e.get(k); return len(k) }},
	{"get, a transaction each", func(e engine, k [][]byte) int { e.getAlone(k); return len(k) }},
	{"scan of everything, every record kept", func(e engine, k [][]byte) int { return e.keep() }},
	{"scan of everything, not lent, nothing kept", func(e engine, k [][]byte) int { return e.scan(nil, len(k)+1) }},
	{"scan of everything, lent", func(e engine, k [][]byte) int { return e.lent() }},
	{"scan of everything by ForEach", func(e engine, k [][]byte) int { return e.forEach() }},
	{"scan of 10 records", func(e engine, k [][]byte) int {
		k = k[:len(k)/10]
		e.scanMany(k)
		return len(k) * short
	}},
	{"scan of 10 records by Next and Close", func(e engine, k [][]byte) int {
		k = k[:len(k)/10]
		e.leaveMany(k)
		return len(k) * short
	}},
}

func putInParts(e engine, keys [][]byte) int {
	for i := 0; i < len(keys); i += part {
		e.put(keys[i:min(i+part, len(keys))])
	}
	return len(keys)
}

// keepOnly leaves the loops that have text in their names.
func keepOnly(text string) {
	var kept []loop
	for _, l := range loops {
		if strings.Contains(l.name, text) {
			kept = append(kept, l)
		}
	}
	if len(kept) == 0 {
		log.Fatalf("-only=%s: no loop has this in its name", text)
	}
	loops = kept
}

func runLoops(e engine, keys [][]byte, load bool) map[string]float64 {
	if load {
		putInParts(e, keys)
	}
	rates := map[string]float64{}
	for _, l := range loops {
		rounds := 1
		if strings.HasPrefix(l.name, "scan") {
			rounds = max(1, *scanRounds)
		}
		seen := make([]float64, rounds)
		for i := range seen {
			runtime.GC()
			started := now()
			count := l.run(e, keys)
			seen[i] = float64(count) / (now() - started).Seconds()
		}
		rates[l.name], _ = median(seen)
	}
	e.close()
	return rates
}

func median(values []float64) (middle, halfRange float64) {
	sort.Float64s(values)
	middle = values[len(values)/2]
	return middle, (values[len(values)-1] - values[0]) / 2 / middle
}

// now is the time of the clock that -cpu chooses.
func now() time.Duration {
	if !*onCPU {
		return time.Since(begin)
	}
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

var begin = time.Now()
var scanRounds = flag.Int("rounds", 1, "runs of each scan in a repetition")
var onCPU = flag.Bool("cpu", false, "processor time instead of the clock's")

func main() {
	records := flag.Int("records", 200_000, "records")
	repeat := flag.Int("repeat", 5, "repetitions")
	only := flag.String("only", "", "run the loops that have this in their names; the records are loaded before")
	directory := flag.String("directory", "", "where the databases go")
	flag.Parse()
	keepOnly(*only)
	keys := make([][]byte, *records)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "user%012d", i)
	}
	rand.New(rand.NewSource(42)).Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	ours, theirs, ratios := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	for r := 0; r < *repeat; r++ {
		rates := [2]map[string]float64{}
		for i := range rates {
			folder, err := os.MkdirTemp(*directory, "benchmark")
			must(err)
			which := (i + r) % 2
			path := filepath.Join(folder, "db")
			if which == 0 {
				rates[0] = runLoops(openLatchkey(path), keys, *only != "")
			} else {
				rates[1] = runLoops(openBolt(path), keys, *only != "")
			}
			must(os.RemoveAll(folder))
			debug.FreeOSMemory()
		}
		for _, l := range loops {
			ours[l.name] = append(ours[l.name], rates[0][l.name])
			theirs[l.name] = append(theirs[l.name], rates[1][l.name])
			ratios[l.name] = append(ratios[l.name], rates[0][l.name]/rates[1][l.name])
		}
	}
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		fmt.Println(module.Path, module.Version)
	}
	fmt.Printf("%d records, %d repetitions, %s, Latchkey %s\n\n| loop | Latchkey | bbolt | ratio |\n| --- | --- | --- | --- |\n",
		*records, *repeat, runtime.Version(), latchkey.Version())
	for _, l := range loops {
		a, da := median(ours[l.name])
		b, db := median(theirs[l.name])
		ratio, _ := median(ratios[l.name])
		fmt.Printf("| %s | %.0f/s +-%.0f%% | %.0f/s +-%.0f%% | %.2f |\n", l.name, a, da*100, b, db*100, ratio)
	}
}
