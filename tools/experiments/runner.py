"""Runs definitions: calls the program, collects rows, judges statements, writes CSV and SVG."""

import csv
import json
import os
import resource
import shlex
import shutil
import statistics
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from definition import COSTS, NOISE, REPETITION, judge
from rows import NoSuchRow
from svg_plot import draw

TRACE_ENDS = ".u64.zst"
REPEAT = "repeat"  # the flag


class RunFailed(Exception):
    """The program failed, or printed something that is no document of results."""


class NoTrace(Exception):
    """A definition needs a trace that is not there."""


@dataclass(frozen=True)
class Result:
    """What became of one definition: `state` is "done", "skipped" or "failed"."""
    experiment: object
    state: str
    why: str = ""
    rows: tuple = ()
    outcomes: tuple = ()
    seconds: float = 0.0


def trace_folder(root):
    """$LATCHKEY_TRACES, or a folder shared/traces beside the project. It may not exist."""
    return Path(os.environ.get("LATCHKEY_TRACES") or root.parent / "shared" / "traces")


def processor_seconds():
    """Of this process and of the programs that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def flat(document, prefix=""):
    """Nested objects as columns joined by dots; lists are left out, but for the samples of a run."""
    columns = {}
    for name, value in document.items():
        if name == "samples":
            columns[name] = [flat(sample) for sample in value]
        elif isinstance(value, dict):
            columns.update(flat(value, f"{prefix}{name}."))
        elif not isinstance(value, list):
            columns[prefix + name] = value
    return columns


def noise(repetitions):
    """Half the range of the repetitions' throughputs over their median; None for less than two."""
    for name in ("accesses_per_s", "transactions_per_s"):
        found = [own[name] for own in repetitions if name in own]
        if len(found) > 1:
            middle = statistics.median(found)
            return (max(found) - min(found)) / 2 / middle if middle else float("inf")
    return None


def rows_of(result):
    """One row for each repetition."""
    base = flat({name: value for name, value in result.items() if name != "spread"})
    base["warnings"] = "; ".join(result.get("warnings") or [])
    for name in ("trace", "accesses_of"):
        if str(base.get(name, "")).endswith(TRACE_ENDS):
            base[name] = Path(base[name]).name[:-len(TRACE_ENDS)]
    repetitions = result.get("repetitions") or [{}]
    base[NOISE] = noise(repetitions)
    return [{**base, **flat(own), REPETITION: index} for index, own in enumerate(repetitions, start=1)]


def other_costs(costs):
    """Documents of costs in each of which one is halved or doubled; those of all algorithms count as one."""
    def scaled(tree, factor):
        return {name: scaled(of, factor) if isinstance(of, dict) else of * factor for name, of in tree.items()}
    for factor, done in ((0.5, "halved"), (2, "doubled")):
        for name, nanoseconds in costs["nanoseconds"].items():
            yield {**costs, "source": f"{name} {done}",
                   "nanoseconds": {**costs["nanoseconds"], name: nanoseconds * factor}}
        yield {**costs, "source": f"algorithms {done}", "algorithms": scaled(costs["algorithms"], factor)}


class Runner:
    """Runs definitions one after the other; a command that two of them share runs once."""

    def __init__(self, root, program, out, quick, say):
        self.root, self.program, self.out, self.quick, self.say = root, program, out, quick, say
        self.documents = {}
        self.recordings = {}  # command of the recording run -> its file

    def command(self, run):
        """The call as words, without the program; NoTrace if a trace is not there."""
        words = run.verb.split()
        if run.record:
            file = str(self.recording(run.record))
            words.append(f"--trace={file}" if run.verb == "layout" else file)
        if run.traces:
            files = [trace_folder(self.root) / (name + TRACE_ENDS) for name in run.traces]
            missing = [str(file) for file in files if not file.is_file()]
            if missing:
                raise NoTrace(f"no {', '.join(missing)}; set LATCHKEY_TRACES to the folder of the traces")
            words.append("--trace=" + ",".join(map(str, files)))
        for name, value in run.chosen_flags(self.quick).items():
            given = value if isinstance(value, (list, tuple)) else [value]
            words.append(f"--{name}=" + ",".join(map(str, given)))
        if run.verb.startswith("tpcc-lite"):
            words.append(f"--db={self.out / 'db'}")
        return words + ["--json=-"]

    def recording(self, run):
        """The file for the trace of `run`."""
        key = tuple(self.command(run))
        return self.recordings.setdefault(key, self.out / f"recorded-{len(self.recordings) + 1}.fixes")

    def recorder(self, run):
        """The call that writes recording(run)."""
        return [*self.command(run), f"--trace={self.recording(run)}"]

    def commands(self, run):
        """What it takes to get the rows of `run`: the call, after that which records its trace."""
        return [*([self.recorder(run.record)] if run.record else []), self.command(run)]

    def rows(self, run):
        if run.record:
            self.out.mkdir(parents=True, exist_ok=True)
            recorder = tuple(self.recorder(run.record))
            if recorder not in self.documents:
                self.documents[recorder] = self.call(recorder)
        words = self.command(run)
        results = self.results(words)
        found = [row for result in results for row in rows_of(result)]
        if run.varies_costs:
            found = [{**row, COSTS: "as given"} for row in found]
            if not self.quick:
                found += self.rows_of_other_costs(words, results[0]["costs"])
        return [{**row, **run.columns} for row in found]

    def takes_turns(self, experiment):
        """Whether several calls are compared by times of this machine, so that a slow moment must not hit one alone."""
        repeat = {run.chosen_flags(self.quick).get(REPEAT, 1) for run in experiment.runs}
        timed = any(statement.timed for statement in experiment.statements)
        plain = not any(run.record or run.varies_costs for run in experiment.runs)
        return timed and plain and len(experiment.runs) > 1 and len(repeat) == 1 and max(repeat) > 1

    def rows_in_turn(self, runs):
        """The rows of calls that take turns: one repetition of each, then the next one of each."""
        found = {}  # place of the run and its row -> its repetitions
        for repetition in range(1, runs[0].chosen_flags(self.quick)[REPEAT] + 1):
            for place, run in enumerate(runs):
                words = self.command(replace(run, flags={**run.flags, REPEAT: 1}, quick={**run.quick, REPEAT: 1}))
                rows = [row for result in self.results(words, repetition) for row in rows_of(result)]
                for index, row in enumerate(rows):
                    own = found.setdefault((place, index), [])
                    own.append({**row, **run.columns, REPETITION: repetition})
        return [{**row, NOISE: noise(own)} for own in found.values() for row in own]

    def rows_of_other_costs(self, words, costs):
        """The rows of the same call with each cost of the processor model halved, and doubled."""
        folder = self.out / "costs"
        folder.mkdir(parents=True, exist_ok=True)
        files = []
        for document in other_costs(costs):
            files.append(folder / f"{document['source'].replace(' ', '-')}.json")
            files[-1].write_text(json.dumps(document), encoding="utf-8")
        again = [*words, "--costs=" + ",".join(map(str, files))]
        return [{**row, COSTS: row["costs.source"]} for result in self.results(again) for row in rows_of(result)]

    def results(self, words, repetition=None):
        """Of the call, which runs once; of a call that takes turns with others, once for each repetition."""
        key = (repetition, *words)
        if key not in self.documents:
            self.documents[key] = self.call(words)
        return self.documents[key]

    def call(self, words):
        done = subprocess.run([str(self.program), *words], check=False, capture_output=True, text=True)
        shutil.rmtree(self.out / "db", ignore_errors=True)
        if done.returncode != 0:
            raise RunFailed(f"exit code {done.returncode}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
        try:
            results = json.loads(done.stdout)["results"]
        except (ValueError, KeyError, TypeError) as error:
            raise RunFailed(f"its output is no document of results: {error}") from error
        errors = [result["error"] for result in results if result.get("error")]
        if errors:
            raise RunFailed(errors[0])
        return results

    def run(self, experiment):
        """Prints what happens and what the statements came out as; writes NAME.csv and NAME.svg."""
        began = processor_seconds()
        self.describe(experiment)
        try:
            commands = [shlex.join([shown(self.program), *words]) for run in experiment.runs
                        for words in self.commands(run)]
            for command in commands:
                self.say(f"  $ {command}")
            if self.takes_turns(experiment):
                self.say("  the calls take turns: one repetition of each, then the next one of each")
            rows = self.collect(experiment)
            outcomes = tuple(judge(statement, rows) for statement in experiment.statements)
        except NoTrace as reason:
            self.say(f"  skipped: {reason}")
            return Result(experiment, "skipped", str(reason))
        except (RunFailed, NoSuchRow) as reason:
            self.say(f"  failed: {reason}")
            return Result(experiment, "failed", str(reason))
        self.report(rows, outcomes)
        self.write(experiment, rows, commands, began)
        return Result(experiment, "done", "", tuple(rows), outcomes, processor_seconds() - began)

    def describe(self, experiment):
        self.say(f"\n{experiment.name}: {experiment.title}")
        self.say(f"  source: {experiment.source}")
        self.say(f"  sweep: {experiment.sweep}")
        for stand_in in experiment.stand_ins:
            self.say(f"  stand-in: {stand_in}")
        if experiment.compute:
            self.say(f"  computed: {experiment.compute.__doc__.splitlines()[0]}")

    def collect(self, experiment):
        rows = list(experiment.compute(self.quick)) if experiment.compute else []
        if self.takes_turns(experiment):
            rows += self.rows_in_turn(experiment.runs)
        else:
            rows += [row for run in experiment.runs for row in self.rows(run)]
        return experiment.derive(rows) if experiment.derive else rows

    def report(self, rows, outcomes):
        for outcome in outcomes:
            self.say(f"  * {outcome.statement.text}\n    {outcome.heading()}")
            for measured in outcome.lines[outcome.verdict == "noisy":]:
                self.say(f"      {measured}")
        for warning in dict.fromkeys(row["warnings"] for row in rows if row.get("warnings")):
            self.say(f"  note: {warning}")

    def write(self, experiment, rows, commands, began):
        self.out.mkdir(parents=True, exist_ok=True)
        table, picture = self.out / f"{experiment.name}.csv", self.out / f"{experiment.name}.svg"
        with open(table, "w", encoding="utf-8", newline="") as file:
            columns = experiment.csv_columns()
            columns += [c for c in (REPETITION, "warnings") if any(c in row for row in rows) and c not in columns]
            writer = csv.DictWriter(file, columns, restval="", extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        described = "; ".join([experiment.source, *commands, *("stand-in: " + s for s in experiment.stand_ins)])
        picture.write_text(draw(rows, experiment.plot, experiment.title, described), encoding="utf-8")
        self.say(f"  wrote {shown(table)} and {shown(picture)}; {processor_seconds() - began:.1f} s of processor time")


def shown(path):
    """Relative to the current folder where it is below it."""
    path = Path(path).resolve()
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def in_short(result):
    """What the statements came out as; the text of those that differ, or depend on something."""
    if result.state != "done":
        return result.state
    verdicts = [outcome.verdict for outcome in result.outcomes]
    words = [f"{verdicts.count(verdict)} {word}" for verdict, word in (("holds", "hold"), ("noisy", "too noisy"), (
        "undecided", "too little counted")) if verdict in verdicts]
    words += [f"{'differs' if o.verdict == 'differs' else 'depends on ' + o.statement.over}: {o.statement.text[:-1]}"
              for o in result.outcomes if o.verdict in ("differs", "depends")]
    return "; ".join(words)


def table(results):
    """The results as a Markdown table, a row for each definition."""
    lines = ["| figure or table | statements | came out as |", "|---|---|---|"]
    for result in results:
        lines.append(f"| `{result.experiment.name}` | {len(result.experiment.statements)} | {in_short(result)} |")
    return "\n".join(lines) + "\n"
