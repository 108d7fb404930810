#!/usr/bin/env python3
"""Makes the Debian packages of a build with cpack, and looks at them. Compiles nothing, and leaves nothing behind.

  cmake/install_test/deb_test.py BUILD

Content and control data by dpkg-deb. Then both are installed into an empty root, the program runs there, its manual
pages are read by man, and the packages are removed. Exit 77: cpack, dpkg or fakeroot is missing.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD = Path(sys.argv.pop(1)) if len(sys.argv) > 1 else Path()
AS_ROOT = [] if os.geteuid() == 0 else ["fakeroot"]


def run(*command, **options):
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, check=False, **options)
    if result.returncode != 0:
        raise AssertionError(f"{command} exits with {result.returncode}:\n{result.stdout}{result.stderr}")
    return result.stdout


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = Path(tempfile.mkdtemp(prefix="latchkey-deb-"))
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        # Less compression than that of a release: quicker.
        run("cpack", "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B", cls.scratch,
            "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip", cwd=cls.scratch)
        cls.program, = cls.scratch.glob("latchkey_*.deb")
        cls.development, = cls.scratch.glob("latchkey-dev_*.deb")

    def files(self, package):
        lines = run("dpkg-deb", "--contents", package).splitlines()
        for line in lines:
            self.assertEqual(line.split()[1], "root/root", line)
        return {line.split()[5].removeprefix(".") for line in lines if not line.endswith("/")}

    def field(self, package, name):
        return run("dpkg-deb", "--field", package, name).strip()

    def test_the_program_comes_with_manual_pages_completion_and_licence(self):
        files = self.files(self.program)
        for file in ("/usr/bin/latchkey", "/usr/share/man/man1/latchkey.1.gz",
                     "/usr/share/man/man1/latchkey-tpcc-lite-run.1.gz",
                     "/usr/share/bash-completion/completions/latchkey",
                     "/usr/share/zsh/vendor-completions/_latchkey",
                     "/usr/share/fish/vendor_completions.d/latchkey.fish", "/usr/share/doc/latchkey/copyright"):
            self.assertIn(file, files)
        self.assertFalse([f for f in files if re.search(r"\.(h|a|so)$|/test", f)], "files of the other package")
        self.assertFalse([f for f in files if f.endswith(".1")], "pages that are not compressed")

    def test_the_development_files_are_a_package_of_their_own(self):
        files = self.files(self.development)
        names = {os.path.basename(file) for file in files}
        for name in ("latchkey.h", "latchkey_c.h", "latchkey_c_upkeep.h", "cursor.h", "options.h", "statistics.h",
                     "abseil_release.h", "liblatchkey_engine.a",
                     "liblatchkey.so.0", "latchkey.pc", "LatchkeyConfig.cmake", "copyright"):
            self.assertIn(name, names)
        self.assertNotIn("latchkey", names)
        self.assertFalse(files & self.files(self.program), "files of both packages")

    def test_the_control_data_name_package_version_and_what_it_needs(self):
        for package, name in ((self.program, "latchkey"), (self.development, "latchkey-dev")):
            self.assertEqual(self.field(package, "Package"), name)
            self.assertRegex(self.field(package, "Version"), r"^\d+\.\d+\.\d+$")
            self.assertRegex(self.field(package, "Description"), "^embedded key/value storage engine: ")
        self.assertIn("libabsl-dev", self.field(self.development, "Depends"))
        if shutil.which("dpkg-shlibdeps"):
            self.assertRegex(self.field(self.program, "Depends"), r"libaio1.*libc6|libc6.*libaio1")

    def test_it_runs_from_where_it_is_unpacked(self):
        root = self.scratch / "unpacked"
        run("dpkg-deb", "-x", self.program, root)
        program = root / "usr/bin/latchkey"
        run(program, "put", self.scratch / "db", "bob", "Rome", "--tree=users")
        self.assertEqual(run(program, "get", self.scratch / "db", "bob"), "Rome\n")
        self.assertRegex(run(program, "experiment", "list"), "fig-thesis-4.6 ")
        for shell, file in (("bash", "bash-completion/completions/latchkey"),
                            ("zsh", "zsh/vendor-completions/_latchkey"),
                            ("fish", "fish/vendor_completions.d/latchkey.fish")):
            self.assertEqual(run(program, "completion", shell), (root / "usr/share" / file).read_text(), shell)

    def test_it_installs_runs_and_is_removed(self):
        root = self.scratch / "root"
        for folder in ("info", "updates", "triggers"):
            (root / "var/lib/dpkg" / folder).mkdir(parents=True)
        (root / "var/lib/dpkg/status").touch()
        # The root has no other package, so dependencies cannot be there.
        dpkg = [*AS_ROOT, "dpkg", f"--root={root}", "--force-depends", "--force-not-root", "--force-script-chrootless",
                f"--log={self.scratch}/dpkg.log"]
        env = {**os.environ, "DPKG_MAINTSCRIPT_DEBUG": ""}
        run(*dpkg, "--install", self.program, self.development, env=env)
        program = root / "usr/bin/latchkey"
        self.assertRegex(run(program, "--version"), "^latchkey ")
        run(program, "put", self.scratch / "db", "ann", "Oslo", "--tree=users")
        self.assertEqual(run(program, "get", self.scratch / "db", "ann"), "Oslo\n")
        if shutil.which("man"):
            page = run("man", "-l", root / "usr/share/man/man1/latchkey-verify.1.gz",
                       env={**os.environ, "MANWIDTH": "100", "MANPAGER": "cat"})
            self.assertIn("latchkey-verify - read and prove everything", page)
        run(*dpkg, "--purge", "latchkey", "latchkey-dev", env=env)
        left = [p for p in root.rglob("*") if not p.is_relative_to(root / "var") and not p.is_dir()]
        self.assertEqual(left, [])


if __name__ == "__main__":
    for tool in ["cpack", "dpkg", "dpkg-deb", *AS_ROOT]:
        if not shutil.which(tool):
            print(f"no {tool}: nothing was checked")
            sys.exit(77)
    unittest.main()
