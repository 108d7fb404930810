"""Opening, options, trees, batches, statistics, Database.run."""

import json
import logging
import os
import subprocess
import sys
import threading
import unittest

import latchkey
from support import FileTest, MemoryTest, open_in_memory


class Opening(FileTest):

    def test_records_are_there_after_a_close_and_another_open(self):
        with latchkey.open(self.path, cache_size="2MiB") as db:
            db.tree("t")[b"key"] = b"kept"
        with latchkey.open(str(self.path), cache_size=2 << 20) as db:
            self.assertEqual(db.tree("t", create=False)[b"key"], b"kept")
            self.assertEqual(db.path, str(self.path))
            self.assertEqual(db.page_size, 4096)
            self.assertIn("file", db.device)
            db.verify()
            db.checkpoint()

    def test_a_database_is_open_once(self):
        with latchkey.open(self.path):
            with self.assertRaises(latchkey.FailedPrecondition):
                latchkey.open(self.path)

    def test_an_option_of_every_kind_is_taken(self):
        latchkey.open(self.path, create_if_missing=True, space_utilization=0.7, lock_wait_ms=100,
                      durability="group").close()
        with self.assertRaises(latchkey.AlreadyExists) as caught:
            latchkey.open(self.path, error_if_exists=True)
        self.assertIn("test.db", str(caught.exception))

    def test_a_wrong_option_is_an_error_that_names_the_remedy(self):
        with self.assertRaises(latchkey.InvalidArgument) as caught:
            latchkey.open(self.path, cash_size="1MiB")
        self.assertIn("cache-size", str(caught.exception))
        with self.assertRaises(ValueError):  # InvalidArgument is one
            latchkey.open(self.path, cache_size="1Q")
        with self.assertRaises(TypeError):
            latchkey.open(self.path, cache_size=None)
        self.assertFalse(self.path.exists())

    def test_every_option_is_listed_with_its_values(self):
        self.assertIn("cache-size", latchkey.options())
        self.assertTrue(all(latchkey.options().values()))

    def test_a_path_is_str_or_path_without_nul(self):
        with self.assertRaises(TypeError):
            latchkey.open(7)
        with self.assertRaises(ValueError):
            latchkey.open("a\0b")
        with self.assertRaises(latchkey.Error):
            latchkey.open(self.path / "no" / "parent")

    def test_messages_go_to_a_logger(self):
        latchkey.open(self.path).close()
        with self.assertLogs("latchkey", logging.INFO) as caught:
            latchkey.open(self.path, log=logging.getLogger("latchkey").log).close()
        self.assertIn("INFO:latchkey:recovery: ", caught.output[0])

    def test_events_go_to_a_callable(self):
        events = []
        with latchkey.open(self.path, on_event=lambda *event: events.append(event)) as db:
            db.checkpoint()
        kinds = {kind for kind, message, seconds in events if "complete" in message and seconds > 0}
        self.assertEqual(kinds, {"checkpoint"})
        with self.assertRaises(TypeError):
            latchkey.open(self.path, on_event=7)

    def test_a_log_callable_may_raise_but_not_use_a_database(self):
        errors = []

        def log(_level, _message):
            try:
                other_tree.get(b"k")
            except latchkey.FailedPrecondition as error:
                errors.append(str(error))
            raise ZeroDivisionError
        latchkey.open(self.path, cache_size="256MiB").close()
        unraisable, sys.unraisablehook = sys.unraisablehook, lambda _: None
        try:
            with open_in_memory() as other:
                other_tree = other.tree("t")
                latchkey.open(self.path, cache_size="2MiB", log=log).close()
        finally:
            sys.unraisablehook = unraisable
        self.assertIn("log callable", errors[0])
        with self.assertRaises(TypeError):
            latchkey.open(self.path, log="stderr")

    def test_what_is_still_open_at_the_exit_of_the_interpreter_is_closed(self):
        program = (f"import latchkey, threading, time\ndb = latchkey.open({str(self.path)!r}, durability='none')\n"
                   "tree = db.tree('t')\ntree[b'k'] = b'v'\ntx = db.transaction()\nscan = tree.scan()\n"
                   "def write():\n  while True: tree[b'x'] = b'y'\n"
                   "threading.Thread(target=write, daemon=True).start()\ntime.sleep(0.05)\n")
        result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        # The daemon thread may say that the database is closed.
        self.assertEqual(result.returncode, 0, result.stderr)
        with latchkey.open(self.path) as db:  # durability none: refused unless it was closed
            self.assertEqual(db.tree("t")[b"k"], b"v")

    def test_a_child_of_fork_gets_errors_and_the_parent_goes_on(self):
        with latchkey.open(self.path) as db:
            tree = db.tree("t")
            tree[b"k"] = b"v"
            tx = db.transaction()
            tx.put(tree, b"a", b"b")
            child = os.fork()
            if child == 0:
                refused = 0
                for call in (lambda: tree[b"k"], lambda: tx.get(tree, b"k"), db.transaction, db.checkpoint, tx.commit,
                             db.close):
                    try:
                        call()
                    except latchkey.FailedPrecondition:
                        refused += 1
                os._exit(refused)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 6)
            tx.commit()
            self.assertEqual(tree[b"a"], b"b")


class Trees(MemoryTest):

    def test_trees_are_listed_and_dropped(self):
        other = self.db.tree("öther")
        self.assertEqual(sorted(self.db.trees()), ["t", "öther"])
        self.assertEqual(other.name, "öther")
        other[b"k"] = b"v"
        self.db.drop_tree("öther")
        self.assertEqual(self.db.trees(), ["t"])
        with self.assertRaises(latchkey.FailedPrecondition):
            other.get(b"k")
        with self.assertRaises(latchkey.NotFound):
            self.db.drop_tree("öther")
        with self.assertRaises(latchkey.NotFound):
            self.db.tree("öther", create=False)

    def test_a_tree_is_a_mapping_of_bytes(self):
        self.tree[b"a"] = b"1"
        self.tree[b"b"] = bytearray(b"2")
        self.tree[memoryview(b"c")] = b""
        self.assertEqual(self.tree[b"b"], b"2")
        self.assertEqual(self.tree[bytearray(b"c")], b"")
        self.assertIn(b"a", self.tree)
        self.assertNotIn(b"x", self.tree)
        self.assertEqual(dict(self.tree.items()), {b"a": b"1", b"b": b"2", b"c": b""})
        self.assertEqual(list(self.tree), [b"a", b"b", b"c"])
        self.assertEqual(list(self.tree.values()), [b"1", b"2", b""])
        del self.tree[b"a"]
        with self.assertRaises(KeyError):  # NotFound is one
            self.tree[b"a"]  # pylint: disable=pointless-statement
        with self.assertRaises(latchkey.NotFound):
            del self.tree[b"a"]
        self.assertIsNone(self.tree.get(b"a"))
        self.assertEqual(self.tree.get(b"a", 7), 7)
        self.assertTrue(self.tree.delete(b"b"))
        self.assertFalse(self.tree.delete(b"b"))

    def test_a_view_shows_a_value_without_a_copy_and_outlives_the_database(self):
        self.tree[b"large"] = os.urandom(100_000)
        view = self.tree.get_view(b"large")
        copy = self.tree[b"large"]
        self.tree[b"large"] = b"other"
        self.db.close()
        self.assertIsInstance(view, memoryview)
        self.assertTrue(view.readonly)
        self.assertEqual(view, copy)

    def test_a_view_of_a_missing_key_is_none(self):
        self.assertIsNone(self.tree.get_view(b"x"))

    def test_a_scan_keeps_its_snapshot(self):
        self.fill(1000)
        scan = self.tree.scan()
        first = next(scan)
        for key in list(self.tree.keys(b"100")):
            del self.tree[key]
        self.assertEqual(first, (b"000", b"v0"))
        self.assertEqual(len(list(scan)), 999)
        self.assertEqual(len(list(self.tree)), 100)

    def test_a_batch_is_written_at_the_end_of_its_block(self):
        with self.db.write_batch() as batch:
            batch.put(self.tree, b"a", b"1")
            batch.delete(self.tree, b"missing")
            self.assertEqual(len(batch), 2)
            self.assertNotIn(b"a", self.tree)
        self.assertEqual(self.tree[b"a"], b"1")
        self.assertEqual(len(batch), 0)
        with self.assertRaises(ZeroDivisionError):
            with self.db.write_batch() as batch:
                batch.put(self.tree, b"b", b"1")
                raise ZeroDivisionError
        self.assertNotIn(b"b", self.tree)
        batch.put(self.tree, b"c", b"1")
        self.db.write(batch)
        self.assertIn(b"c", self.tree)


class Figures(MemoryTest):

    def test_statistics_are_a_dict_of_numbers(self):
        self.tree[b"a"] = b"1"
        figures = self.db.statistics()
        self.assertGreaterEqual(figures["commits"], 1)
        self.assertIsInstance(figures["space_utilization"], float)
        self.assertIsNone(figures["log.records"])  # durability none has no log
        self.db.reset_statistics_extremes()

    def test_metrics_are_text_for_monitoring_systems(self):
        self.assertIn("\nlatchkey_commits_total ", self.db.metrics())
        metrics = json.loads(self.db.metrics(format="json"))
        self.assertEqual(metrics["statistics"]["cache_bytes"], self.db.statistics()["cache_bytes"])
        self.assertIn("count", metrics["latencies"]["write"])
        with self.assertRaises(latchkey.InvalidArgument):
            self.db.metrics("xml")

    def test_the_cache_is_resized(self):
        self.db.set_cache_size(16 << 20)
        self.assertEqual(self.db.statistics()["cache_bytes"], 16 << 20)
        with self.assertRaises(latchkey.InvalidArgument):
            self.db.set_cache_size(1)
        for wrong in (-1, 1 << 64):
            with self.assertRaises(OverflowError):
                self.db.set_cache_size(wrong)

    def test_run_commits_and_returns_the_result(self):
        self.assertEqual(self.db.run(lambda tx: tx.put(self.tree, b"a", b"1") or 7), 7)
        self.assertEqual(self.tree[b"a"], b"1")
        with self.assertRaises(ZeroDivisionError):
            self.db.run(lambda tx: tx.put(self.tree, b"a", b"2") or 1 / 0)
        self.assertEqual(self.tree[b"a"], b"1")

    def test_run_repeats_what_was_aborted(self):
        self.tree[b"n"] = b"0"

        def count(tx):
            tx.put(self.tree, b"n", b"%d" % (int(tx.get(self.tree, b"n")) + 1))

        threads = [threading.Thread(target=lambda: [self.db.run(count) for _ in range(50)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.tree[b"n"], b"200")

    def test_run_gives_up_after_its_attempts(self):
        calls = []

        def fail(_tx):
            calls.append(1)
            raise latchkey.Aborted()  # asks for a repetition
        with self.assertRaisesRegex(latchkey.Aborted, "gave up after 3 attempts"):
            self.db.run(fail, attempts=3)
        self.assertEqual(len(calls), 3)
        with self.assertRaises(ValueError):
            self.db.run(fail, attempts=0)

    def test_run_gives_up_what_conflicts_with_itself_each_time(self):
        calls = []
        self.tree[b"k"] = b""

        def conflict(tx):
            calls.append(1)
            tx.get(self.tree, b"k")
            self.tree[b"k"] = b"by another transaction"
            tx.put(self.tree, b"k", b"mine")
        with self.assertRaisesRegex(latchkey.Aborted, "gave up after 3 attempts: .*"):
            self.db.run(conflict, attempts=3)
        self.assertEqual(len(calls), 3)

    # run() repeated for ever a transaction that waits for a key of its own thread.
    def test_run_ends_at_once_when_it_waits_for_itself(self):
        calls = []

        def nested(tx):
            calls.append("outer")
            tx.put(self.tree, b"k", b"")
            self.db.run(lambda inner: inner.put(self.tree, b"k", b""))

        def alone(tx):
            calls.append("outer")
            tx.put(self.tree, b"k", b"")
            self.tree[b"k"] = b""
        for function in (nested, alone):
            calls.clear()
            with self.assertRaisesRegex(latchkey.Aborted, "this thread would wait for itself"):
                self.db.run(function)
            self.assertEqual(calls, ["outer"])
        with self.db.transaction() as holder:
            holder.put(self.tree, b"k", b"")
            with self.assertRaisesRegex(latchkey.Aborted, "this thread"):
                self.db.run(lambda tx: tx.put(self.tree, b"k", b""))
            loser = self.db.transaction()
            with self.assertRaises(latchkey.Aborted):
                loser.put(self.tree, b"k", b"")
            self.assertTrue(loser.was_aborted and loser.is_vain_to_repeat)
            loser.rollback()
            self.assertTrue(loser.was_aborted and loser.is_vain_to_repeat)
            self.assertFalse(holder.was_aborted or holder.is_vain_to_repeat)


if __name__ == "__main__":
    unittest.main()
