#!/usr/bin/env python3
"""The same loops over Latchkey and over LMDB (py-lmdb, Debian's python3-lmdb), one thread, operations/s.

    benchmark.py [--records=200000] [--repeat=5] [--directory=DIR] [--json=FILE]

Each repetition makes new databases on files and runs all loops on one engine, then on the other; the order alternates. A
figure is the median of the repetitions, +- half their range. The ratio is the median of the ratios of one repetition. Both
engines work without syncs: Latchkey with durability none, LMDB with sync=False. Records have a key of 16 bytes and a value
of 100. Exit code 1: a ratio is below --least.
"""

import argparse
import gc
import itertools
import json
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

import lmdb

import latchkey

VALUE = b"v" * 100
CACHE = 512 << 20
SHORT = 10  # records of a short scan
PART = 1000  # puts of a transaction of medium size


class Latchkey:
    """The loops as a user of Latchkey writes them."""

    def __init__(self, path):
        self.db = latchkey.open(path, cache_size=CACHE, durability="none")
        self.tree = self.db.tree("t")

    def put(self, keys):
        tree = self.tree
        with self.db.transaction() as tx:
            for key in keys:
                tx.put(tree, key, VALUE)

    def put_in_parts(self, keys):
        for start in range(0, len(keys), PART):
            self.put(keys[start:start + PART])

    def put_alone(self, keys):
        tree = self.tree
        for key in keys:
            tree[key] = VALUE

    def get(self, keys):
        tree = self.tree
        with self.db.snapshot() as tx:
            for key in keys:
                tx.get(tree, key)

    def get_alone(self, keys):
        tree = self.tree
        for key in keys:
            tree[key]  # pylint: disable=pointless-statement

    def scan(self, _keys):
        with self.db.snapshot() as tx:
            return sum(1 for _ in tx.scan(self.tree))

    def first_record(self, keys):
        tree = self.tree
        with self.db.snapshot() as tx:
            for key in keys:
                next(tx.scan(tree, key))

    def short_scan(self, keys):
        tree = self.tree
        with self.db.snapshot() as tx:
            for key in keys:
                for _ in itertools.islice(tx.scan(tree, key), SHORT):
                    pass

    def close(self):
        self.db.close()


class Lmdb:
    """The same loops as a user of py-lmdb writes them."""

    def __init__(self, path):
        self.env = lmdb.open(path, map_size=4 << 30, max_dbs=4, sync=False, metasync=False)
        self.tree = self.env.open_db(b"t")

    def put(self, keys):
        tree = self.tree
        with self.env.begin(write=True) as txn:
            for key in keys:
                txn.put(key, VALUE, db=tree)

    def put_in_parts(self, keys):
        for start in range(0, len(keys), PART):
            self.put(keys[start:start + PART])

    def put_alone(self, keys):
        env, tree = self.env, self.tree
        for key in keys:
            with env.begin(write=True) as txn:
                txn.put(key, VALUE, db=tree)

    def get(self, keys):
        tree = self.tree
        with self.env.begin() as txn:
            for key in keys:
                txn.get(key, db=tree)

    def get_alone(self, keys):
        env, tree = self.env, self.tree
        for key in keys:
            with env.begin() as txn:
                txn.get(key, db=tree)

    def scan(self, _keys):
        with self.env.begin() as txn:
            return sum(1 for _ in txn.cursor(self.tree))

    def first_record(self, keys):
        tree = self.tree
        with self.env.begin() as txn:
            for key in keys:
                cursor = txn.cursor(tree)
                cursor.set_range(key)
                cursor.item()

    def short_scan(self, keys):
        tree = self.tree
        with self.env.begin() as txn:
            for key in keys:
                cursor = txn.cursor(tree)
                cursor.set_range(key)
                for _ in itertools.islice(cursor, SHORT):
                    pass

    def close(self):
        self.env.close()


# Name of the loop, its method, the share of the records that it visits.
LOOPS = [("put of new records, one transaction", "put", 1),
         (f"put of old records, {PART} a transaction", "put_in_parts", 1), ("put, a transaction each", "put_alone", 0.1),
         ("get, one transaction", "get", 1), ("get, a transaction each", "get_alone", 0.5),
         ("scan of everything", "scan", 1), ("first record of a scan", "first_record", 0.1),
         (f"scan of {SHORT} records", "short_scan", 0.1)]


def run_loops(engine, keys):
    """{loop: operations/s}; a scan counts its records."""
    rates = {}
    for name, method, share in LOOPS:
        some = keys[:int(len(keys) * share)]
        gc.collect()
        started = time.perf_counter()
        getattr(engine, method)(some)
        elapsed = time.perf_counter() - started
        rates[name] = len(some) * (SHORT if method == "short_scan" else 1) / elapsed
    engine.close()
    return rates


def measure(records, repeat, directory):
    """[(rates of Latchkey, rates of LMDB)], one pair for each repetition."""
    keys = [b"user%012d" % number for number in range(records)]
    random.Random(42).shuffle(keys)
    pairs = []
    for repetition in range(repeat):
        rates = {}
        for kind in (Latchkey, Lmdb) if repetition % 2 == 0 else (Lmdb, Latchkey):
            with tempfile.TemporaryDirectory(dir=directory) as folder:
                rates[kind] = run_loops(kind(str(Path(folder) / "db")), keys)
        pairs.append((rates[Latchkey], rates[Lmdb]))
        print(f"repetition {repetition + 1} of {repeat}", file=sys.stderr)
    return pairs


def summary(pairs):
    """A row for each loop."""
    rows = []
    for name, _, _ in LOOPS:
        row = {"loop": name, "ratio": statistics.median(ours[name] / theirs[name] for ours, theirs in pairs)}
        for engine, rates in (("latchkey", [p[0][name] for p in pairs]), ("lmdb", [p[1][name] for p in pairs])):
            row[engine] = statistics.median(rates)
            row[engine + "_half_range"] = (max(rates) - min(rates)) / 2 / row[engine]
        rows.append(row)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--directory", default=None, help="where the databases go")
    parser.add_argument("--json", help="also write the rows to this file")
    parser.add_argument("--least", type=float, default=0, help="least ratio that succeeds")
    arguments = parser.parse_args()
    rows = summary(measure(arguments.records, arguments.repeat, arguments.directory))
    print(f"{arguments.records} records, {arguments.repeat} repetitions, Latchkey {latchkey.version}, "
          f"py-lmdb {lmdb.__version__} with LMDB {'.'.join(map(str, lmdb.version()))}\n")
    print("| loop | Latchkey | LMDB | ratio |\n| --- | --- | --- | --- |")
    for row in rows:
        print(f"| {row['loop']} | {row['latchkey']:,.0f}/s +-{row['latchkey_half_range']:.0%} "
              f"| {row['lmdb']:,.0f}/s +-{row['lmdb_half_range']:.0%} | {row['ratio']:.2f} |")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 1 if any(row["ratio"] < arguments.least for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
