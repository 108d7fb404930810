#!/usr/bin/env python3
"""Runs the scripts of this folder against stand-ins for cmake, ctest, apt-get and sudo.

Every script runs in a copy of its own, with a PATH that holds nothing but plain Unix tools and the
stand-ins, so that no test builds, downloads or installs anything.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parent
sys.dont_write_bytecode = True  # the tree stays as it is
sys.path.insert(0, str(TOOLS / "experiments"))
from experiments_test import Definitions, Files, Statements, Tool  # the tests of tools/experiment run here, too

UNIX = ["awk", "bash", "cat", "df", "dirname", "env", "find", "git", "grep", "head", "mkdir", "nproc", "python3",
        "realpath", "sed", "sort", "tail", "timeout"]


# The command of a test that passes, and says that it started an OS thread.
GOOD = "echo os threads: 1"


def listing(good, bad=0, skipped=0, label="storage"):
    """What ctest says of so many tests that pass, fail, or skip themselves."""
    def entry(number, program):
        told = [{"name": "LABELS", "value": [label]}, {"name": "SKIP_RETURN_CODE", "value": 77}]
        return {"name": f"{label}: {program} {number}", "command": ["bash", "-c", program], "properties": told}
    programs = [GOOD] * good + ["echo it broke; exit 1"] * bad + ["echo no such machine; exit 77"] * skipped
    return json.dumps({"tests": [entry(n, p) for n, p in enumerate(programs)]})


# Prints the document of a run, or writes it to --json=FILE: one row for every combination of its lists.
FAKE_LATCHKEY = '''
import itertools, json, sys
if "--dry-run" in sys.argv:
    if any("no-such-flag" in word for word in sys.argv):
        sys.exit("no such flag")
    sys.exit(0)
flags = dict(word[2:].split("=", 1) for word in sys.argv if "=" in word)
names = ["engine", "layout", "durability", "users", "threads", "space-utilization"]
lists = [flags.get(name, "none" if name == "durability" else "1").split(",") for name in names]
rows = []
for engine, layout, durability, users, threads, used in itertools.product(*lists):
    value = 70000.0 if engine == "latchkey" else 6000.0
    rows.append({"engine": engine, "layout": layout, "durability": durability, "users": int(users),
                 "threads": int(threads), "space_utilization": float(used), "steady": engine == "latchkey",
                 "cache_bytes": None if engine == "lmdb" else 1 << 30, "torn_write_protection": "none",
                 "transactions_per_s" if "tpcc-lite" in sys.argv else "operations_per_s": value, "repeat": 2,
                 "spread": {"transactions_per_s": {"half_range": .05}, "operations_per_s": None}, "error": None,
                 "reopen": {"dirty_bytes": 5 << 20, "open_s": 1.5, "redo_s": 1.0, "checkpointed_s": 4.0}})
json.dump({"build": {"revision": "v1-1-gabc1234", "compiler": "GNU 12.2.0", "libraries": ["RocksDB 11.8.1"]},
           "host": {"cpu": "a CPU", "cores": 2, "memory_bytes": 1 << 34, "kernel": "Linux 6", "file_system": "ext4",
                    "direct_io": True}, "results": rows}, open(flags["json"], "w"))
'''


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
        self.stand_in("check_house", where=self.tree / "tools")
        self.stand_in("setarch", 'shift; exec "$@"')
        self.stand_in("true")
        self.stand_in("cmake")
        self.ctest(listing(10))
        self.canaries("counts: canaries caught=21 of=21 runs=26")
        (self.tree / "CMakePresets.json").write_text(
            '{"testPresets": [{"name": "asan", "environment": {"OF_THE_PRESET": "here"}}]}', encoding="utf-8")
        (self.tree / "tools/check_house").write_text("", encoding="utf-8")
        for layer in ("storage", "bufferpool", "layout", "engine/txn"):
            self.stand_in("x_test.cc", where=self.tree / layer)

    def ctest(self, answer, asan=None):
        self.stand_in("ctest", f"case $* in *asan*) echo '{asan or answer}' ;; *) echo '{answer}' ;; esac")

    def canaries(self, last_line, status=0):
        self.stand_in("latchkey_campaign_canaries", f"echo '{last_line}'; exit {status}",
                      where=self.tree / "build/release/tools/campaign")

    def program(self, folder, name, body):
        self.stand_in(name, body, where=self.tree / "build/release" / folder)

    def last_line(self, result):
        return result.stdout.splitlines()[-1]

    def test_totals_are_summed_over_all_builds(self):
        result = self.run_script("test")
        self.assertEqual(self.last_line(result), "51 passed, 0 failed", result.stdout + result.stderr)
        self.assertEqual(result.returncode, 0)

    # Both are one build directory, where a second build would disturb the tests of the first.
    def test_release_builds_the_program_with_canaries_too(self):
        self.run_script("test", "release", "canaries")
        self.assertIn("--preset release --parallel 1 --target all latchkey_campaign_canaries", self.calls())
        self.assertNotIn("--preset canaries", self.calls())
        self.assertIn("latchkey_campaign_canaries canaries", self.calls())

    def test_any_failed_test_fails_the_whole_and_its_output_is_shown(self):
        self.ctest(listing(10), asan=listing(9, bad=1))
        result = self.run_script("test")
        self.assertEqual(self.last_line(result), "50 passed, 1 failed")
        self.assertIn("it broke", result.stdout)
        self.assertIn("it broke", result.stdout.split("== all done")[0].split("== what failed")[1])
        self.assertEqual(result.returncode, 1)

    def test_a_test_that_skips_itself_says_why_and_does_not_fail(self):
        self.ctest(listing(9, skipped=1))
        result = self.run_script("test", "release")
        self.assertEqual(self.last_line(result), "10 passed, 0 failed")
        self.assertIn("no such machine", result.stdout)

    def test_a_name_that_no_test_case_has_is_a_failure(self):
        self.ctest(listing(9).replace(f'"{GOOD}"', '"echo; echo No tests ran"', 1))
        result = self.run_script("test", "release")
        self.assertEqual(self.last_line(result), "8 passed, 1 failed", result.stdout)

    def test_a_test_that_dies_is_a_failure(self):
        self.ctest(listing(9).replace(f'"{GOOD}"', '"kill -SEGV $$"', 1))
        result = self.run_script("test", "release")
        self.assertEqual(self.last_line(result), "8 passed, 1 failed")
        self.assertIn("exit -11", result.stdout)

    def test_a_test_whose_time_is_over_is_a_failure(self):
        slow = listing(1).replace(f'"{GOOD}"', "\"trap 'echo seed=7' ABRT; sleep 60\"")
        slow = slow.replace('"SKIP_RETURN_CODE", "value": 77', '"TIMEOUT", "value": 0.5')
        (self.bin / "sleep").symlink_to(shutil.which("sleep"))
        self.ctest(slow)
        result = self.run_script("test", "release")
        self.assertEqual(self.last_line(result), "0 passed, 1 failed")
        self.assertIn("no end after", result.stdout)
        self.assertIn("seed=7", result.stdout)

    def test_a_build_that_fails_is_one_failure_and_the_others_still_run(self):
        self.stand_in("cmake", "case $* in *--build*asan*) exit 1 ;; esac")
        result = self.run_script("test")
        self.assertEqual(self.last_line(result), "41 passed, 1 failed")
        self.assertEqual(result.returncode, 1)

    def test_a_ctest_that_lists_nothing_is_a_failure(self):
        self.stand_in("ctest", "exit 1")
        result = self.run_script("test", "--fast")
        self.assertEqual(self.last_line(result), "0 passed, 1 failed")
        self.assertEqual(result.returncode, 1)

    def test_packages_that_cannot_be_installed_are_a_failure_and_the_tests_still_run(self):
        self.stand_in("install-packages", "exit 1", where=self.tree / "tools")
        self.assertEqual(self.last_line(self.run_script("test", "release")), "10 passed, 1 failed")

    def test_fast_is_release_alone_without_what_is_long(self):
        fuzz = json.loads(listing(3, label="fuzz"))["tests"]
        self.ctest(json.dumps({"tests": fuzz + json.loads(listing(4))["tests"]}))
        result = self.run_script("test", "--fast")
        self.assertEqual(self.last_line(result), "4 passed, 0 failed")
        self.assertIn("--preset release", self.calls())
        self.assertNotIn("asan", self.calls())
        self.assertNotIn("canaries", self.calls())

    def test_the_environment_of_the_preset_reaches_the_tests(self):
        self.ctest(listing(1).replace(f'"{GOOD}"', '"test $OF_THE_PRESET = here"'))
        self.assertEqual(self.last_line(self.run_script("test", "asan")), "1 passed, 0 failed")

    def test_every_canary_counts_as_a_test(self):
        self.canaries("counts: canaries caught=18 of=21 runs=30", status=1)
        result = self.run_script("test", "canaries")
        self.assertEqual(self.last_line(result), "18 passed, 3 failed")
        self.assertEqual(result.returncode, 1)
        self.assertIn("latchkey_campaign_canaries canaries --jobs=1", self.calls())
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
        self.ctest(listing(1).replace(f'"{GOOD}"', '"echo counts: crash runs=2 states=7; echo my counts: x"'))
        result = self.run_script("test", "release")
        self.assertIn("\ncounts: crash runs=2 states=7\n", result.stdout)
        self.assertNotIn("\nmy counts", result.stdout)

    def test_a_budget_that_is_exceeded_is_a_warning(self):
        (self.tree / "tools/test_budgets.txt").write_text("release 0.0 building\n", encoding="utf-8")
        result = self.run_script("test", "release")
        self.assertRegex(result.stdout, r"release, building +OVER ITS BUDGET")
        self.assertEqual(result.returncode, 0)

    def test_tsan_builds_and_runs_the_layers_that_share_memory(self):
        others = json.loads(listing(3, label="tpcc"))["tests"]
        self.ctest(json.dumps({"tests": others + json.loads(listing(4, label="layout"))["tests"]}))
        result = self.run_script("test", "tsan")
        self.assertEqual(self.last_line(result), "4 passed, 0 failed")
        self.assertIn("--target storage_tests bufferpool_tests layout_tests engine_tests", self.calls())

    def test_tsan_leaves_out_what_starts_no_thread_in_release(self):
        self.ctest(listing(5).replace(f'"{GOOD}"', '"true"', 2))
        result = self.run_script("test", "release", "tsan")
        self.assertEqual(self.last_line(result), "8 passed, 0 failed", result.stdout)

    def test_tsan_runs_what_failed_in_release_before_it_could_start_a_thread(self):
        self.ctest(listing(3, bad=1))
        result = self.run_script("test", "release", "tsan")
        self.assertEqual(self.last_line(result), "6 passed, 2 failed", result.stdout)

    def test_a_layer_runs_its_program_whole(self):
        self.program("layout", "layout_tests", "echo 'All tests passed (9 assertions in 5 test cases)'")
        result = self.run_script("test", "layout")
        self.assertEqual(self.last_line(result), "6 passed, 0 failed")  # with the rules of the house
        self.assertIn("--target layout_tests", self.calls())
        self.assertIn("layout_tests \n", self.calls())

    def test_a_folder_within_a_layer_runs_the_tests_of_its_files(self):
        self.program("engine", "engine_tests", "echo 'test cases: 4 | 3 passed | 1 failed'; exit 1")
        result = self.run_script("test", "engine/txn")
        self.assertEqual(self.last_line(result), "4 passed, 1 failed")
        self.assertIn("engine_tests -# [#x_test]", self.calls())

    def test_what_changed_is_tested_with_the_layers_above(self):
        for command in (["init", "-q", "-b", "main"], ["add", "-A"],
                        ["-c", "user.name=a", "-c", "user.email=b", "commit", "-qm", "all"]):
            subprocess.run(["git", *command], cwd=self.tree, check=True)
        (self.tree / "tpcc-lite").mkdir()
        (self.tree / "tpcc-lite/new.cc").write_text("", encoding="utf-8")
        one = "echo 'All tests passed (2 assertions in 1 test case)'"
        for folder, name in (("tpcc-lite", "tpcc_tests"), ("tools", "tools_tests"), ("tools/campaign", "campaign_tests")):
            self.program(folder, name, one)
        result = self.run_script("test", "--changed")
        self.assertIn("--target tpcc_tests tools_tests campaign_tests", self.calls())
        self.assertEqual(self.last_line(result), "4 passed, 0 failed", result.stdout)

    def test_an_unknown_argument_is_a_usage_error(self):
        for argument in ("--slow", "no/such/folder"):
            self.assertEqual(self.run_script("test", argument).returncode, 2)
        self.assertEqual(self.calls(), "")


class InstallPackagesTest(ScriptTest):
    def setUp(self):
        super().setUp()
        for program in ("g++", "cmake", "ninja", "pkg-config", "ld.lld", "ccache", "git", "python3",
                        "spin", "clang++-14", "clang-format-14", "clang-tidy-14", "valgrind"):
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

    def test_an_optional_package_that_cannot_be_installed_is_no_error(self):
        self.stand_in("dpkg-query", "case $* in *wiredtiger*) exit 1 ;; esac; printf installed")
        self.stand_in("id", "echo 0")
        self.stand_in("apt-get", "exit 100")
        result = self.run_script("install-packages", "--tests")
        self.assertEqual(result.returncode, 0)
        self.assertIn("could not install the optional libwiredtiger-dev", result.stderr)
        self.assertNotIn("wiredtiger", self.run_script("install-packages").stderr)

    def test_an_optional_package_needs_no_root(self):
        self.stand_in("dpkg-query", "case $* in *wiredtiger*) exit 1 ;; esac; printf installed")
        self.stand_in("id", "echo 1000")
        result = self.run_script("install-packages", "--tests")
        self.assertEqual(result.returncode, 0)
        self.assertIn("the optional libwiredtiger-dev", result.stdout)
        self.assertNotIn("apt-get", self.calls())

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

    def test_it_builds_the_program_and_nothing_else(self):
        self.run_script("quickstart")
        self.assertIn("cmake --build --preset release --parallel 1 --target latchkey_cli\n", self.calls())

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


class MeasureReadmeTest(ScriptTest):
    """Every section but quickstart's, by a program that makes its figures up."""
    SECTIONS = "memory,disk,disk-log,reads,commits,reopen,layouts"

    def setUp(self):
        super().setUp()
        self.stand_in("git", "case $* in *rev-parse*short*) echo abc1234 ;; *rev-parse*shallow*) echo false ;; "
                      "*rev-parse*) echo abc1234def ;; *merge-base*deadbee*) exit 1 ;; esac")
        fake = self.tree.parent / "fake.py"
        fake.write_text(FAKE_LATCHKEY, encoding="utf-8")
        self.stand_in("latchkey", f'exec python3 "{fake}" "$@"')
        self.readme = self.tree.parent / "out.md"
        self.readme.write_text("before\n<!-- results: old -->\nold\n<!-- results: end -->\nafter\n", encoding="utf-8")

    def measure(self, *more):
        return self.run_script("measure-readme", "--quick", f"--only={self.SECTIONS}", f"--out={self.readme}",
                               f"--program={self.bin / 'latchkey'}", *more)

    def check(self, *more):
        return self.run_script("measure-readme", f"--check={self.readme}", "--quick",
                               f"--program={self.bin / 'latchkey'}", *more)

    def broken(self, old, new):
        self.assertEqual(self.measure().returncode, 0)
        text = self.readme.read_text(encoding="utf-8")
        self.assertIn(old, text)
        self.readme.write_text(text.replace(old, new, 1), encoding="utf-8")
        result = self.check()
        self.assertEqual(result.returncode, 1)
        return result.stdout

    def test_the_block_is_rewritten_and_agrees_with_itself(self):
        result = self.measure()
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        text = self.readme.read_text(encoding="utf-8")
        self.assertRegex(text, r"^before\n<!-- results: [^>]*-->\n\nMeasured on 2 cores of a CPU, .*at commit abc1234, ")
        self.assertIn("| none | latchkey | 1 GiB | none | 70 000/s +-5.0 % | 1.00 |\n"
                      "| none | rocksdb | 1 GiB | none | 6 000/s +-5.0 % * | 11.7 |\n"
                      "| none | wiredtiger | 1 GiB | none | 6 000/s +-5.0 % * | 11.7 |\n", text)
        self.assertIn("section 7 of 7, layouts", result.stderr)
        self.assertTrue(text.endswith("<!-- results: end -->\nafter\n"))
        self.assertEqual(self.check().returncode, 0)

    def test_a_wrong_ratio_is_found(self):
        self.assertIn("11.7, the quotient", self.broken("| 11.7 |", "| 12.7 |"))

    def test_a_row_without_one_of_latchkey_to_compare_with_is_found(self):
        self.assertIn("no row of Latchkey", self.broken("| none | latchkey |", "| none | lmdb |"))

    def test_a_block_with_other_sections_than_the_script_is_found(self):
        self.assertEqual(self.measure().returncode, 0)
        result = self.run_script("measure-readme", f"--check={self.readme}")
        self.assertEqual(result.returncode, 1)
        self.assertIn("the section 'TPC-C-lite in memory' with `latchkey tpcc-lite run", result.stdout)
        self.assertIn("tools/measure-readme has no section", result.stdout)

    def test_an_engine_that_the_build_lacks_is_left_out_and_the_block_says_so(self):
        fake = self.tree.parent / "fake.py"
        self.stand_in("latchkey", 'case $* in *wiredtiger*) echo "--engine=wiredtiger: not in this build" >&2; exit 2 ;; '
                      f'esac; exec python3 "{fake}" "$@"')
        result = self.measure()
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        text = self.readme.read_text(encoding="utf-8")
        self.assertIn("Not in this build, so not measured here: wiredtiger.", text)
        self.assertNotIn(",wiredtiger", text)
        self.assertIn("| none | rocksdb |", text)

    def test_the_whole_measurement_is_planned_for_twenty_five_minutes(self):
        plan = self.run_script("measure-readme", "--plan").stdout
        self.assertLessEqual(int(re.search(r"sections, about (\d+) minutes", plan).group(1)), 25, plan)

    def test_a_second_commit_is_found(self):
        self.assertIn("several commits", self.broken("**TPC-C-lite in memory**", "**in memory at commit 1234567**"))

    def test_a_commit_outside_the_history_is_found(self):
        self.assertIn("not in the history", self.broken("at commit abc1234", "at commit deadbee"))

    def test_a_second_machine_is_found(self):
        self.assertIn("2 lines say", self.broken(
            "**TPC-C-lite in memory**", "Measured on another, at commit abc1234, 2026-01-01."))

    def test_a_command_that_the_program_refuses_is_found(self):
        self.assertIn("no such flag", self.broken("`latchkey bench ", "`latchkey bench --no-such-flag=1 "))

    def test_without_quick_a_changed_tree_and_a_missing_rival_are_refused(self):
        self.assertIn("--rocksdb=PREFIX", self.run_script("measure-readme").stderr)
        self.stand_in("git", "case $* in *status*) echo ' M x' ;; *) echo abc1234 ;; esac")
        self.assertIn("the tree has changes", self.run_script("measure-readme", "--rocksdb=x").stderr)


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
