#!/usr/bin/env python3
"""Tests of check_calls.py: each kind of difference between calls.txt and the sources is a breach."""

import unittest

import check_calls

ROOT = check_calls.FOLDER.parent
TABLE = check_calls.TABLE.read_text(encoding="utf-8")


def breaches(table):
    return list(check_calls.breaches(ROOT, table))


class CheckCallsTest(unittest.TestCase):
    def test_the_calls_of_classes_functions_and_option_structs_are_found(self):
        found = check_calls.cxx_calls(ROOT)
        for name in ("Database::Open", "Database::Backup", "Transaction::MultiGet", "RestoreBackup", "WriteBatch::Clear",
                     "BackupProgress::total", "KeyReader::at_end", "Database::kMaxKeySize"):
            self.assertIn(name, found)
        for name in ("Database::impl_", "Transaction::Refusal", "Tree::Tree", "Statistics::hits", "Cursor::~Cursor"):
            self.assertNotIn(name, found)

    def test_the_table_of_the_tree_is_complete(self):
        self.assertEqual([], breaches(TABLE))

    def test_a_call_without_a_line_is_a_breach(self):
        table = "\n".join(line for line in TABLE.splitlines() if not line.startswith("Database::Sync "))
        self.assertEqual(1, len(breaches(table)))
        self.assertIn("Database::Sync", breaches(table)[0])

    def test_a_line_that_names_nothing_or_lacks_a_reason_is_a_breach(self):
        for old, new, message in (("lk_sync", "lk_snyc", "no lk_snyc"), ("Database::Sync ", "Database::Snyc ", "no such call"),
                                  ("lk_sync", "-", "with # and the reason"), ("lk_sync", "", "names for")):
            self.assertTrue(any(message in breach for breach in breaches(TABLE.replace(old, new))), message)


if __name__ == "__main__":
    unittest.main()
