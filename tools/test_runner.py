"""What tools/test does once the packages are there; see there for its arguments.

Tests are taken from ctest's list (and the environment from CMakePresets.json) and run here rather than
by ctest, for two reasons: processor time is measured for each, and one build compiles while another is
tested, so that all cores are busy from the first minute to the last.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
BUDGETS = ROOT / "tools/test_budgets.txt"
# "NUMBER NAME" for each test that passed in the last run of release: the OS threads that it started.
THREADS = BUILD / "os_threads.txt"
JOBS = int(os.environ.get("JOBS") or os.cpu_count())
BUILDS = ["release", "canaries", "asan", "tsan"]
# A folder with tests of its own, from below upward: its program, the label of its tests.
PROGRAMS = {"storage": "storage", "bufferpool": "bufferpool", "layout": "layout", "engine": "engine",
            "tpcc-lite": "tpcc", "tools": "tools", "tools/campaign": "campaign"}
# Its tests have no program in common: ctest's label names them.
BINDINGS = "bindings"
BINDINGS_TARGETS = ["latchkey_c", "latchkey_c_tests", "latchkey_c_example"]
TSAN_LAYERS = ["storage", "bufferpool", "layout", "engine"]
SLOW_LABELS = {"fuzz", "slow"}
CANARY_PROGRAM = "latchkey_campaign_canaries"
# Also of several test cases in one process. The longest test takes some 100 s under a sanitizer.
DEFAULT_TIMEOUT_S = 600
# A test that runs this long is named; so is one that runs twice as long, and so on.
LONG_S = 120
# Of a failed test, told again at the end: the end is what is kept of a long record.
MOST_EVIDENCE_LINES = 15
# Named at the end, as those to make shorter first.
MOST_LONG_TESTS = 12
# Test cases of one program that one process runs: a program with sanitizers takes a tenth of a second to begin.
CASES_PER_PROCESS = 8
# The key that counts a campaign's cases in its line of counts.
CASES = ["states", "cases", "executions", "transactions", "operations", "runs", "kills"]

print_lock = threading.Lock()
running = {}  # process group: (when it started, its log); to be ended with this process
STARTED = time.monotonic()


def say(*lines):
    with print_lock:
        for line in lines:
            print(line, flush=True)


def clock():
    """Minutes and seconds since the start."""
    seconds = int(time.monotonic() - STARTED)
    return f"{seconds // 60}:{seconds % 60:02}"


@dataclass
class Test:
    name: str
    command: list
    cwd: str
    environment: dict
    labels: set
    timeout_s: float
    skip_code: int | None = None

    def group(self):
        """The row of the final table: a program's test cases together, all else by itself."""
        if Path(self.command[0]).name.endswith("_tests"):
            return f"{next(iter(self.labels))}: test cases"
        return self.name

    def slowness(self):
        """Long ones first, so that none is left alone at the end."""
        if "latchkey_campaign" in self.command[0]:
            return 0
        return 2 if self.group().endswith(": test cases") and not self.labels & SLOW_LABELS else 1


@dataclass
class Tally:
    passed: int = 0
    failed: int = 0
    failures: list = field(default_factory=list)
    evidence: list = field(default_factory=list)  # the end of what each failed test said
    rows: dict = field(default_factory=dict)  # (build, group): [tests, cpu seconds, wall seconds, cases]
    tests: list = field(default_factory=list)  # (processor seconds, build, name) of each test

    def fail(self, what, count=1):
        self.failed += count
        self.failures.append(what)
        say(f"FAILED: {what}")

    def took(self, build, group, cpu_s, wall_s, cases=None):
        row = self.rows.setdefault((build, group), [0, 0.0, 0.0, None])
        row[0] += 1
        row[1] += cpu_s
        row[2] += wall_s
        if cases:
            row[3] = (row[3] or 0) + cases


def abandon(group, over):
    """A process group whose time is over. Aborted first: Catch2 then names its test case, a campaign its seed."""
    over.set()
    try:
        os.killpg(group, signal.SIGABRT)
        time.sleep(1)
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run(command, log, cwd=ROOT, environment=None, timeout_s=None):
    """Runs a command into a file: its exit code (None when its time was over), processor and wall seconds."""
    started = time.monotonic()
    with open(log, "wb") as out:
        try:
            process = subprocess.Popen([str(c) for c in command], cwd=cwd, stdout=out, stderr=subprocess.STDOUT,
                                       stdin=subprocess.DEVNULL, env=environment, start_new_session=True)
        except OSError as error:
            out.write(f"{error}\n".encode())
            return 127, 0.0, 0.0
        running[process.pid] = (started, log)
        over = threading.Event()
        watch = threading.Timer(timeout_s or 0, abandon, (process.pid, over))
        if timeout_s:
            watch.start()
        _, status, usage = os.wait4(process.pid, 0)
        watch.cancel()
        running.pop(process.pid, None)
        process.returncode = os.waitstatus_to_exitcode(status)
    code = None if over.is_set() else process.returncode
    return code, usage.ru_utime + usage.ru_stime, time.monotonic() - started


def end_all(number, _frame):
    """Of SIGINT and SIGTERM: what was started ends too."""
    for group in list(running):
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            pass
    os._exit(128 + number)


def name_long_ones():
    """Says what runs for long, so that a record that breaks off tells what did not end."""
    told = {}  # log: seconds at which its process is named next
    while True:
        time.sleep(10)
        for group, (started, log) in list(running.items()):
            seconds = time.monotonic() - started
            if seconds > told.get(log, LONG_S) and "test-output" in str(log):
                told[log] = 2 * seconds
                say(f"[{clock()}] runs for {seconds:.0f} s: {command_of(group)}")


def command_of(process):
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return "a process that has ended"
    return " ".join(words)[:1000]


def text_of(path):
    return Path(path).read_text(encoding="utf-8", errors="replace")


# ThreadSanitizer cannot place its shadow memory under the address randomisation of newer
# kernels.
def without_randomisation():
    setarch = shutil.which("setarch")
    if setarch and subprocess.run([setarch, "-R", "true"], check=False, capture_output=True).returncode == 0:
        return [setarch, "-R"]
    return []


# ---- Building.

def tree_of(build):
    """The build directory: canaries are a program in that of release."""
    return "release" if build == "canaries" else build


def configure(build, tally):
    """Warnings are errors where gcc's are sound: sanitizers make it warn of what cannot happen."""
    log = BUILD / f"{build}.configure.log"
    preset = tree_of(build)
    strict = "ON" if preset == "release" else "OFF"
    code, _, _ = run(["cmake", "--preset", preset, "-DLATCHKEY_BUILD_TESTS=ON",
                      f"-DLATCHKEY_WARNINGS_AS_ERRORS={strict}"], log)
    if code != 0:
        say(text_of(log))
        tally.fail(f"{build}: configuring")
    return code == 0


def compile_build(build, targets, tally):
    log = BUILD / f"{build}.build.log"
    command = ["cmake", "--build", "--preset", build, "--parallel", str(JOBS)]
    if targets:
        command += ["--target", *targets]
    code, cpu_s, wall_s = run(command, log)
    tally.took(build, "building", cpu_s, wall_s)
    if code != 0:
        lines = text_of(log).splitlines()
        shown = set()
        for i, line in enumerate(lines):
            if "FAILED" in line or "error" in line:
                shown.update(range(i, min(i + 13, len(lines))))
        say(*[lines[i] for i in sorted(shown)[:80]])
        tally.fail(f"{build}: building, see build/{build}.build.log")
    return code == 0


def build(name, targets, tally):
    say("", f"[{clock()}] == {name}: building into build/{tree_of(name)}")
    started = time.monotonic()
    done = configure(name, tally) and compile_build(name, targets, tally)
    if done:
        say(f"[{clock()}] {name}: built in {time.monotonic() - started:.0f} s")
    return done


# ---- Testing.

def preset_environment(build_name):
    presets = json.loads(text_of(ROOT / "CMakePresets.json"))["testPresets"]
    return next((p.get("environment", {}) for p in presets if p["name"] == build_name), {})


def listed_tests(build_name):
    """What ctest knows of; raises ValueError when it does not say."""
    try:
        listing = subprocess.run([*without_randomisation(), "ctest", "--preset", build_name, "--show-only=json-v1"],
                                 cwd=ROOT, check=False, capture_output=True, text=True)
    except OSError as error:
        raise ValueError(str(error)) from error
    environment = {**os.environ, **preset_environment(build_name)}
    tests = []
    for entry in json.loads(listing.stdout[listing.stdout.index("{"):])["tests"]:
        told = {p["name"]: p["value"] for p in entry.get("properties", [])}
        own = dict(pair.split("=", 1) for pair in told.get("ENVIRONMENT", []))
        # A program that was not built is a test without a command.
        tests.append(Test(entry["name"], entry.get("command", ["false"]), told.get("WORKING_DIRECTORY", str(ROOT)),
                          {**environment, **own}, set(told.get("LABELS", [])),
                          float(told.get("TIMEOUT", DEFAULT_TIMEOUT_S)), told.get("SKIP_RETURN_CODE")))
    return tests


def cases_of(output):
    """The cases of the last line of counts: "counts: crash runs=3 states=12" has 12."""
    counts = re.findall(r"^counts:.*$", output, re.MULTILINE)
    told = dict(re.findall(r"(\w+)=(\d+)", counts[-1])) if counts else {}
    return next((int(told[key]) for key in CASES if key in told), None)


def os_threads_of(output):
    """What storage/runtime/testing/os_thread_count.cc told."""
    return sum(int(number) for number in re.findall(r"^os threads: (\d+)$", output, re.MULTILINE))


def without_threads():
    """The tests of which the last run of release knows that they start no OS thread."""
    lines = text_of(THREADS).splitlines() if THREADS.exists() else []
    return {line[2:] for line in lines if line.startswith("0 ")}


@dataclass
class Outcome:
    test: Test
    ok: bool
    skipped: bool
    code: int | None
    output: str


def run_test(build_name, number, test, prefix, tally):
    log = BUILD / build_name / f"test-output/{number}.log"
    code, cpu_s, wall_s = run([*prefix, *test.command], log, test.cwd, test.environment, test.timeout_s)
    output = text_of(log)
    with print_lock:
        tally.took(build_name, test.group(), cpu_s, wall_s, cases_of(output))
        tally.tests.append((cpu_s, build_name, test.name))
    skipped = code is not None and code == test.skip_code
    # Catch2 calls a name that no test case has a success.
    nothing_ran = "\nNo tests ran" in output
    return Outcome(test, (code == 0 and not nothing_ran) or skipped, skipped, code, output)


def in_processes(tests, at_once):
    """`tests` in lists: up to `at_once` test cases of one program, or a single test of another kind."""
    lists = []
    for test in tests:
        last = lists[-1] if lists else []
        together = (len(test.command) == 2 and test.group().endswith(": test cases") and test.skip_code is None
                    and last and len(last) < at_once
                    and (last[0].command[0], last[0].cwd, last[0].environment)
                    == (test.command[0], test.cwd, test.environment))
        if together:
            last.append(test)
        else:
            lists.append([test])
    return lists


def seconds_of_cases(output):
    """{test case or section: wall seconds} of Catch2's --durations: "0.012 s: the name". A test case with generators
    has a line for each of its runs."""
    took = {}
    for seconds, name in re.findall(r"^([\d.]+) s: (.*)$", output, re.MULTILINE):
        took[name.strip()] = took.get(name.strip(), 0.0) + float(seconds)
    return took


def run_together(build_name, number, tests, prefix, tally):
    """One process for all of `tests`; the outcomes. If it fails each is run alone, which says what failed."""
    if len(tests) > 1:
        log = BUILD / build_name / f"test-output/{number}.log"
        first = tests[0]
        names = ",".join(test.command[1] for test in tests)
        code, cpu_s, wall_s = run([*prefix, first.command[0], "--durations", "yes", names], log, first.cwd,
                                  first.environment, max(test.timeout_s for test in tests))
        output = text_of(log)
        if code == 0 and re.search(rf"assertions? in {len(tests)} test cases\)", output):
            took = seconds_of_cases(output)
            shares = [took.get(test.name.partition(":")[2].strip(), 0.0) + 1e-3 for test in tests]
            with print_lock:
                for test, share in zip(tests, shares):
                    part = share / sum(shares)
                    tally.took(build_name, test.group(), cpu_s * part, wall_s * part)
                    tally.tests.append((cpu_s * part, build_name, test.name))
            return [Outcome(test, True, False, 0, "") for test in tests]
    return [run_test(build_name, f"{number}.{i}", test, prefix, tally) for i, test in enumerate(tests)]


def note_threads(threads):
    """{test of release that passed: OS threads that it started}."""
    THREADS.write_text("".join(f"{number} {name}\n" for name, number in sorted(threads.items())), encoding="utf-8")


def run_tests(build_name, selected, tally):
    """Every test of the build that `selected` accepts."""
    try:
        tests = [t for t in listed_tests(build_name) if selected(t)]
    except (ValueError, KeyError):
        tests = []
    if not tests:
        tally.fail(f"{build_name}: ctest lists no tests")
        return
    tests.sort(key=Test.slowness)
    shutil.rmtree(BUILD / build_name / "test-output", ignore_errors=True)
    (BUILD / build_name / "test-output").mkdir(parents=True)
    say("", f"[{clock()}] == {build_name}: {len(tests)} tests")
    prefix, bad, counts, threads = without_randomisation(), [], [], {}
    # Release tells which test cases start threads: each has a process.
    lists = in_processes(tests, 1 if build_name == "release" else CASES_PER_PROCESS)
    with ThreadPoolExecutor(JOBS) as pool:
        jobs = [pool.submit(run_together, build_name, n, some, prefix, tally) for n, some in enumerate(lists)]
        for outcome in (outcome for job in jobs for outcome in job.result()):
            name, output = outcome.test.name, outcome.output
            counts += re.findall(r"^counts:.*$", output, re.MULTILINE)
            if outcome.ok:
                threads[name] = os_threads_of(output)
            if outcome.skipped:
                say(f"skipped: {name}: {output.strip().splitlines()[-1] if output.strip() else ''}")
            if not outcome.ok:
                code = outcome.code
                why = f"no end after {outcome.test.timeout_s:.0f} s" if code is None else f"exit {code}"
                title = f"---- {build_name}: {name}: {why}"
                say(title, *output.splitlines()[-60:])
                tally.evidence += [title, *output.splitlines()[-MOST_EVIDENCE_LINES:]]
                bad.append(name)
    say(*counts)
    if build_name == "release":
        note_threads(threads)
    tally.passed += len(tests) - len(bad)
    for name in bad:
        tally.fail(f"{build_name}: {name}")
    say(f"[{clock()}] {build_name}: {len(tests) - len(bad)} of {len(tests)} tests passed")


def run_canaries(tally):
    """One test for every seeded bug: a campaign must find it."""
    say("", f"[{clock()}] == canaries: hunting")
    log = BUILD / "canaries.log"
    code, cpu_s, wall_s = run([BUILD / "release/tools/campaign" / CANARY_PROGRAM, "canaries", f"--jobs={JOBS}"], log)
    tally.took("canaries", "campaign: canaries", cpu_s, wall_s)
    output = text_of(log)
    # "counts: canaries caught=20 of=21 ..."
    match = re.search(r"^counts: canaries caught=(\d+) of=(\d+)", output, re.MULTILINE)
    if not match:
        say(*output.splitlines()[-40:])
        tally.fail("canaries: the campaign did not finish")
        return
    caught, of = int(match.group(1)), int(match.group(2))
    say(*re.findall(r"^(?:caught|NOT CAUGHT|WRONG|counts:).*$", output, re.MULTILINE))
    tally.passed += caught
    tally.evidence += re.findall(r"^(?:NOT CAUGHT|WRONG).*$", output, re.MULTILINE)
    if caught < of:
        tally.fail(f"canaries: {of - caught} not caught, see build/canaries.log", of - caught)
    elif code != 0:
        tally.fail(f"canaries: exit {code}, see build/canaries.log")


def test_build(name, tally):
    if name == "canaries":
        run_canaries(tally)
    else:
        run_tests(name, is_for_tsan(without_threads()) if name == "tsan" else lambda test: True, tally)


# ---- Selecting.

def is_for_tsan(idle):
    """ThreadSanitizer has nothing to see in one thread. Those that release did not run are run."""
    return lambda test: bool(test.labels & set(TSAN_LAYERS)) and test.name not in idle


def tsan_targets():
    return [f"{layer}_tests" for layer in TSAN_LAYERS if any((ROOT / layer).rglob("*_test.cc"))]


def run_builds(names, tally):
    """All tests of these builds; one is tested while the next compiles. Release builds the program with
    canaries, too: two builds of one directory cannot run at once, nor can one run while ctest lists its tests."""
    targets = {"tsan": tsan_targets()}
    if {"release", "canaries"} <= set(names):
        targets["release"] = ["all", CANARY_PROGRAM]
    built = set()
    with ThreadPoolExecutor(1) as tester:
        waiting = []
        for name in names:
            if tree_of(name) in built or build(name, targets.get(name, []), tally):
                built.add(name)
                waiting.append(tester.submit(test_build, name, tally))
        for job in waiting:
            job.result()


def is_quick(test):
    """What --fast runs: not what is long for its thoroughness, nor what builds anew."""
    heavy = ("installed package", "the models hold", "instructions", "clang-tidy")
    return not (test.labels & SLOW_LABELS or "latchkey_campaign" in test.command[0]
                or any(word in test.name for word in heavy))


def run_fast(tally):
    if build("release", [], tally):
        run_tests("release", is_quick, tally)


def run_house(tally):
    code, cpu_s, wall_s = run([sys.executable, ROOT / "tools/check_house", ROOT], BUILD / "house.log")
    tally.took("release", "house: rules", cpu_s, wall_s)
    if code == 0:
        tally.passed += 1
    else:
        say(text_of(BUILD / "house.log"))
        tally.fail("house: the tree's own rules")


def folder_runs(folders):
    """For every test program: the tags of the files below `folders`; an empty list is all of it."""
    runs = {}
    for folder in (Path(f).as_posix().rstrip("/") for f in folders):
        for home in PROGRAMS:
            if (home + "/").startswith(folder + "/"):
                runs[home] = []
        owner = max((h for h in PROGRAMS if (folder + "/").startswith(h + "/")), key=len, default=None)
        if owner and owner != folder and runs.get(owner) != []:
            tests = sorted((ROOT / folder).rglob("*_test.cc"))
            runs.setdefault(owner, []).extend(f"[#{t.stem}]" for t in tests)
            if not tests:
                del runs[owner]
    return runs


def run_program(home, tags, tally):
    """One test program at once: its cases, or those of the files that `tags` names."""
    label = PROGRAMS[home]
    program = BUILD / "release" / home / f"{label}_tests"
    log = BUILD / f"release.{label}_tests.log"
    command = [program, *(["-#", ",".join(tags)] if tags else [])]
    code, cpu_s, wall_s = run(command, log, timeout_s=DEFAULT_TIMEOUT_S)
    tally.took("release", f"{label}: test cases", cpu_s, wall_s)
    output = text_of(log)
    # "All tests passed (9 assertions in 2 test cases)", "test cases: 3 | 2 passed | 1 failed"
    some = re.search(r"test cases:\s+(\d+)(?: \| +(\d+) passed)?(?: \| +(\d+) failed)?", output)
    every = re.search(r"assertions? in (\d+) test cases?\)", output)
    good = int(every.group(1)) if every else int(some.group(2) or 0) if some else 0
    tally.passed += good
    if code != 0:
        say(*output.splitlines()[-60:])
        bad = int(some.group(3) or 0) if some else 0
        tally.fail(f"{label}_tests: exit {code}, see {log.relative_to(ROOT)}", max(bad, 1))
    say(f"{home}: {good} test cases passed in {wall_s:.0f} s")


def run_folders(folders, tally):
    runs = folder_runs(folders)
    with_bindings = any(Path(f).parts[:1] == (BINDINGS,) for f in folders)
    run_house(tally)
    targets = [f"{PROGRAMS[home]}_tests" for home in runs] + BINDINGS_TARGETS * with_bindings
    if not targets:
        say("no test program belongs to " + " ".join(folders))
    elif build("release", targets, tally):
        with ThreadPoolExecutor(JOBS) as pool:
            list(pool.map(lambda item: run_program(*item, tally), runs.items()))
        if with_bindings:
            run_tests("release", lambda t: BINDINGS in t.labels, tally)


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, check=False, capture_output=True, text=True).stdout


def changed_folders():
    """The layers of the files that differ from the merge base with main, and those above them."""
    base = next((b for b in (git("merge-base", "HEAD", m).strip() for m in ("origin/main", "main")) if b), "HEAD")
    files = git("diff", "--name-only", base).split() + git("ls-files", "--others", "--exclude-standard").split()
    say(f"{len(set(files))} files differ from {base[:10]}")
    homes = list(PROGRAMS)
    first = len(homes)
    leaves = {BINDINGS} if any(f.startswith(BINDINGS + "/") for f in files) else set()
    for file in set(files):
        if file.startswith("cmake/") or file in ("CMakeLists.txt", "CMakePresets.json"):
            first = 0
        owner = max((h for h in homes if file.startswith(h + "/")), key=len, default=None)
        if owner in ("bufferpool", "layout"):  # they do not know each other
            leaves.add(owner)
            first = min(first, homes.index("engine"))
        elif owner:
            first = min(first, homes.index(owner))
    if first <= homes.index("engine"):
        leaves.add(BINDINGS)
    return sorted(leaves | set(homes[first:]), key=(*homes, BINDINGS).index)


# ---- Times and budgets.

def budgets():
    """{(build, group): processor seconds}."""
    found = {}
    for line in text_of(BUDGETS).splitlines() if BUDGETS.exists() else []:
        if line.strip() and not line.startswith("#"):
            build_name, seconds, group = line.split(None, 2)
            found[build_name, group] = float(seconds)
    return found


def tell_times(tally):
    allowed = budgets()
    say("", f"{'cpu s':>8} {'budget':>7} {'wall s':>8} {'tests':>6} {'cases/cpu s':>11}  what")
    order = {name: i for i, name in enumerate(BUILDS)}
    total = 0
    for (build_name, group), (tests, cpu_s, wall_s, cases) in sorted(
            tally.rows.items(), key=lambda item: (order.get(item[0][0], 9), -item[1][1])):
        total += cpu_s
        budget = allowed.get((build_name, group))
        verdict = "" if budget is None or cpu_s <= budget else "  OVER ITS BUDGET"
        rate = f"{cases / cpu_s:.0f}" if cases and cpu_s else ""
        say(f"{cpu_s:8.1f} {'' if budget is None else format(budget, '.0f'):>7} {wall_s:8.1f} {tests:6} {rate:>11}  "
            f"{build_name}, {group}{verdict}")
    (BUILD / "test_times.txt").write_text("".join(f"{build_name} {row[1]:.1f} {group}\n"
                                                  for (build_name, group), row in tally.rows.items()),
                                          encoding="utf-8")
    say(f"{total:8.1f} {'':7} {'':8} {'':6} {'':11}  processor seconds in all")
    longest = sorted(tally.tests, reverse=True)
    (BUILD / "test_times_each.txt").write_text("".join(f"{seconds:.2f} {build_name} {name}\n"
                                                       for seconds, build_name, name in longest), encoding="utf-8")
    say("", "longest test cases, in cpu s, of build/test_times_each.txt:")
    say(*[f"{seconds:8.1f}  {build_name}, {name}" for seconds, build_name, name in longest
          if not name.startswith(("campaign", "house", "fuzz"))][:MOST_LONG_TESTS])


def main():
    arguments = sys.argv[1:]
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end_all)
    BUILD.mkdir(exist_ok=True)
    tally = Tally()
    threading.Thread(target=name_long_ones, daemon=True).start()
    if arguments and arguments[0].startswith("--packages-failed="):
        if arguments.pop(0) != "--packages-failed=0":
            tally.fail("packages")
    names = [a for a in arguments if a in (*BUILDS, "debug")]
    folders = [a for a in arguments if not a.startswith("-") and a not in names]
    if "--changed" in arguments:
        folders += changed_folders()
        if not folders:
            run_house(tally)
    if folders:
        run_folders(folders, tally)
    if "--fast" in arguments:
        run_fast(tally)
    if names or not arguments:
        run_builds(names or BUILDS, tally)
    tell_times(tally)
    if tally.evidence:
        say("", "== what failed", *tally.evidence[-300:])
    say("", f"[{clock()}] == all done")
    say(*[f"FAILED: {failure}" for failure in tally.failures])
    say(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
