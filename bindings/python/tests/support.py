"""What the tests share."""

import tempfile
import unittest
from pathlib import Path

import latchkey


def open_in_memory(**options):
    """A database without files."""
    return latchkey.open("memory", **{"device": "memory", "cache_size": "8MiB", "durability": "none", **options})


class MemoryTest(unittest.TestCase):
    """Tests with an empty database `db` and its tree `tree`."""

    def setUp(self):
        self.db = open_in_memory()
        self.tree = self.db.tree("t")

    def tearDown(self):
        if not self.db.closed:
            self.db.close()

    def fill(self, count=100):
        """Keys 000, 001, ... with values v0, v1, ..."""
        with self.db.write_batch() as batch:
            for number in range(count):
                batch.put(self.tree, b"%03d" % number, b"v%d" % number)


class FileTest(unittest.TestCase):
    """Tests with the path of a database that does not exist yet."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        self.path = Path(self.folder.name) / "test.db"

    def tearDown(self):
        self.folder.cleanup()
