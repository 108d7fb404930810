"""The README's snippets, the example and the stubs agree with the package."""

import ast
import contextlib
import io
import os
import re
import runpy
import sys
import unittest
from pathlib import Path

import latchkey
from support import FileTest

HERE = Path(__file__).resolve().parent.parent


class Documents(FileTest):

    def setUp(self):
        super().setUp()
        before = os.getcwd()
        os.chdir(self.folder.name)
        self.addCleanup(os.chdir, before)

    def test_the_snippets_of_the_readme_print_what_they_say(self):
        snippets = re.findall(r"```python\n(.*?)```", (HERE / "README.md").read_text(encoding="utf-8"), re.DOTALL)
        self.assertGreater(len(snippets), 2)
        said = [match for snippet in snippets for line in snippet.splitlines() if "print(" in line
                for match in re.findall(r"  # (.*)$", line)]
        printed = io.StringIO()
        names = {}
        with contextlib.redirect_stdout(printed):
            for snippet in snippets:
                exec(compile(snippet, "README.md", "exec"), names)  # pylint: disable=exec-used
        self.assertEqual(printed.getvalue().splitlines(), said)

    def test_the_example_prints_the_accounts(self):
        printed = io.StringIO()
        for _ in range(2):
            arguments, sys.argv = sys.argv, ["example.py", "accounts.db"]
            try:
                with contextlib.redirect_stdout(printed):
                    runpy.run_path(str(HERE / "example.py"), run_name="__main__")
            finally:
                sys.argv = arguments
        self.assertEqual(printed.getvalue(), "alice has 90\nbob has 10\n" * 2)


class Stubs(unittest.TestCase):

    def test_the_stubs_have_the_names_of_the_module(self):
        package = Path(latchkey.__file__).parent
        self.assertTrue((package / "py.typed").exists())
        tree = ast.parse((package / "_latchkey.pyi").read_text(encoding="utf-8"))
        stubs = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        module = sys.modules["latchkey._latchkey"]
        kinds = {name: kind for name, kind in vars(module).items() if isinstance(kind, type)}
        self.assertEqual(set(stubs), set(kinds))
        for name, kind in kinds.items():
            real = {n for n in vars(kind) if not n.startswith("__") or n in ("__enter__", "__exit__", "__getitem__")}
            told = {node.name for node in stubs[name].body if isinstance(node, ast.FunctionDef)}
            with self.subTest(name=name):
                self.assertLessEqual(real, told)
                self.assertLessEqual({n for n in told if not n.startswith("__")}, real)

    def test_every_call_has_a_docstring_with_its_signature(self):
        for kind in (latchkey.Database, latchkey.Tree, latchkey.Transaction, latchkey.Cursor, latchkey.Scan,
                     latchkey.WriteBatch):
            for name, call in vars(kind).items():
                if not name.startswith("_") and callable(call):
                    self.assertTrue(call.__doc__, f"{kind}.{name}")
                    self.assertTrue(hasattr(call, "__text_signature__") or hasattr(call, "__code__"))

    def test_everything_exported_exists(self):
        for name in latchkey.__all__:
            self.assertTrue(hasattr(latchkey, name), name)
        for kind in latchkey.errors.BY_CODE.values():
            self.assertTrue(issubclass(kind, latchkey.Error))
            self.assertIn(kind.__name__, latchkey.__all__)


if __name__ == "__main__":
    unittest.main()
