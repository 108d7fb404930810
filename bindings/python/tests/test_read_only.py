"""Databases that are opened read-only."""

import unittest

import latchkey
from support import FileTest


class ReadOnly(FileTest):

    def setUp(self):
        super().setUp()
        with latchkey.open(self.path) as db:
            db.tree("t")[b"k"] = b"kept"
        self.before = self.files()

    def files(self):
        """The bytes of each file of the database, and when it was written last."""
        return {file.name: (file.stat().st_mtime_ns, file.read_bytes()) for file in self.path.iterdir()}

    def test_two_readers_read_at_once_and_change_no_file(self):
        with latchkey.open(self.path, read_only=True) as first, latchkey.open(self.path, read_only=True) as second:
            with self.assertRaises(latchkey.FailedPrecondition):
                latchkey.open(self.path)
            for db in (first, second):
                self.assertEqual(db.tree("t")[b"k"], b"kept")
                with db.snapshot() as snapshot:
                    self.assertEqual(list(snapshot.scan(db.tree("t"))), [(b"k", b"kept")])
        self.assertEqual(self.files(), self.before)

    def test_a_reader_refuses_each_write_and_goes_on(self):
        with latchkey.open(self.path, read_only=True) as db:
            tree = db.tree("t")
            with self.assertRaises(latchkey.FailedPrecondition) as caught:
                tree[b"k"] = b"new"
            self.assertIn("opened read-only", str(caught.exception))
            for write in (lambda: tree.delete(b"k"), lambda: db.tree("new"), db.checkpoint,
                          lambda: db.run(lambda tx: tx.put(tree, b"k", b"new"))):
                with self.assertRaises(latchkey.FailedPrecondition):
                    write()
            with self.assertRaises(latchkey.FailedPrecondition):
                with db.write_batch() as batch:
                    batch.put(tree, b"k", b"new")
            self.assertEqual(tree[b"k"], b"kept")
        self.assertEqual(self.files(), self.before)

    def test_a_read_only_open_makes_no_database(self):
        none = self.path.with_name("none")
        with self.assertRaises(latchkey.NotFound):
            latchkey.open(none, read_only=True)
        self.assertFalse(none.exists())


if __name__ == "__main__":
    unittest.main()
