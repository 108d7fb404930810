#!/usr/bin/env python3
"""run_snippets.py notices each way in which a snippet can be wrong."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import run_snippets
from run_snippets import Failure, blocks_of, check_copy, compare, cpp_of_page, run_python, run_sh, runnable


def blocks(*lines):
    return blocks_of("page.md", "\n".join(lines) + "\n")


class Pages(unittest.TestCase):
    def test_a_text_block_is_the_output_of_the_block_before_it(self):
        found = blocks("```sh", "echo 1", "```", "words", "```text", "1", "```", "```sh", "true", "```")
        self.assertEqual([(b.line, b.text, b.expected) for b in found], [(2, "echo 1\n", "1\n"), (9, "true\n", None)])

    def test_an_output_without_a_block_and_a_block_without_an_end_are_refused(self):
        for lines in (["```text", "1", "```"], ["```sh", "a", "```", "```text", "```", "```text", "```"], ["```sh", "a"]):
            with self.assertRaises(Failure):
                blocks(*lines)

    def test_a_block_of_another_language_must_be_a_copy(self):
        with self.assertRaises(Failure):
            runnable(blocks("```go", "x := 1", "```"))
        copy = blocks("<!-- from: docs/guide/run_snippets.py -->", "```py", "RUN = (\"cpp\", \"python\", \"sh\")", "```")
        self.assertEqual(runnable(copy), [])
        copy[0].text = "RUN = ()\n"
        with self.assertRaises(Failure):
            check_copy(copy[0])

    def test_a_blank_line_may_follow_a_directive_and_a_paragraph_ends_it(self):
        self.assertEqual(blocks("<!-- top level -->", "", "```cpp", "```")[0].directive, "top level")
        self.assertIsNone(blocks("<!-- top level -->", "words", "```cpp", "```")[0].directive)

    def test_functions_stand_before_the_body_and_errors_name_the_page(self):
        text = cpp_of_page("a-b.md", blocks("```cpp", "f();", "```", "<!-- top level -->", "```cpp", "void f() {}", "```"))
        self.assertLess(text.index("void f() {}"), text.index("f();\n"))
        self.assertIn('#line 2 "docs/guide/a-b.md"\nf();\nEND_OF_BLOCK();', text)


class Output(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def test_dots_stand_for_text_within_a_line_or_for_lines(self):
        block = blocks("```sh", "```", "```text", "a ... c", "...", "z", "```")[0]
        for printed in ("a b c\nz\n", "a  c\nx\ny\nz\n"):
            compare(block, printed)
        for printed in ("a b\nc\nz\n", "a b c\n", "a b c\nz\nmore\n", ""):
            with self.assertRaises(Failure):
                compare(block, printed)

    def test_a_shell_block_that_fails_or_prints_something_else_is_noticed(self):
        run_sh(blocks("```sh", "echo 1", "```", "```text", "1", "```")[0], self.folder.name, os.environ)
        for lines in (["false", "true"], ["false | true"], ["echo $unset_variable"]):
            with self.assertRaises(Failure):
                run_sh(blocks("```sh", *lines, "```")[0], self.folder.name, os.environ)
        with self.assertRaises(Failure):
            run_sh(blocks("```sh", "echo 2", "```", "```text", "1", "```")[0], self.folder.name, os.environ)

    def test_the_python_block_that_is_wrong_is_named(self):
        for second, line in (("print(2)", "page.md:5"), ("x", "page.md:5"), ("", "page.md:8")):
            page = blocks("```python", "a = 1", "```", "```python", second, "```", "```python", "print(a)", "```")
            with self.assertRaisesRegex(Failure, line):
                run_python(page, Path(self.folder.name), os.environ)

    def test_cpp_that_ends_with_an_error_is_noticed_at_its_block(self):
        page = blocks("```cpp", "a", "```", "```cpp", "b", "```")
        result = subprocess.CompletedProcess([], 1, stdout=run_snippets.MARK, stderr="INTERNAL: no")
        with self.assertRaisesRegex(Failure, r"page.md:5: exit 1\n.*INTERNAL"):
            run_snippets.split_output(page, result)


if __name__ == "__main__":
    unittest.main()
