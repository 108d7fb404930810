#!/usr/bin/env python3
"""Runs the scripts of this folder against stand-ins for cmake, ctest, apt-get and sudo.

Every script runs in a copy of its own, with a PATH that holds nothing but plain Unix tools and the
stand-ins, so that no test builds, downloads or installs anything.
"""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parent
UNIX = ["awk", "bash", "cat", "df", "dirname", "env", "find", "grep", "head", "mkdir", "nproc", "realpath",
        "sed", "sort", "tail", "timeout"]
ALL_PASS = "100% tests passed, 0 tests failed out of 10"
ONE_FAILS = "90% tests passed, 1 tests failed out of 10"


class ScriptTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = Path(folder.name) / "tree"
        self.bin = Path(folder.name) / "bin"
        self.log = Path(folder.name) / "log"
        shutil.copytree(TOOLS, self.tree / "tools", ignore=shutil.ignore_patterns("cli", "__pycache__"))
        self.bin.mkdir()
        for program in UNIX:
            (self.bin / program).symlink_to(shutil.which(program))

    def stand_in(self, name, body="", where=None):
        """A program that logs how it was called, then runs `body` in bash."""
        path = (where or self.bin) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # a link to the system's own program: write beside it, not through it
        path.write_text(f'#!{shutil.which("bash")}\necho "{name} $*" >>"{self.log}"\n{body}\n', encoding="utf-8")
        path.chmod(0o755)

    def run_script(self, name, *arguments):
        environment = {"PATH": str(self.bin), "HOME": os.environ.get("HOME", "/"), "JOBS": "1"}
        return subprocess.run([str(self.tree / "tools" / name), *arguments], check=False, env=environment,
                              capture_output=True, text=True, cwd="/")

    def calls(self):
        return self.log.read_text(encoding="utf-8") if self.log.exists() else ""


class TestTest(ScriptTest):
    def setUp(self):
        super().setUp()
        self.stand_in("install-packages", where=self.tree / "tools")
        self.stand_in("setarch", 'shift; exec "$@"')
        self.stand_in("true")
        self.stand_in("cmake")
        self.canaries("counts: canaries caught=21 of=21 runs=26")
        for layer in ("storage", "bufferpool", "layout", "engine"):
            self.stand_in("x_test.cc", where=self.tree / layer)

    def canaries(self, last_line, status=0):
        self.stand_in("latchkey_campaign", f"echo '{last_line}'; exit {status}",
                      where=self.tree / "build/canaries/tools/campaign")

    def last_line(self, result):
        return result.stdout.splitlines()[-1]

    def test_totals_are_summed_over_all_builds(self):
        self.stand_in("ctest", f"echo '{ALL_PASS}'")
        result = self.run_script("test")
        self.assertEqual(self.last_line(result), "51 passed, 0 failed")
        self.assertEqual(result.returncode, 0)

    def test_any_failed_test_fails_the_whole(self):
        self.stand_in("ctest", f"case $* in *asan*) echo '{ONE_FAILS}'; exit 8 ;; *) echo '{ALL_PASS}' ;; esac")
        result = self.run_script("test")
        self.assertEqual(self.last_line(result), "50 passed, 1 failed")
        self.assertEqual(result.returncode, 1)

    def test_a_build_that_fails_is_one_failure_and_the_others_still_run(self):
        self.stand_in("cmake", "case $* in *--build*asan*) exit 1 ;; esac")
        self.stand_in("ctest", f"echo '{ALL_PASS}'")
        result = self.run_script("test")
        self.assertEqual(self.last_line(result), "41 passed, 1 failed")
        self.assertEqual(result.returncode, 1)

    def test_a_ctest_that_dies_is_a_failure(self):
        self.stand_in("ctest", "exit 1")
        result = self.run_script("test", "--fast")
        self.assertEqual(self.last_line(result), "0 passed, 1 failed")
        self.assertEqual(result.returncode, 1)

    def test_fast_is_release_alone(self):
        self.stand_in("ctest", f"echo '{ALL_PASS}'")
        self.run_script("test", "--fast")
        self.assertIn("--preset release", self.calls())
        self.assertNotIn("asan", self.calls())
        self.assertNotIn("canaries", self.calls())

    def test_every_canary_counts_as_a_test(self):
        self.canaries("counts: canaries caught=18 of=21 runs=30", status=1)
        result = self.run_script("test", "canaries")
        self.assertEqual(self.last_line(result), "18 passed, 3 failed")
        self.assertEqual(result.returncode, 1)
        self.assertIn("latchkey_campaign canaries --jobs=1", self.calls())
        self.assertNotIn("ctest", self.calls())

    def test_campaigns_that_accuse_the_sound_engine_fail_though_all_canaries_are_caught(self):
        self.canaries("counts: canaries caught=21 of=21 runs=26 wrong_controls=1", status=1)
        result = self.run_script("test", "canaries")
        self.assertEqual(self.last_line(result), "21 passed, 1 failed")
        self.assertEqual(result.returncode, 1)

    def test_canaries_that_die_are_a_failure(self):
        self.canaries("Segmentation fault", status=139)
        result = self.run_script("test", "canaries")
        self.assertEqual(self.last_line(result), "0 passed, 1 failed")
        self.assertIn("Segmentation fault", result.stdout)

    def test_what_the_campaigns_counted_is_printed(self):
        log = self.tree / "build/release/Testing/Temporary/LastTest.log"
        log.parent.mkdir(parents=True)
        log.write_text("x\ncounts: crash states=7\ny counts: not this\n", encoding="utf-8")
        self.stand_in("ctest", f"echo '{ALL_PASS}'")
        result = self.run_script("test", "--fast")
        self.assertIn("\ncounts: crash states=7\n", result.stdout)
        self.assertNotIn("not this", result.stdout)

    def test_tsan_builds_and_runs_the_layers_that_share_memory(self):
        self.stand_in("ctest", f"echo '{ALL_PASS}'")
        self.run_script("test", "tsan")
        self.assertIn("--target storage_tests bufferpool_tests layout_tests engine_tests", self.calls())
        self.assertIn("-L ^(storage|bufferpool|layout|engine)$", self.calls())

    def test_an_unknown_argument_is_a_usage_error(self):
        self.assertEqual(self.run_script("test", "--slow").returncode, 2)
        self.assertEqual(self.calls(), "")


class InstallPackagesTest(ScriptTest):
    def setUp(self):
        super().setUp()
        for program in ("g++", "cmake", "ninja", "pkg-config", "ld.lld", "ccache", "git", "python3",
                        "spin"):
            self.stand_in(program)
        self.stand_in("dpkg-query", "case $* in *libaio-dev*) exit 1 ;; esac; printf installed")
        self.stand_in("apt-get")

    def test_nothing_is_called_when_nothing_is_missing(self):
        self.stand_in("dpkg-query", "printf installed")
        result = self.run_script("install-packages", "--tests")
        self.assertEqual((result.returncode, result.stdout), (0, "packages: all there\n"))
        self.assertNotIn("apt-get", self.calls())

    def test_root_installs_what_is_missing_and_nothing_else(self):
        self.stand_in("id", "echo 0")
        self.assertEqual(self.run_script("install-packages").returncode, 0)
        self.assertRegex(self.calls(), r"apt-get install .* libaio-dev\n")

    def test_others_go_through_sudo(self):
        self.stand_in("id", "echo 1000")
        self.stand_in("sudo", 'exec "$@"')
        self.assertEqual(self.run_script("install-packages").returncode, 0)
        self.assertRegex(self.calls(), r"sudo env .*apt-get install .* libaio-dev\n")

    def test_without_root_and_sudo_it_says_what_to_run(self):
        self.stand_in("id", "echo 1000")
        result = self.run_script("install-packages")
        self.assertEqual(result.returncode, 1)
        self.assertIn("apt-get install libaio-dev", result.stderr)

    def test_a_failed_update_does_not_stop_an_install_from_the_cache(self):
        self.stand_in("id", "echo 0")
        self.stand_in("apt-get", "case $1 in update) exit 100 ;; esac")
        self.assertEqual(self.run_script("install-packages").returncode, 0)

    def test_a_failed_install_is_an_error(self):
        self.stand_in("id", "echo 0")
        self.stand_in("apt-get", "exit 100")
        result = self.run_script("install-packages")
        self.assertEqual(result.returncode, 1)
        self.assertIn("could not install libaio-dev", result.stderr)


class QuickstartTest(ScriptTest):
    def setUp(self):
        super().setUp()
        self.stand_in("install-packages", where=self.tree / "tools")
        self.stand_in("cmake")
        self.stand_in("df", "printf 'h\\n- 1 1 999999 1%% -\\n'")
        self.program("echo '--engine LIST latchkey, rocksdb'; echo '--page-size LIST (rocksdb: block size)'")

    def program(self, help_text):
        self.stand_in("latchkey", f"case $* in *--help*) {help_text}; exit ;; esac; echo THE TABLE",
                      where=self.tree / "build/release/tools")

    def test_it_prints_the_table_and_where_the_files_are(self):
        result = self.run_script("quickstart")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(result.stdout.startswith("THE TABLE\n"))
        self.assertIn("build/quickstart/results.json", result.stdout)
        self.assertIn("--engine=latchkey,rocksdb --layout=overwrite,lfs,hylog", self.calls())

    def test_a_build_without_rocksdb_runs_without_the_baseline_and_says_so(self):
        self.program("printf '%s\\n' '--engine LIST latchkey' '' '--page-size LIST (rocksdb: block size)'")
        result = self.run_script("quickstart")
        self.assertIn("--engine=latchkey --layout", self.calls())
        self.assertIn("no RocksDB", result.stderr)

    def test_a_flag_of_the_caller_replaces_the_default(self):
        self.run_script("quickstart", "--users=32")
        self.assertIn("--users=32", self.calls())
        self.assertNotIn("--users=8", self.calls())

    def test_the_exit_code_of_the_comparison_is_passed_on(self):
        self.stand_in("latchkey", "case $* in *--help*) echo --engine rocksdb; exit ;; esac; echo THE TABLE; exit 3",
                      where=self.tree / "build/release/tools")
        result = self.run_script("quickstart")
        self.assertEqual(result.returncode, 3)
        self.assertIn("results.json", result.stdout)

    def test_a_full_disk_is_noticed_before_the_run(self):
        self.stand_in("df", "printf 'h\\n- 1 1 100 99%% -\\n'")
        result = self.run_script("quickstart")
        self.assertEqual(result.returncode, 1)
        self.assertIn("QUICKSTART_DIR", result.stderr)


class BuildRocksDbTest(ScriptTest):
    def programs(self, cargo_version):
        for program in ("cmake", "ninja", "g++"):
            self.stand_in(program)
        self.stand_in("cargo", f"case $1 in --version) echo '{cargo_version}' ;; esac")

    def test_a_cargo_that_is_too_old_is_refused_before_anything_is_written(self):
        self.programs("cargo 1.65.0")
        prefix = self.tree.parent / "fair"
        result = self.run_script("build-rocksdb", str(prefix))
        self.assertEqual(result.returncode, 1)
        self.assertIn("1.85", result.stderr)
        self.assertFalse(prefix.exists())

    def test_a_prefix_inside_the_tree_is_refused(self):
        result = self.run_script("build-rocksdb", str(self.tree / "third"))
        self.assertEqual(result.returncode, 2)
        self.assertIn("outside", result.stderr)
        self.assertFalse((self.tree / "third").exists())

    def test_a_missing_prefix_is_a_usage_error(self):
        self.assertEqual(self.run_script("build-rocksdb").returncode, 2)

    def test_the_option_for_cmake_is_the_only_line_on_stdout(self):
        self.programs("cargo 1.95.0 (f2d3ce0bd 2026-03-21)")
        prefix = self.tree.parent / "fair"
        result = self.run_script("build-rocksdb", str(prefix))
        self.assertEqual(result.stdout, f"-DROCKSDB_ROOT={prefix.resolve()}\n")
        self.assertIn("-msse4.2 -mpclmul", self.calls())


if __name__ == "__main__":
    unittest.main()
