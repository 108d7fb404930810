"""Transactions, savepoints, scans and cursors."""

import unittest

import latchkey
from support import MemoryTest


class Transactions(MemoryTest):

    def test_a_block_commits_or_rolls_back(self):
        with self.db.transaction() as tx:
            tx.put(self.tree, b"a", b"1")
            self.assertEqual(tx.get(self.tree, b"a"), b"1")
            self.assertIsNone(self.tree.get(b"a"))
            self.assertTrue(tx.is_open)
        self.assertFalse(tx.is_open)
        with self.assertRaises(ZeroDivisionError):
            with self.db.transaction() as tx:
                tx.put(self.tree, b"b", b"1")
                raise ZeroDivisionError
        self.assertEqual(list(self.tree), [b"a"])

    def test_a_block_may_end_its_transaction_itself(self):
        with self.db.transaction() as tx:
            tx.put(self.tree, b"a", b"1")
            tx.commit()
        with self.db.transaction() as tx:
            tx.put(self.tree, b"b", b"1")
            tx.rollback()
        self.assertEqual(list(self.tree), [b"a"])

    def test_a_transaction_that_nobody_ends_is_rolled_back(self):
        tx = self.db.transaction()
        tx.put(self.tree, b"a", b"1")
        del tx
        self.tree[b"a"] = b"2"  # its lock is gone
        self.assertEqual(self.tree[b"a"], b"2")

    def test_of_two_writers_one_is_aborted(self):
        first, second = self.db.transaction(), self.db.transaction()
        self.assertIsNone(second.get(self.tree, b"a"))
        first.put(self.tree, b"a", b"1")
        first.commit()
        with self.assertRaises(latchkey.Aborted) as caught:
            second.put(self.tree, b"a", b"2")
        self.assertEqual(caught.exception.code, 10)
        with self.assertRaises(latchkey.FailedPrecondition):
            second.get(self.tree, b"a")
        second.rollback()

    def test_a_serializable_transaction_notices_what_it_has_read(self):
        with self.assertRaises(latchkey.Aborted):
            with self.db.transaction(isolation="serializable") as tx:
                tx.get(self.tree, b"a")
                tx.put(self.tree, b"b", b"1")
                self.tree[b"a"] = b"1"
        with self.db.transaction(isolation="snapshot") as tx:
            tx.get(self.tree, b"a")
            tx.put(self.tree, b"b", b"1")
            self.tree[b"a"] = b"2"
        with self.assertRaises(ValueError):
            self.db.transaction(isolation="chaos")

    def test_a_snapshot_does_not_change_and_refuses_writes(self):
        self.tree[b"a"] = b"1"
        with self.db.snapshot() as snapshot:
            self.assertEqual(snapshot.get(self.tree, b"a"), b"1")
            self.tree[b"a"] = b"2"
            self.assertEqual(snapshot.get(self.tree, b"a"), b"1")
            with self.assertRaises(latchkey.FailedPrecondition):
                snapshot.put(self.tree, b"a", b"3")

    def test_insert_and_delete_tell_whether_the_key_was_there(self):
        with self.db.transaction() as tx:
            tx.insert(self.tree, b"a", b"1")
            with self.assertRaises(latchkey.AlreadyExists):
                tx.insert(self.tree, b"a", b"2")
            self.assertEqual(tx.get_for_update(self.tree, b"a"), b"1")
            self.assertEqual(bytes(tx.get_view(self.tree, b"a")), b"1")
            self.assertTrue(tx.delete(self.tree, b"a"))
            self.assertFalse(tx.delete(self.tree, b"a"))
            self.assertEqual(tx.get(self.tree, b"a", "none"), "none")
            tx.prefetch(self.tree, [b"a", b"b"])
            tx.prefetch(self.tree, [])

    def test_a_value_is_written_and_read_in_parts(self):
        with self.db.transaction() as tx:
            tx.put_parts(self.tree, b"film", (bytes([n]) * 100_000 for n in range(30)))
            tx.put_parts(self.tree, b"empty", [])
            tx.put_parts(self.tree, b"small", [b"ab", bytearray(b"cd"), memoryview(b"ef")])
        with self.db.snapshot() as tx:
            self.assertEqual(tx.value_size(self.tree, b"film"), 3_000_000)
            self.assertEqual(tx.get_part(self.tree, b"film", 1_299_999, 2), b"\x0c\x0d")
            self.assertEqual(tx.get_part(self.tree, b"film", 2_999_999, 5), b"\x1d")
            self.assertEqual(tx.get_part(self.tree, b"film", 3_000_000, 5), b"")
            self.assertEqual(tx.get(self.tree, b"empty"), b"")
            self.assertEqual(tx.get(self.tree, b"small"), b"abcdef")
            self.assertIsNone(tx.value_size(self.tree, b"none"))
            self.assertIsNone(tx.get_part(self.tree, b"none", 0, 1))
            with self.assertRaises(ValueError):
                tx.get_part(self.tree, b"film", -1, 5)
            with self.assertRaises(latchkey.FailedPrecondition):
                tx.put_parts(self.tree, b"film", [b"x"])
        self.db.verify()

    def test_parts_that_end_with_an_exception_leave_the_old_value(self):
        self.tree[b"a"] = b"old"
        with self.db.transaction() as tx:
            def parts(then):
                yield b"x" * 1_000_000
                self.assertEqual(tx.get(self.tree, b"a"), b"old")
                with self.assertRaises(latchkey.FailedPrecondition):
                    tx.put_parts(self.tree, b"b", [b"x"])
                yield then
                raise ZeroDivisionError
            with self.assertRaises(ZeroDivisionError):
                tx.put_parts(self.tree, b"a", parts(b"x"))
            with self.assertRaises(TypeError):
                tx.put_parts(self.tree, b"a", parts("no bytes"))
            with self.assertRaises(TypeError):
                tx.put_parts(self.tree, b"a", 7)
            tx.put_parts(self.tree, b"b", [b"new"])
        self.assertEqual(list(self.tree.items()), [(b"a", b"old"), (b"b", b"new")])
        tx = self.db.transaction()

        def rolls_back():
            yield b"x"
            tx.rollback()
            yield b"y"
        with self.assertRaises(latchkey.FailedPrecondition):
            tx.put_parts(self.tree, b"a", rolls_back())
        self.assertEqual(self.tree[b"a"], b"old")
        self.db.verify()

    def test_savepoints_undo_a_part(self):
        with self.db.transaction() as tx:
            tx.put(self.tree, b"a", b"1")
            point = tx.savepoint()
            tx.put(self.tree, b"a", b"2")
            tx.put(self.tree, b"b", b"2")
            tx.rollback_to(point)
            self.assertEqual(list(tx.scan(self.tree)), [(b"a", b"1")])
            tx.put(self.tree, b"c", b"3")
            tx.rollback_to(point)
        self.assertEqual(list(self.tree.items()), [(b"a", b"1")])
        with self.db.transaction() as other:
            with self.assertRaises(latchkey.InvalidArgument):
                other.rollback_to(point)


class Scans(MemoryTest):

    def test_ranges_prefixes_and_both_directions(self):
        self.fill(300)
        keys = [b"%03d" % n for n in range(300)]
        with self.db.snapshot() as tx:
            self.assertEqual(list(tx.keys(self.tree)), keys)
            self.assertEqual(list(tx.keys(self.tree, reverse=True)), keys[::-1])
            self.assertEqual(list(tx.keys(self.tree, b"005", b"010")), keys[5:10])
            self.assertEqual(list(tx.keys(self.tree, b"0050", reverse=True)), keys[:5:-1])
            self.assertEqual(list(tx.keys(self.tree, stop=b"003", reverse=True)), keys[2::-1])
            self.assertEqual(list(tx.keys(self.tree, prefix=b"02")), keys[20:30])
            self.assertEqual(list(tx.keys(self.tree, prefix=b"")), keys)
            self.assertEqual(list(tx.values(self.tree, prefix=b"007")), [b"v7"])
            self.assertEqual(list(tx.items(self.tree, prefix=b"7")), [])
            self.assertEqual(list(tx.keys(self.tree, b"2", b"1")), [])

    def test_a_prefix_of_the_highest_bytes_has_no_end(self):
        for key in (b"\xfe", b"\xff", b"\xff\xff", b"a\xff", b"a\xffz", b"b"):
            self.tree[key] = b""
        self.assertEqual(list(self.tree.keys(prefix=b"\xff")), [b"\xff", b"\xff\xff"])
        self.assertEqual(list(self.tree.keys(prefix=b"a\xff")), [b"a\xff", b"a\xffz"])

    def test_values_larger_than_a_batch_are_scanned(self):
        for number in range(5):
            self.tree[b"%d" % number] = bytes([number]) * 200_000
        self.assertEqual([len(v) for v in self.tree.values()], [200_000] * 5)
        self.assertEqual([k for k, v in self.tree.scan(reverse=True)], [b"4", b"3", b"2", b"1", b"0"])

    def test_a_scan_shows_what_its_transaction_writes_ahead_of_it(self):
        self.fill(50)
        with self.db.transaction() as tx:
            seen = []
            for key, value in tx.scan(self.tree):
                seen.append(key)
                if key == b"010":
                    self.assertEqual(value, b"v10")
                    tx.put(self.tree, b"0105", b"new")
                    tx.delete(self.tree, b"011")
                    tx.put(self.tree, b"012", b"changed")
                if key == b"0105":
                    self.assertEqual(value, b"new")
                if key == b"012":
                    self.assertEqual(value, b"changed")
                tx.delete(self.tree, key)
            self.assertEqual(seen[9:13], [b"009", b"010", b"0105", b"012"])
            self.assertEqual(len(seen), 50)
            self.assertEqual(list(tx.keys(self.tree)), [])

    def test_a_scan_backwards_shows_the_writes_ahead_of_it(self):
        self.fill(50)
        with self.db.transaction() as tx:
            seen = []
            for key in tx.keys(self.tree, reverse=True):
                if key == b"040":
                    tx.put(self.tree, b"0395", b"")
                    tx.delete(self.tree, b"039")
                seen.append(key)
            self.assertEqual(seen[8:12], [b"041", b"040", b"0395", b"038"])

    def test_a_rollback_to_a_savepoint_changes_what_a_scan_shows(self):
        with self.db.transaction() as tx:
            tx.put(self.tree, b"a", b"1")
            point = tx.savepoint()
            tx.put(self.tree, b"b", b"1")
            scan = tx.keys(self.tree)
            self.assertEqual(next(scan), b"a")
            tx.rollback_to(point)
            self.assertEqual(list(scan), [])

    def test_a_scan_ends_once_and_can_be_closed(self):
        self.fill(10)
        scan = self.tree.keys()
        with scan:
            self.assertEqual(next(scan), b"000")
        self.assertEqual(list(scan), [])
        scan.close()
        scan = self.tree.keys(b"009")
        self.assertEqual(list(scan), [b"009"])
        self.assertEqual(list(scan), [])

    def test_scans_that_follow_each_other_or_are_open_together_stay_apart(self):
        self.fill(300)
        self.tree[b"large"] = b"x" * 100_000
        with self.db.snapshot() as tx:
            for start in range(100):
                scans = [tx.scan(self.tree, b"%03d" % (start + i)) for i in range(12)]
                for count in range(start % 20 + 1):
                    for i, scan in enumerate(scans):
                        number = start + i + count
                        self.assertEqual(next(scan), (b"%03d" % number, b"v%d" % number))
                    self.assertEqual(tx.get(self.tree, b"%03d" % start), b"v%d" % start)
                del scans[start % 12]
            first, whole = next(tx.scan(self.tree, b"l")), list(tx.values(self.tree))
        self.assertEqual([first[0], len(first[1]), len(whole), len(whole[300])], [b"large", 100_000, 301, 100_000])

    def test_a_range_may_be_given_by_position_or_by_name(self):
        self.fill(30)
        with self.db.snapshot() as tx:
            for walk in (tx.scan, tx.items, tx.keys, tx.values, lambda *a, **k: self.walk(tx.cursor(*a, **k))):
                for given in (walk(self.tree, b"005", b"008"), walk(self.tree, b"005", stop=b"008"),
                              walk(tree=self.tree, start=b"005", stop=b"008")):
                    self.assertEqual(len(list(given)), 3)
                self.assertEqual(len(list(walk(self.tree))), 30)
                self.assertEqual(len(list(walk(self.tree, None, b"008"))), 8)
                self.assertEqual(len(list(walk(self.tree, prefix=b"01"))), 10)
            self.assertEqual(list(tx.keys(self.tree, b"005", b"007", reverse=True)), [b"006", b"005"])
            for call in (tx.scan, tx.keys, tx.cursor):
                for args, named in (((), {}), ((self.tree, b"1", b"2", b"3"), {}), ((self.tree,), {"tree": self.tree}),
                                    ((self.tree,), {"limit": 3}), ((b"t",), {}), ((self.tree, 5), {}),
                                    ((self.tree, b"1"), {"prefix": b"1"})):
                    with self.assertRaises(TypeError):
                        call(*args, **named)
            with self.assertRaises(TypeError):
                tx.cursor(self.tree, reverse=True)

    @staticmethod
    def walk(cursor):
        """The records of the cursor's range."""
        found = cursor.first()
        while found:
            yield cursor.key, cursor.value
            found = cursor.next()

    def test_a_scan_of_an_empty_tree_is_empty(self):
        self.assertEqual(list(self.tree.scan()), [])
        self.assertEqual(list(self.tree.scan(reverse=True)), [])


class Cursors(MemoryTest):

    def test_a_cursor_walks_both_ways(self):
        self.fill(10)
        with self.db.snapshot() as tx, tx.cursor(self.tree, b"002", b"007") as cursor:
            with self.assertRaises(latchkey.FailedPrecondition):
                cursor.key  # pylint: disable=pointless-statement
            self.assertTrue(cursor.first())
            self.assertEqual((cursor.key, cursor.value), (b"002", b"v2"))
            self.assertTrue(cursor.next())
            self.assertEqual(cursor.key, b"003")
            self.assertTrue(cursor.prev())
            self.assertFalse(cursor.prev())
            with self.assertRaises(latchkey.FailedPrecondition):
                cursor.prev()
            self.assertTrue(cursor.last())
            self.assertEqual(cursor.key, b"006")
            self.assertTrue(cursor.seek(b"0031"))
            self.assertEqual(cursor.key, b"004")
            self.assertTrue(cursor.seek_for_prev(b"0031"))
            self.assertEqual(cursor.key, b"003")
            self.assertFalse(cursor.seek(b"9"))

    def test_a_cursor_of_a_prefix_stays_in_it(self):
        self.fill(30)
        with self.db.snapshot() as tx:
            cursor = tx.cursor(self.tree, prefix=b"01")
            self.assertTrue(cursor.last())
            self.assertEqual(cursor.key, b"019")


if __name__ == "__main__":
    unittest.main()
