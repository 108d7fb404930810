"""Wrong calls in every order give exceptions, never crashes."""

import gc
import os
import threading
import unittest
import warnings

import latchkey
from support import MemoryTest, open_in_memory


class Ends(MemoryTest):

    def test_every_call_after_close_is_refused(self):
        tx = self.db.transaction()
        cursor = tx.cursor(self.tree)
        point = tx.savepoint()
        self.fill()
        scan, tree_scan = tx.scan(self.tree), self.tree.scan()
        next(scan), next(tree_scan)
        cursor.first()
        batch = self.db.write_batch()
        self.db.close()
        calls = [
            self.db.close, self.db.trees, self.db.transaction, self.db.snapshot, self.db.write_batch, self.db.checkpoint,
            self.db.sync, lambda: self.db.rename_tree("t", "u"), lambda: self.db.bulk_loader("x"),
            lambda: self.db.backup("nowhere"), lambda: self.tree.get_many([b"k"]), self.tree.approximate_count,
            self.tree.approximate_bytes, self.tree.delete_range, self.tree.clear,
            self.db.verify, self.db.statistics, self.db.metrics, self.db.reset_statistics_extremes, self.db.__enter__,
            lambda: self.db.tree("t"), lambda: self.db.drop_tree("t"), lambda: self.db.set_cache_size(1 << 24),
            lambda: self.db.write(batch), lambda: self.db.page_size, lambda: self.db.device,
            lambda: self.db.run(lambda tx: None),
            lambda: self.tree[b"k"], lambda: self.tree.get(b"k"), lambda: self.tree.get_view(b"k"),
            lambda: self.tree.put(b"k", b"v"), lambda: self.tree.delete(b"k"), lambda: b"k" in self.tree,
            lambda: list(self.tree), self.tree.scan, self.tree.keys, self.tree.values,
            lambda: self.tree.__setitem__(b"k", b"v"), lambda: self.tree.__delitem__(b"k"),
            lambda: tx.get(self.tree, b"k"), lambda: tx.get_for_update(self.tree, b"k"),
            lambda: tx.get_view(self.tree, b"k"), lambda: tx.put(self.tree, b"k", b"v"),
            lambda: tx.insert(self.tree, b"k", b"v"), lambda: tx.delete(self.tree, b"k"),
            lambda: tx.put_parts(self.tree, b"k", [b"v"]), lambda: tx.get_part(self.tree, b"k", 0, 1),
            lambda: tx.value_size(self.tree, b"k"),
            lambda: tx.prefetch(self.tree, [b"k"]), lambda: tx.scan(self.tree), lambda: tx.cursor(self.tree),
            lambda: tx.rollback_to(point), tx.savepoint, tx.commit, tx.rollback, tx.__enter__,
            cursor.first, cursor.last, cursor.next, cursor.prev, lambda: cursor.seek(b"k"),
            lambda: cursor.seek_for_prev(b"k"), lambda: next(scan), lambda: next(tree_scan)]
        for number, call in enumerate(calls):
            with self.subTest(number=number), self.assertRaises(latchkey.FailedPrecondition):
                call()
        self.assertTrue(self.db.closed)
        self.assertFalse(tx.is_open)
        scan.close()
        cursor.close()
        self.db.__exit__(None, None, None)

    def test_every_call_after_the_end_of_a_transaction_is_refused(self):
        self.fill()
        tx = self.db.transaction()
        cursor, scan, point = tx.cursor(self.tree), tx.scan(self.tree), tx.savepoint()
        cursor.first()
        next(scan)
        tx.commit()
        for call in (tx.commit, tx.rollback, tx.savepoint, lambda: tx.rollback_to(point), lambda: tx.get(self.tree, b"k"),
                     lambda: tx.put(self.tree, b"k", b"v"), lambda: tx.scan(self.tree), lambda: tx.cursor(self.tree),
                     cursor.next, cursor.first, lambda: next(scan), tx.__enter__):
            with self.assertRaises(latchkey.FailedPrecondition):
                call()
        self.assertEqual(cursor.key, b"000")  # a copy
        cursor.close()
        for call in (cursor.close, cursor.first, lambda: cursor.key, cursor.__enter__):
            with self.assertRaises(latchkey.FailedPrecondition):
                call()

    def test_objects_go_away_in_any_order(self):
        def make():
            db = open_in_memory()
            tree = db.tree("t")
            tree[b"a"] = b"1"
            tx = db.transaction()
            tx.put(tree, b"b", b"1")
            scan, own_scan, cursor = tx.scan(tree), tree.scan(), tx.cursor(tree)
            next(scan), next(own_scan), cursor.first()
            return [db, tree, tx, scan, own_scan, cursor, tree.get_view(b"a"), db.write_batch()]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            for first in range(8):
                objects = make()
                if first % 2:
                    objects[0].close()
                objects = objects[first:] + objects[:first]
                while objects:
                    objects.pop()

    def test_a_database_that_nobody_closes_is_closed_with_a_warning(self):
        with self.assertWarns(ResourceWarning):
            open_in_memory()
            gc.collect()

    def test_a_database_in_a_cycle_with_its_log_is_collected(self):
        class Owner:
            def __init__(self):
                self.db = open_in_memory(log=self.note)

            def note(self, _level, _message):
                pass
        with self.assertWarns(ResourceWarning):
            Owner()
            gc.collect()


class Arguments(MemoryTest):

    def test_wrong_types_are_type_errors(self):
        tx = self.db.transaction()
        batch = self.db.write_batch()
        for wrong in (None, "text", 7, 1.5, [1], object()):
            for call in (lambda w=wrong: self.tree.get(w), lambda w=wrong: self.tree.put(w, b"v"),
                         lambda w=wrong: self.tree.put(b"k", w), lambda w=wrong: self.tree.delete(w),
                         lambda w=wrong: tx.get(self.tree, w), lambda w=wrong: tx.get(w, b"k"),
                         lambda w=wrong: tx.put(self.tree, b"k", w), lambda w=wrong: tx.put(self.tree, w, b"v"),
                         lambda w=wrong: tx.delete(w, b"k"), lambda w=wrong: tx.rollback_to(w),
                         lambda w=wrong: tx.prefetch(self.tree, [w]), lambda w=wrong: tx.cursor(self.tree).seek(w),
                         lambda w=wrong: batch.put(self.tree, w, b"v"), lambda w=wrong: batch.put(w, b"k", b"v"),
                         lambda w=wrong: batch.delete(self.tree, w), lambda w=wrong: self.db.write(w)):
                with self.assertRaises(TypeError):
                    call()
        for wrong in ("text", 7):
            for call in (lambda w=wrong: self.tree.scan(w), lambda w=wrong: self.tree.scan(b"a", w),
                         lambda w=wrong: self.tree.scan(prefix=w)):
                with self.assertRaises(TypeError):
                    call()
        for call in (self.tree.get, tx.get, tx.put, batch.put, lambda: self.tree.get(b"k", 1, 2),
                     lambda: self.db.tree(b"t"), lambda: self.db.tree(7), lambda: self.tree.scan(b"a", prefix=b"a"),
                     lambda: tx.scan(), lambda: self.db.set_cache_size("8MiB")):
            with self.assertRaises(TypeError):
                call()

    def test_the_types_cannot_be_made_by_hand(self):
        for kind in (latchkey.Tree, latchkey.Transaction, latchkey.Cursor, latchkey.Scan, latchkey.WriteBatch,
                     latchkey.Savepoint, type(self.db)):
            with self.assertRaises(TypeError):
                kind()

    def test_limits_are_errors_that_name_them(self):
        with self.assertRaises(latchkey.InvalidArgument) as caught:
            self.tree.put(b"k" * 1025, b"v")
        self.assertIn("1024", str(caught.exception))
        self.tree.put(b"k" * latchkey.MAX_KEY_SIZE, b"v")
        self.tree.put(b"", b"")
        self.assertEqual(self.tree[b""], b"")
        with self.assertRaises(latchkey.InvalidArgument):
            self.db.tree("n" * 256)
        with self.assertRaises(latchkey.InvalidArgument):
            self.db.tree("")
        with self.assertRaises(ValueError):
            self.tree.scan(prefix=b"p" * 1025)
        with self.assertRaises((latchkey.InvalidArgument, latchkey.NotFound)):
            self.tree[b"k" * 100_000]  # pylint: disable=expression-not-assigned
        with self.assertRaises(UnicodeEncodeError):
            self.db.tree("\ud800")

    def test_a_tree_of_another_database_is_refused(self):
        with open_in_memory() as other:
            tree = other.tree("t")
            with self.db.transaction() as tx:
                for call in (lambda: tx.get(tree, b"k"), lambda: tx.put(tree, b"k", b"v"), lambda: list(tx.scan(tree))):
                    with self.assertRaises(latchkey.FailedPrecondition):
                        call()
            batch = self.db.write_batch()
            batch.put(tree, b"k", b"v")
            with self.assertRaises(latchkey.FailedPrecondition):
                self.db.write(batch)
            tx = self.db.transaction()
        with self.assertRaises(latchkey.FailedPrecondition):
            tx.get(tree, b"k")  # of a closed one

    def test_a_writable_buffer_is_copied(self):
        key, value = bytearray(b"key"), bytearray(b"value")
        self.tree.put(key, value)
        key[0], value[0] = 0, 0
        self.assertEqual(self.tree[b"key"], b"value")
        with self.assertRaises(TypeError):
            self.tree.get_view(b"key")[0] = 1


class Threads(MemoryTest):

    def run_threads(self, *functions):
        """Runs each function in a thread; what one raises fails the test unless it is a latchkey.Error."""
        failures = []

        def guarded(function):
            try:
                function()
            except latchkey.FailedPrecondition:
                pass
            except BaseException as error:  # pylint: disable=broad-except
                failures.append(error)
        threads = [threading.Thread(target=guarded, args=(f,)) for f in functions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_threads_share_a_database(self):
        def write(name):
            for number in range(300):
                with self.db.transaction() as tx:
                    tx.put(self.tree, b"%s%d" % (name, number), b"v")
                self.tree[b"%s!%d" % (name, number)] = b"v"
        self.run_threads(*[lambda n=n: write(n) for n in (b"a", b"b", b"c", b"d")])
        self.assertEqual(len(list(self.tree)), 4 * 600)

    def test_a_close_waits_for_the_calls_of_other_threads(self):
        self.fill(900)

        def read():
            while True:
                self.tree.get(b"005")
                list(self.tree.keys(prefix=b"0"))

        def write():
            number = 0
            while True:
                number += 1
                with self.db.transaction() as tx:
                    tx.put(self.tree, b"w%d" % number, b"v")

        def close():
            threading.Event().wait(0.1)
            self.db.close()
        self.run_threads(read, read, write, write, close)
        self.assertTrue(self.db.closed)

    def test_a_transaction_of_two_threads_at_once_gives_errors_at_most(self):
        self.fill(500)
        tx = self.db.transaction()
        scan, cursor = tx.scan(self.tree), tx.cursor(self.tree)
        refused = []

        def use(call):
            for _ in range(2000):
                try:
                    call()
                except latchkey.FailedPrecondition:
                    refused.append(1)
                except StopIteration:
                    pass
        self.run_threads(lambda: use(lambda: tx.put(self.tree, os.urandom(4), b"v")), lambda: use(lambda: next(scan)),
                         lambda: use(cursor.first), lambda: use(lambda: tx.get(self.tree, b"005")),
                         lambda: use(lambda: tx.scan(self.tree)))
        tx.rollback()
        self.assertEqual(len(list(self.tree)), 500)

    def test_a_close_of_a_scan_that_another_thread_reads_with_is_refused_at_most(self):
        # It freed the memory into which the other thread was reading.
        self.fill(500)
        with self.db.snapshot() as tx:
            for _ in range(200):
                scan = tx.scan(self.tree)

                def close(scan=scan):
                    for _ in range(20):
                        scan.close()
                self.run_threads(lambda scan=scan: list(scan), close)
            self.assertEqual(len(list(tx.scan(self.tree))), 500)

    def test_a_wait_for_a_lock_lets_other_threads_run(self):
        holder = self.db.transaction()
        holder.put(self.tree, b"k", b"1")
        waiting, done = threading.Event(), []

        def wait():
            with self.db.transaction() as tx:
                waiting.set()
                try:
                    tx.put(self.tree, b"k", b"2")
                except latchkey.Aborted:
                    tx.rollback()
                done.append(1)
        thread = threading.Thread(target=wait)
        thread.start()
        waiting.wait()
        for _ in range(1000):
            self.assertIsNone(self.tree.get(b"other"))
        holder.commit()
        thread.join()
        self.assertEqual(done, [1])


if __name__ == "__main__":
    unittest.main()
