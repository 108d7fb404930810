#!/usr/bin/env python3
"""Runs tools/experiment and its definitions against a stand-in for latchkey."""

import csv
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from catalogue import ALL
from definition import Experiment, Plot, Run, Statement, judge
from rows import median, normalised, values
from runner import Runner, noise

VERBS = {"trace info", "trace depth", "trace skew", "cachesim", "contention pool", "contention lock",
         "contention model", "tpcc-lite run",
         "model", "layout"}

# Prints one row for every combination of its lists, with the columns of every verb. Logs its calls.
FAKE = '''#!/usr/bin/env python3
import itertools, json, os, sys
if os.environ.get("FAIL_ON", "nothing") in " ".join(sys.argv):
    sys.exit("no such flag")
open(os.environ["CALLS"], "a").write(" ".join(sys.argv[1:]) + "\\n")
verb = [word for word in sys.argv[1:] if not word.startswith("--")]
flags = dict(word[2:].split("=", 1) for word in sys.argv if word.startswith("--"))
lists = {name: value.split(",") for name, value in flags.items() if name != "json"}
if verb[0] == "trace":
    lists = {"tree": ["all"], "object": ["all"], **lists}
    if verb[1] == "info":
        lists = {"tree": ["all", "item"], "object": ["all", "data", "index"]}
    if lists["tree"] == ["each"]:
        lists["tree"] = ["warehouse", "order_line", "item", "stock", "orders", "history", "customer"]
def whole(text, of):
    if text.endswith("%"):
        return max(1, int(of * float(text[:-1]) / 100))
    if text.endswith("iB"):
        return int(text[:-3]) << {"K": 10, "M": 20, "G": 30}[text[-3]]
    return int(float(text.rstrip("kM")) * {"k": 1000, "M": 1000000}.get(text[-1], 1))
def skew(text):
    parts = text.split(":")
    return "knuth:writes=" + parts[1] + ":pages=" + parts[2] if parts[0] == "knuth" else text
def model(given, index):
    u_d = float(given["space-utilization"])
    return {"disk": given["disk"], "distribution": skew(given.get("distribution", "uniform")), "space_utilization": u_d, "page_size": whole(given.get("page-size", "8KiB"), 1),
            "segment_bytes": whole(given.get("segment-size", "1MiB"), 1), "slots_per_segment": 128, "eta": 20.0 + index,
            "u": u_d - 0.05, "u_plugging": u_d / 2, "best_hot_proportion": 1.0, "hot_write_proportion": 1.0,
            "cost": {"overwrite": 20.0, "lfs_cleaning": 10.0, "lfs_plugging": 15.0, "hylog": 8.0},
            "crossing": {"u": 0.9, "space_utilization": 0.95},
            "device_time_us": {"page_write": 5000.0, "page_read": 5000.0, "segment_write": 20000.0}}
def layout(given, index):
    name, u_d = given["layout"].replace("hylog:thesis", "hylog:by=thesis"), float(given["space-utilization"])
    cleans = name != "overwrite"
    return {"device": given["device"], "disks": int(given.get("disks", 1)), "raid": given.get("raid", "raid0"), "layout": name,
            "segment_cleaning": given.get("segment-cleaning", "death-time") if cleans else None, "users": int(given["users"]),
            "workload": skew(given.get("workload", "uniform")), "page_size": int(given.get("page-size", 4096)),
            "segment_bytes": whole(given["segment-size"], 1), "pages": 100000, "space_utilization": u_d,
            "effective_space_utilization": 0.9 * u_d, "throughput": 100.0 + index, "relative_to_overwrite": 1 + index / 100,
            "page_writes_per_s": 40.0, "measured_reads_per_write": 1.5, "moves_per_write": 1.0,
            "cleaning_utilization": u_d - 0.2 if cleans else None, "write_cost": 0.5 + index / 100, "idle_proportion": 0.1,
            "hot_page_proportion": 0.5, "segment_io_efficiency": 20.0, "true_segment_io_efficiency": 20.0, "steady": True,
            "duration_s": 100.0, "warmup": {"seconds": 2000.0}, "pages_written": {"moved": 50, "appended": 100},
            "device_time_s": {"segment_read": 10.0, "segment_write": 20.0}}
def row(given, index):
    if verb[0] in ("model", "layout"):
        return {**{"model": model, "layout": layout}[verb[0]](given, index), "error": None, "warnings": []}
    found = {"trace": None, "replacement": "lru", "synchronization": "global:hits=unlocked",
             "policy": "none", "cleaner": "",
             "locks": 1, "batch": 1, "threads": 1, "users": 1, "work-us": 1, **given}
    found["synchronization"] = found["synchronization"].replace("regions:", "regions:n=").replace("n=n=", "n=")
    found["cleaner"] = found["cleaner"].replace("fixed:", "fixed:n=")
    if "processors" in given:
        costs = {"source": "built in", "nanoseconds": {"lock": 10.0, "miss": 150.0}, "algorithms": {"lru": {"hit": 4.0}}}
        found.update(threads=given["processors"], costs=json.load(open(given["costs"])) if "costs" in given else costs)
    found["page_in"] = found.get("page-in", "blocking")
    for name in ("locks", "batch", "threads", "users", "regions"):
        if name in found:
            found[name] = 60 if found[name] == "all" else int(found[name])
    found["work_us"], found["unique_pages"] = float(found["work-us"]), 10000
    found["pages"] = whole(found.get("pages", "10000"), 1)
    found["frames"] = whole(found.get("frames", "1000"), found["pages"])
    found["size"] = whole(found.get("size", "100"), 10000)
    found["cache_bytes"] = whole(found.get("cache-size", "1000"), 1000000)
    found["accesses_of"] = found["trace"] or found.get("accesses", "zipf")
    measured = {"accesses_per_s": 1e6 + index, "hit_ratio": 0.5, "contentions_per_million": 10.0 + index}
    found.update({name: 20 for name in ("shared", "exclusive", "new", "upgrades", "modified_unfixes")})
    found.update({"references": 90, "immediate": 5, "finite": 0.8, "fixes": 100, "pool_fixes": 100, "share": 0.5,
                  "fixes_per_unit": 2.5, "hottest": float(given.get("share", 10)) / 100, "fixes_share": 0.5,
                  "pages_for_80_percent": 0.2})
    found.update({"requests": 10, "misses": 5, "miss_ratio": 0.5 / (1 + index), "cache_speedup": 2.0 + index,
                  "accesses": 1e7, "locks_per_million": 1e6, "failed_page_ins_per_million": 3.0 + index, "wait_ns_per_access": 1.0, "held_ns_per_access": 2.0,
                  "duration_s": 1.0, "transactions_per_s": 5.0 + index, "new_order_per_min": 7.0 + index,
                  "warnings": ["a warning of the program"], "error": None, "io": {"reads": 1, "writes": 1},
                  "steady": True, "spread": {"accesses_per_s": None},
                  "buffer": {"hit_ratio": 0.9, "sync_write_share_of_io": 0.05, "dirty_proportion": 0.5,
                             "fixes": 9 + index,
                             "cleaner_outstanding": 4.0, "locks_per_million": 0.0},
                  "samples": [{"end_s": float(t), "buffer": {"dirty_frames": 50 + t, "clean_frames": 40 - t,
                                                             "free_frames": 10, "page_reads": 90,
                                                             "sync_page_writes": 5, "async_page_writes": 5,
                                                             "cleaner_outstanding": 4.0}} for t in range(1, 9)],
                  "repetitions": [measured] * int(flags.get("repeat", 1)), **measured})
    return found
combinations = [dict(zip(lists, chosen)) for chosen in itertools.product(*lists.values())]
print(json.dumps({"results": [row(given, index) for index, given in enumerate(combinations)]}))
'''


def experiment(**changes):
    """A small definition: misses of two algorithms on one trace."""
    return Experiment(**{
        "name": "fig-test-1", "title": "Figure 1 of a test: <misses> & more", "source": "a test, figure 1",
        "sweep": "two",
        "plot": Plot("size", "misses", "replacement", x_label="cache (pages)", y_label="misses"),
        "columns": ("requests",),
        "statements": (), "runs": (Run("cachesim", {"replacement": ["lru", "arc"], "size": [100, 200]}),), **changes})


class ExperimentTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.program, self.out, self.calls = (self.folder / name for name in ("latchkey", "out", "calls"))
        self.program.write_text(FAKE, encoding="utf-8")
        self.program.chmod(0o755)
        traces = self.folder / "traces"
        traces.mkdir()
        for name in {name for e in ALL for run in e.runs for name in run.traces}:
            (traces / f"{name}.u64.zst").touch()
        self.set_environment(CALLS=str(self.calls), LATCHKEY_TRACES=str(traces))
        self.said = []

    def set_environment(self, **variables):
        for name, value in variables.items():
            before = os.environ.get(name)
            self.addCleanup(os.environ.__setitem__ if before is not None else os.environ.pop, name, before)
            os.environ[name] = value

    def run_one(self, definition, quick=True):
        return Runner(self.folder, self.program, self.out, quick, self.said.append).run(definition)

    def run_tool(self, *arguments):
        return subprocess.run([str(HERE.parent / "experiment"), *arguments], check=False, capture_output=True, text=True)

    def spoken(self):
        return "\n".join(self.said)

    def number_of_calls(self):
        return len(self.calls.read_text(encoding="utf-8").splitlines()) if self.calls.exists() else 0


class Statements(ExperimentTest):
    def test_a_true_predicate_holds_and_its_because_is_not_shown(self):
        statement = Statement("Five misses.", lambda rows: (rows[0]["misses"] == 5, "5 measured"), "of a riddle")
        self.run_one(experiment(statements=(statement,)))
        self.assertRegex(self.spoken(), r"\* Five misses\.\n +holds\n +5 measured")
        self.assertNotIn("of a riddle", self.spoken())

    def test_a_false_predicate_differs_and_says_why(self):
        statement = Statement("Six misses.", lambda rows: (rows[0]["misses"] == 6, "5 measured"), "the fake counts five")
        self.run_one(experiment(statements=(statement,)))
        self.assertRegex(self.spoken(), r"Six misses\.\n +differs, because the fake counts five\n +5 measured")

    def test_groups_that_disagree_make_it_depend(self):
        statement = Statement("t", lambda rows: (rows[0]["v"] > 1, "m"), "b", over="trace")
        rows = [{"trace": "one", "v": 1}, {"trace": "two", "v": 2}]
        outcome = judge(statement, rows)
        self.assertEqual((outcome.verdict, outcome.heading()), ("depends", "depends on trace"))
        self.assertEqual(outcome.lines, ("trace one: m (differs)", "trace two: m (holds)", "it differs where b"))
        self.assertEqual([judge(statement, [row]).verdict for row in rows], ["differs", "holds"])

    def test_too_little_counted_decides_nothing(self):
        for check in (lambda rows: (None, "no contention"), lambda rows: (1 / 0 > 1, "")):
            outcome = judge(Statement("t", check, "b"), [{}])
            self.assertEqual(outcome.verdict, "undecided")
            self.assertTrue(outcome.heading().startswith("depends on a longer run"))

    def test_a_timed_statement_is_decided_only_by_rows_that_repeat(self):
        statement = Statement("t", lambda rows: (True, "m"), "b", timed=True)
        self.assertEqual(judge(statement, [{"noise": 0.05}]).verdict, "holds")
        self.assertEqual(judge(statement, [{"noise": None}]).verdict, "undecided")
        outcome = judge(statement, [{"noise": 0.05}, {"noise": 0.4}])
        self.assertEqual(outcome.heading(), "depends on the machine's other load: repetitions of one row differ by up to "
                                            "+/- 40 %")

    def test_a_statement_about_rows_that_do_not_repeat_holds_if_it_holds_in_five_repetitions(self):
        statement = Statement("t", lambda rows: (rows[0]["v"] > 0, "m"), "b", over="repetition", timed=True)

        def verdict(values):
            return judge(statement, [{"noise": 0.4, "repetition": index, "v": v} for index, v in enumerate(values)]).verdict
        self.assertEqual([verdict(values) for values in ([1] * 5, [-1] * 5, [1] * 4, [1, 1, 1, 1, -1])],
                         ["holds", "noisy", "noisy", "noisy"])
        medians = Statement("t", lambda rows: (sum(row["v"] for row in rows) < 3, "m"), "b", timed=True)
        rows = [{"noise": 0.4, "repetition": index, "v": 1} for index in range(5)]
        self.assertEqual(judge(medians, rows).verdict, "noisy")  # each holds, all together differ

    def test_calls_whose_times_are_compared_take_turns(self):
        runs = tuple(Run("contention pool", {"replacement": name, "repeat": 2}, columns={"system": name})
                     for name in ("lru", "arc"))
        statement = Statement("t", lambda rows: (True, "m"), "b", timed=True)
        result = self.run_one(experiment(runs=runs, statements=(statement,)))
        calls = self.calls.read_text(encoding="utf-8").splitlines()
        self.assertEqual([call.count("=lru") for call in calls], [1, 0, 1, 0])
        self.assertEqual([call.count("--repeat=1") for call in calls], [1, 1, 1, 1])
        self.assertEqual([(row["system"], row["repetition"]) for row in result.rows],
                         [("lru", 1), ("lru", 2), ("arc", 1), ("arc", 2)])
        self.assertEqual([row["noise"] for row in result.rows], [0.0] * 4)

    def test_noise_is_half_the_range_of_the_repetitions(self):
        self.assertAlmostEqual(noise([{"accesses_per_s": value} for value in (8.0, 10.0, 12.0)]), 0.2)
        self.assertIsNone(noise([{"accesses_per_s": 8.0}]))
        self.assertIsNone(noise([{}]))

    def test_a_predicate_about_rows_that_were_not_made_fails_the_definition(self):
        statement = Statement("t", lambda rows: (median(rows, "misses", replacement="mru") > 1, ""), "b")
        result = self.run_one(experiment(statements=(statement,)))
        self.assertEqual((result.state, result.why), ("failed", "no row with replacement=mru"))

    def test_values_are_medians_over_equal_rows(self):
        rows = [{"a": a, "kind": kind, "y": y} for a, kind, y in ((1, "x", 2), (1, "x", 4), (1, "x", 9), (1, "b", 2))]
        self.assertEqual(median(rows, "y", kind="x"), 4)
        self.assertEqual([row["r"] for row in normalised(rows, "y", "r", {"kind": "b"}, by=("a",))], [1, 2, 4.5, 1])
        self.assertEqual(values([{"n": 10}, {"n": 9}, {"n": 10}], "n"), [9, 10])


class Files(ExperimentTest):
    def test_the_csv_has_the_plotted_columns_and_a_row_for_each_repetition(self):
        self.run_one(experiment(runs=(Run("cachesim", {"replacement": ["lru", "arc"], "size": 100, "repeat": 2}),)))
        with open(self.out / "fig-test-1.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(list(rows[0]), ["replacement", "size", "misses", "requests", "repetition", "warnings"])
        self.assertEqual([(row["replacement"], row["repetition"]) for row in rows],
                         [("lru", "1"), ("lru", "2"), ("arc", "1"), ("arc", "2")])

    def test_the_svg_is_xml_with_title_axes_legend_and_command(self):
        for kind in ("lines", "bars"):
            plot = Plot("size", "misses", "replacement", "trace", kind, "cache (pages)", "misses", True, True)
            self.run_one(experiment(plot=plot))
            root = xml.parse(self.out / "fig-test-1.svg").getroot()
            texts = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
            for wanted in ("Figure 1 of a test: <misses> & more", "cache (pages)", "misses", "lru", "arc"):
                self.assertIn(wanted, texts)
            self.assertIn("cachesim", root.find("{http://www.w3.org/2000/svg}desc").text)

    def test_points_of_an_svg_lie_inside_it(self):
        self.run_one(experiment(plot=Plot("size", "cache_speedup", "replacement", x_log=True, y_log=True)))
        root = xml.parse(self.out / "fig-test-1.svg").getroot()
        line = next(root.iter("{http://www.w3.org/2000/svg}polyline"))
        for point in line.get("points").split():
            x, y = map(float, point.split(","))
            self.assertTrue(0 < x < 520 and 0 < y < 330, point)

    def test_the_command_is_printed_and_can_be_copied(self):
        self.run_one(experiment())
        command = re.search(r"\$ (.*)", self.spoken()).group(1)
        done = subprocess.run(command, shell=True, check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_quick_replaces_flags_and_leaves_out_those_set_to_none(self):
        run = Run("cachesim", {"size": [1, 2], "seeds": 9}, quick={"size": 3, "seeds": None})
        self.assertEqual((run.chosen_flags(True), run.chosen_flags(False)), ({"size": 3}, {"size": [1, 2], "seeds": 9}))

    def test_a_command_of_two_definitions_runs_once(self):
        runner = Runner(self.folder, self.program, self.out, True, self.said.append)
        runner.run(experiment())
        runner.run(experiment(name="fig-test-2"))
        self.assertEqual(self.number_of_calls(), 1)

    def test_a_model_runs_again_with_each_cost_halved_and_doubled_but_not_in_quick(self):
        half = Statement("Half.", lambda rows: (rows[0]["costs.nanoseconds.lock"] > 5, "x"), "of it", over="costs")
        definition = experiment(runs=(Run("contention model", {"processors": [1, 2]}, varies_costs=True),),
                                plot=Plot("threads", "accesses_per_s"), statements=(half,))
        self.assertEqual([row["costs"] for row in self.run_one(definition).rows], ["as given"] * 2)
        result = self.run_one(definition, quick=False)
        found = {row["costs"]: (row["costs.nanoseconds.lock"], row["costs.algorithms.lru.hit"]) for row in result.rows}
        self.assertEqual(found, {
            "as given": (10, 4), "lock halved": (5, 4), "miss halved": (10, 4), "algorithms halved": (10, 2),
            "lock doubled": (20, 4), "miss doubled": (10, 4), "algorithms doubled": (10, 8)})
        self.assertEqual(result.outcomes[0].verdict, "depends")

    def test_a_warning_of_the_program_is_passed_on_once(self):
        self.run_one(experiment())
        self.assertEqual(self.spoken().count("note: a warning of the program"), 1)


class Tool(ExperimentTest):
    def test_unknown_names_are_refused_with_the_known_ones(self):
        result = self.run_tool("run", "fig-thesis-9.9", "--program", str(self.program))
        self.assertEqual(result.returncode, 2)
        self.assertIn(f"unknown definition fig-thesis-9.9; known: {ALL[0].name}, ", result.stderr)
        self.assertIn("fig-thread-specific-2", result.stderr)

    def test_neither_names_nor_all_is_refused(self):
        self.assertEqual(self.run_tool("run").returncode, 2)
        self.assertEqual(self.run_tool("run", "--all", "fig-thesis-5.4").returncode, 2)

    def test_a_program_that_is_not_there_is_refused(self):
        result = self.run_tool("run", "fig-thesis-5.4", "--program", str(self.folder / "none"))
        self.assertEqual(result.returncode, 2)
        self.assertIn("--program=PATH", result.stderr)

    def test_a_trace_that_two_definitions_read_is_recorded_once(self):
        record = Run("tpcc-lite run", {"users": 2})
        runs = [Run("trace depth", {"tree": tree}, record=record) for tree in ("all", "each")]
        runner = Runner(self.folder, self.program, self.out, True, self.said.append)
        for run in runs:
            runner.run(experiment(runs=(run,)))
        calls = self.calls.read_text(encoding="utf-8").splitlines()
        file = self.out / "recorded-1.fixes"
        self.assertEqual([call.split()[:2] for call in calls], [["tpcc-lite", "run"], *[["trace", "depth"]] * 2])
        self.assertIn(f"--trace={file}", calls[0])
        self.assertTrue(all(f" {file} --tree=" in call for call in calls[1:]))
        self.assertIn("tpcc-lite run --users=2", self.spoken())

    def test_layout_gets_a_recorded_trace_by_its_flag(self):
        run = Run("layout", {"workload": "trace"}, record=Run("tpcc-lite run", {"users": 2}))
        words = Runner(self.folder, self.program, self.out, True, self.said.append).command(run)
        self.assertEqual(words, ["layout", f"--trace={self.out / 'recorded-1.fixes'}", "--workload=trace", "--json=-"])

    def test_without_its_trace_a_definition_is_skipped(self):
        self.set_environment(LATCHKEY_TRACES=str(self.folder / "empty"))
        result = self.run_tool("run", "fig-thesis-5.4", "--program", str(self.program), "--out", str(self.out))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"skipped: no .*OLTP\.u64\.zst; set LATCHKEY_TRACES")
        self.assertIn("0 definitions ran, 1 skipped", result.stdout)
        self.assertFalse(self.out.exists())
        self.assertEqual(self.number_of_calls(), 0)

    def test_a_program_that_fails_fails_its_definition_and_the_next_one_runs(self):
        self.set_environment(FAIL_ON="cachesim")
        result = self.run_tool("run", "fig-thesis-5.4", "fig-thesis-5.3", "--program", str(self.program), "--out",
                               str(self.out), "--quick")
        self.assertEqual(result.returncode, 1)
        self.assertIn("failed: exit code 1: no such flag", result.stdout)
        self.assertIn("1 definitions ran, 0 skipped, 1 failed", result.stdout)

    def test_the_list_names_every_definition(self):
        listed = self.run_tool("list").stdout
        for definition in ALL:
            self.assertIn(definition.name + " ", listed)

    def test_the_table_has_a_row_for_each_definition(self):
        result = self.run_tool("run", "fig-thesis-5.3", "--quick", "--program", str(self.program), "--out", str(self.out),
                               "--table=-")
        self.assertRegex(result.stdout, r"\| `fig-thesis-5\.3` \| 2 \| \S")


class Definitions(ExperimentTest):
    def test_every_definition_is_complete(self):
        self.assertEqual(len({definition.name for definition in ALL}), len(ALL))
        for definition in ALL:
            with self.subTest(definition.name):
                self.assertRegex(definition.name, r"^(fig|table)-[a-z-]+[0-9.]+$")
                self.assertRegex(definition.title, r"^(Figures?|Table) [0-9IVX.]+ .*: ")
                self.assertRegex(definition.source, r"(page|figure|table)")
                self.assertTrue(definition.sweep and definition.statements and definition.plot.x_label)
                self.assertTrue(definition.plot.y_label and (definition.runs or definition.compute))
                self.assertLessEqual({run.verb for run in definition.runs}, VERBS)
                if any(run.traces for run in definition.runs):
                    self.assertTrue(definition.stand_ins, "the papers' traces are not to be had: name the stand-in")

    def test_a_statement_is_a_sentence_and_its_because_one_clause(self):
        for definition in ALL:
            for statement in definition.statements:
                with self.subTest(definition.name + ": " + statement.text):
                    self.assertRegex(statement.text, r"^\S.*\.$")
                    self.assertRegex(statement.because, r"^\S.*[^.]$")
                    self.assertNotIn(". ", statement.because)

    def test_predicates_find_the_rows_of_their_runs_in_quick_and_in_full(self):
        for definition in ALL:
            for quick in (True, False) if not definition.compute else (True,):
                with self.subTest(definition.name, quick=quick):
                    result = self.run_one(definition, quick)
                    self.assertEqual((result.state, result.why), ("done", ""))
                    missing = [column for column in definition.csv_columns() if all(
                        row.get(column) is None for row in result.rows)]
                    self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
