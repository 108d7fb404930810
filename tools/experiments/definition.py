"""What a definition of a paper's figure or table consists of.

A row is a dict: the columns of the program's JSON (nested ones joined by dots), `trace` as the
trace's name, `repetition` from 1, and what the definition adds.
"""

from dataclasses import dataclass, field
from typing import Callable, Optional

REPETITION = "repetition"
COSTS = "costs"           # of a row of the processor model: "as given", or the cost that is halved or doubled
NOISE = "noise"           # of a row: half the range of its repetitions' throughputs, over their median
NOISE_LIMIT = 0.1         # of rows whose comparison decides by itself
AGREEING = 5              # repetitions at least that must hold, each by itself, above the limit


@dataclass(frozen=True)
class Run:
    """One call of latchkey. A flag's value may be a list: the program runs every combination."""
    verb: str                 # "cachesim", "contention pool", "contention model", "tpcc-lite run", "layout", ...
    flags: dict               # flag without dashes -> value or list of values
    quick: dict = field(default_factory=dict)    # flags replaced, or left out if None, under --quick
    traces: tuple = ()        # names of traces; given as --trace
    columns: dict = field(default_factory=dict)  # added to every row of this run
    varies_costs: bool = False  # of the processor model: without --quick again with each cost halved and doubled
    record: Optional["Run"] = None  # records the trace that `trace` or `layout` reads; once for all definitions

    def chosen_flags(self, quick):
        chosen = {**self.flags, **(self.quick if quick else {})}
        return {name: value for name, value in chosen.items() if value is not None}


@dataclass(frozen=True)
class Statement:
    """One statement of the paper, and the predicate that decides it over the rows.

    `check(rows)` returns (bool, the measured numbers as text), or (None, ...) if too little was
    counted to decide. With `over`, it is called once for each value of that column; results that
    disagree are printed as "depends on". So is a timed statement whose rows differ between their
    repetitions by more than NOISE_LIMIT: then the machine's other load decides. The exception is a
    statement that holds in each of AGREEING or more repetitions by itself.
    """
    text: str
    check: Callable
    because: str              # one sentence, shown only where the predicate is false
    over: Optional[str] = None
    timed: bool = False       # compares throughputs or times of real processors: decided only by rows that repeat


@dataclass(frozen=True)
class Plot:
    """Lines or bars; y is the median of the rows with the same panel, series and x."""
    x: str
    y: str
    series: Optional[str] = None
    panel: Optional[str] = None   # one coordinate system for each value
    kind: str = "lines"           # or "bars"
    x_label: str = ""             # with the unit
    y_label: str = ""
    x_log: bool = False
    y_log: bool = False


@dataclass(frozen=True)
class Experiment:
    name: str                 # fig-PAPER-NUMBER or table-PAPER-NUMBER
    title: str                # "Figure 5.4 of Wang's thesis: ..."
    source: str               # paper, section, page or figure
    sweep: str                # what is varied, in words
    plot: Plot
    columns: tuple            # of the CSV, besides those that the plot names
    statements: tuple
    runs: tuple = ()          # calls of latchkey; the rows of all of them
    compute: Optional[Callable] = None  # compute(quick) -> rows, for a figure of a model
    derive: Optional[Callable] = None   # derive(rows) -> rows, after all runs
    stand_ins: tuple = ()     # what stands for a trace or machine that is not to be had, and why

    def csv_columns(self):
        plotted = [self.plot.panel, self.plot.series, self.plot.x, self.plot.y]
        return list(dict.fromkeys([c for c in plotted if c] + list(self.columns)))


@dataclass(frozen=True)
class Outcome:
    """What a statement came out as: `verdict` is "holds", "differs", "depends" "undecided" or "noisy"."""
    statement: Statement
    verdict: str
    lines: tuple              # what is printed below the statement

    def heading(self):
        if self.verdict == "holds":
            return "holds"
        if self.verdict == "differs":
            return f"differs, because {self.statement.because}"
        if self.verdict == "undecided":
            return "depends on a longer run or more processors: too little was counted to decide"
        if self.verdict == "noisy":
            return "depends on the machine's other load: repetitions of one row differ by up to " + self.lines[0]
        return f"depends on {self.statement.over}"


VERDICTS = {True: "holds", False: "differs", None: "undecided"}


def judge(statement, rows):
    """Evaluates one statement over the rows of its experiment."""
    outcome = decide(statement, rows)
    if not statement.timed:
        return outcome
    noises = [row.get(NOISE) for row in rows]
    if None in noises:
        return Outcome(statement, "undecided", outcome.lines)
    if max(noises) > NOISE_LIMIT and not repetitions_agree(statement, rows, outcome):
        return Outcome(statement, "noisy", (f"+/- {100 * max(noises):.0f} %", *outcome.lines))
    return outcome


def repetitions_agree(statement, rows, outcome):
    """Whether all rows together and each of enough repetitions by itself say that the statement holds.

    That a statement of several comparisons differs in each repetition may be noise: one of them is enough.
    """
    repetitions = list(dict.fromkeys(row[REPETITION] for row in rows if REPETITION in row))
    if len(repetitions) < AGREEING:
        return False
    verdicts = {decide(statement, [row for row in rows if row.get(REPETITION) == repetition]).verdict
                for repetition in repetitions}
    return verdicts | {outcome.verdict} == {"holds"}


def decide(statement, rows):
    """The outcome if the rows are taken as they are."""
    def checked(chosen):
        try:
            return statement.check(chosen)
        except ZeroDivisionError:
            return None, "a row counted nothing"

    if statement.over is None:
        holds, measured = checked(rows)
        return Outcome(statement, VERDICTS[holds], (measured,))
    groups = list(dict.fromkeys(row[statement.over] for row in rows))
    results = [(group, *checked([r for r in rows if r[statement.over] == group])) for group in groups]
    lines = tuple(f"{statement.over} {group}: {measured} ({VERDICTS[holds]})"
                  for group, holds, measured in results)
    if len(results) == 1:
        lines = (results[0][2],)
    found = {holds for _, holds, _ in results}
    if len(found) == 1:
        return Outcome(statement, VERDICTS[found.pop()], lines)
    reason = (f"it differs where {statement.because}",) if False in found else ()
    return Outcome(statement, "depends", lines + reason)
