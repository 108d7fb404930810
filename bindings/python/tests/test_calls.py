"""Calls on many keys, whole trees and backups, durability of one commit, and keys of parts."""

import math
import os
import unittest

import latchkey
from latchkey import KeyReader, KeyWriter
from support import FileTest, MemoryTest


class ManyKeys(MemoryTest):

    def test_get_many_reads_one_snapshot_in_the_order_asked_for(self):
        self.tree[b"a"], self.tree[b"empty"] = b"1", b""
        self.assertEqual(self.tree.get_many([b"a", b"none", bytearray(b"empty"), b"a"]), [b"1", None, b"", b"1"])
        self.assertEqual(self.tree.get_many(key for key in (b"a",)), [b"1"])
        self.assertEqual(self.tree.get_many([]), [])
        with self.db.transaction() as tx:
            tx.put(self.tree, b"none", b"mine")
            self.assertEqual(tx.get_many(self.tree, [b"none", b"a"]), [b"mine", b"1"])
            tx.rollback()
            with self.assertRaises(latchkey.FailedPrecondition):
                tx.get_many(self.tree, [b"a"])
        for wrong in ([1], 7, ["text"], None):
            with self.assertRaises(TypeError):
                self.tree.get_many(wrong)
        with self.assertRaises(latchkey.InvalidArgument):
            self.tree.get_many([b"k" * 1025])

    def test_ranges_are_estimated(self):
        self.fill(1000)
        self.assertTrue(800 < self.tree.approximate_count() < 1200)
        self.assertTrue(400 < self.tree.approximate_count(b"500") < 600)
        self.assertTrue(self.tree.approximate_count(prefix=b"1") < 300)
        self.assertGreater(self.tree.approximate_bytes(None, b"999"), 5000)
        with self.assertRaises(TypeError):
            self.tree.approximate_count(b"1", prefix=b"1")

    def test_ranges_are_deleted(self):
        self.fill(1000)
        self.tree.delete_range(b"500")
        self.assertNotIn(b"999", self.tree)
        self.assertIn(b"499", self.tree)
        self.tree.delete_range(prefix=b"1")
        self.assertNotIn(b"100", self.tree)
        with self.assertRaises(latchkey.InvalidArgument):
            self.tree.delete_range(b"2", b"1")
        self.tree.clear()
        self.assertEqual(list(self.tree), [])

    def test_a_tree_is_renamed(self):
        self.tree[b"a"] = b"1"
        self.db.rename_tree("t", "other")
        self.assertEqual((self.db.trees(), self.tree[b"a"]), (["other"], b"1"))
        with self.assertRaises(latchkey.NotFound):
            self.db.rename_tree("t", "x")
        self.db.tree("t")
        with self.assertRaises(latchkey.AlreadyExists):
            self.db.rename_tree("t", "other")


class Loads(MemoryTest):

    def test_a_bulk_load_makes_a_tree_at_its_end(self):
        with self.db.bulk_loader("new", fill=0.8) as loader:
            loader.put(b"a", b"1")
            with self.assertRaises(latchkey.InvalidArgument):
                loader.put(b"a", b"2")
            loader.put(b"b", bytearray(b"2"))
            self.assertEqual((loader.records, self.db.trees()), (2, ["t"]))
        self.assertEqual(dict(self.db.tree("new").scan()), {b"a": b"1", b"b": b"2"})
        with self.assertRaises(latchkey.FailedPrecondition):
            loader.put(b"c", b"")
        loader.close()
        loader = self.db.bulk_loader("empty")
        tree = loader.finish()
        self.assertEqual((tree.name, list(tree)), ("empty", []))

    def test_a_bulk_load_that_an_exception_ends_leaves_nothing(self):
        with self.assertRaises(ZeroDivisionError):
            with self.db.bulk_loader("new") as loader:
                loader.put(b"a", b"1")
                raise ZeroDivisionError
        with self.assertRaises(latchkey.AlreadyExists):
            self.db.bulk_loader("t")
        for fill in (0, 0.4, 1.1, math.nan):
            with self.assertRaises(latchkey.InvalidArgument):
                self.db.bulk_loader("x", fill=fill)
        loader, lost = self.db.bulk_loader("open"), self.db.bulk_loader("lost")
        del lost
        self.assertEqual(self.db.trees(), ["t"])
        self.db.close()
        with self.assertRaises(latchkey.FailedPrecondition):
            loader.put(b"a", b"1")
        loader.close()


class Durability(FileTest):

    def test_a_commit_asks_for_its_durability(self):
        with latchkey.open(self.path, cache_size="4MiB") as db:
            tree = db.tree("t")
            with db.transaction(durability="none") as tx:
                tx.put(tree, b"a", b"")
            tx = db.transaction()
            tx.put(tree, b"b", b"")
            tx.commit(durability="group")
            batch = db.write_batch()
            batch.put(tree, b"c", b"")
            db.write(batch, durability="none")
            db.run(lambda tx: tx.put(tree, b"d", b""), durability="commit")
            db.sync()
            self.assertEqual(b"".join(tree), b"abcd")
            for wrong in ("sync", 1):
                with self.assertRaises(ValueError):
                    db.write(batch, durability=wrong)
                with self.assertRaises(ValueError):
                    db.transaction(durability=wrong)

    def test_a_durability_that_the_database_lacks_leaves_the_transaction_open(self):
        with latchkey.open("memory", device="memory", durability="none", cache_size="8MiB") as db:
            tree = db.tree("t")
            with self.assertRaises(latchkey.FailedPrecondition):
                db.sync()
            tx = db.transaction()
            tx.put(tree, b"a", b"1")
            with self.assertRaises(latchkey.FailedPrecondition):
                tx.commit(durability="commit")
            self.assertTrue(tx.is_open)
            tx.commit()
            self.assertEqual(tree[b"a"], b"1")


class Compaction(FileTest):

    def test_a_database_is_compacted(self):
        seen = []
        with latchkey.open(self.path, cache_size="4MiB") as db:
            tree = db.tree("t")
            for i in range(3000):
                tree[b"key %06d" % i] = b"v" * 40
            for i in range(3000):
                if i % 10 != 0:
                    del tree[b"key %06d" % i]
            with self.assertRaises(latchkey.Cancelled):
                db.compact(progress=lambda progress: False)
            with self.assertRaises(OverflowError):
                db.compact(max_bytes_per_second=-1)
            info = db.compact(progress=seen.append, max_bytes_per_second=1 << 30)
            self.assertGreater(info.leaves, 0)
            self.assertGreaterEqual(info.bytes_before, info.bytes_after)
            self.assertEqual(seen[-1].leaves, info.leaves)
            self.assertEqual(tree[b"key 000010"], b"v" * 40)


class Backups(FileTest):

    def test_a_backup_is_made_checked_and_restored(self):
        backups, restored = os.path.join(self.folder.name, "backups"), os.path.join(self.folder.name, "restored")
        with self.assertRaises(latchkey.NotFound):
            latchkey.list_backups(backups)
        seen = []
        with latchkey.open(self.path, cache_size="4MiB") as db:
            tree = db.tree("t")
            tree[b"k"] = b"full"

            def stop(_progress):
                raise ZeroDivisionError
            with self.assertRaises(ZeroDivisionError):
                db.backup(backups, progress=stop)
            with self.assertRaises(latchkey.Cancelled):
                db.backup(backups, progress=lambda progress: False)
            info = db.backup(backups, progress=seen.append)
            self.assertEqual((info.number, info.parent_id, info.pages > 0), (1, 0, True))
            self.assertTrue({progress.phase for progress in seen} >= {latchkey.BackupPhase.PAGES,
                                                                     latchkey.BackupPhase.CHECK})
            with self.assertRaises(latchkey.AlreadyExists):
                db.backup(backups)
            with self.assertRaises(OverflowError):
                db.backup(backups, max_bytes_per_second=-1)
            tree[b"k"] = b"later"
            second = db.backup(backups, incremental=True, max_bytes_per_second=1 << 30, check=False)
        self.assertEqual(latchkey.list_backups(backups), [info, second])
        self.assertEqual(latchkey.check_backups(backups, number=1), [info])
        self.assertEqual(second.parent_id, info.id)
        with self.assertRaises(latchkey.InvalidArgument):
            latchkey.restore_backup(backups, restored, number=3)
        with self.assertRaises(latchkey.InvalidArgument):
            latchkey.restore_backup(backups, restored, no_such_option=1)
        latchkey.restore_backup(backups, restored, cache_size="4MiB", progress=seen.append)
        with self.assertRaises(latchkey.AlreadyExists):
            latchkey.restore_backup(backups, restored)
        with latchkey.open(restored, cache_size="4MiB") as db:
            self.assertEqual(db.tree("t")[b"k"], b"later")
        latchkey.restore_backup(backups, restored + "1", number=1, verify=False, cache_size="4MiB")
        with latchkey.open(restored + "1", cache_size="4MiB") as db:
            self.assertEqual(db.tree("t")[b"k"], b"full")


class KeysOfParts(unittest.TestCase):

    def test_keys_have_the_bytes_of_the_c_interface(self):
        key = KeyWriter().int(-2).uint(259).float(1.5).float(-2).float(-math.nan).bytes(b"a\0b").key
        # The vectors of bindings/c/latchkey_c_calls_test.c.
        self.assertEqual(key, b"\x7f\xff\xff\xff\xff\xff\xff\xfe" b"\x00\x00\x00\x00\x00\x00\x01\x03"
                              b"\xbf\xf8\x00\x00\x00\x00\x00\x00" b"\x3f\xff\xff\xff\xff\xff\xff\xff"
                              b"\xff\xf8\x00\x00\x00\x00\x00\x00" b"a\x00\xffb\x00\x01")
        reader = KeyReader(key)
        self.assertEqual((reader.int(), reader.uint(), reader.float(), reader.float()), (-2, 259, 1.5, -2.0))
        self.assertTrue(math.isnan(reader.float()))
        self.assertFalse(reader.at_end)
        self.assertEqual((reader.bytes(), reader.at_end), (b"a\0b", True))
        for bad in (b"", b"abc", b"a\0", b"a\0\7"):
            with self.assertRaises(latchkey.InvalidArgument):
                KeyReader(bad).bytes()
            with self.assertRaises(latchkey.InvalidArgument):
                KeyReader(bad).float()
        for build in (KeyWriter().int, KeyWriter().uint):
            with self.assertRaises(latchkey.InvalidArgument):
                build(1 << 64)

    def test_the_order_of_keys_is_that_of_their_parts(self):
        for method, values in (("int", [-1 << 63, -5, -1, 0, 1, (1 << 63) - 1]), ("uint", [0, 1, 255, 256, (1 << 64) - 1]),
                               ("float", [-math.inf, -1e300, -1.0, -1e-300, 0.0, 1e-300, 2.5, math.inf, math.nan]),
                               ("bytes", [b"", b"\0", b"\0\0", b"a", b"a\0", b"ab", b"b"])):
            keys = [getattr(KeyWriter(), method)(value).uint(9 - i).key for i, value in enumerate(values)]
            self.assertEqual(keys, sorted(keys), method)
        self.assertEqual(KeyWriter().float(-0.0).key, KeyWriter().float(0.0).key)


if __name__ == "__main__":
    unittest.main()
