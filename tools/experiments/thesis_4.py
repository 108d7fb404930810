"""Definitions of Wang, "Storage Management for Large Scale Systems" (2004), chapter 4: self-tuning page cleaning.

The thesis's number of page cleaners, each with one outstanding write, is `--cleaner=fixed:N` of one cleaner.
"""

from definition import Experiment, Plot, Run, Statement
from rows import add, median, normalised, percent, points, select, series, spread

THESIS = "Wang, Storage Management for Large Scale Systems, 2004"
STAND_IN = ("TPC-C-lite with simulated disks (11, 9 ms an access, first come first served, striped) and simulated "
            "users "
            "for DB2 and its simulator: the thesis's own disk model; the cache is 7.6 % of the data as 380 MB of 5 GB; "
            "throughput is page requests a second, as a simulator that replays a trace counts it")
QUICK_STAND_IN = "under --quick 10 warehouses of a tenth of the size, 20 users and a cache of 10 % for 50, 60 and 7.6 %"
BASE = {"replacement": "clock", "device": "fixed:disks=11", "warehouses": 50, "users": 60, "cache-size": "7.6%",
        "warmup": 1200, "duration": 600}
QUICK = {"warehouses": 10, "scale": 0.1, "users": 20, "cache-size": "10%", "warmup": 20, "duration": 30}
FIXED = [1, 2, 4, 8, 10, 11, 12, 16, 21, 22, 23, 33, 44, 66, 100]
FIXED_QUICK = [2, 10, 11, 12, 44]
SELF_TUNING = "self-tuning:target=0.05:gain=7.5:interval=1s"
COLUMNS = ("cleaner", "device", "cache_bytes", "requests_per_s", "transactions_per_s", "w_o", "dirty",
           "buffer.cleaner_outstanding",
           "buffer.hit_ratio", "io.reads", "io.writes", "steady")


def cleaner_runs(cleaners, quick=None, **more):
    given = {"cleaner": cleaners, **BASE, **more}
    return Run("tpcc-lite run", given, quick={**QUICK, **({"cleaner": quick} if quick else {})})


def fixed(numbers):
    return [f"fixed:{n}" for n in numbers]


def disks_of(row):
    return int(row["device"].split("disks=")[1].split(":")[0])


def outstanding(row):
    """N of fixed:n=N; None when self-tuned."""
    return int(row["cleaner"].split("n=")[1].split(":")[0]) if row["cleaner"].startswith("fixed") else None


def requests_per_s(row):
    return row["buffer.fixes"] / row["duration_s"]


def measured(rows):
    return add(rows, requests_per_s=requests_per_s, n=outstanding, disks=disks_of,
               cleaning=lambda row: row["cleaner"].split(":")[0],
               w_o=lambda row: row["buffer.sync_write_share_of_io"] or 0.0,
               dirty=lambda row: row["buffer.dirty_proportion"])


def over_untuned(rows):
    return normalised(measured(rows), "requests_per_s", "over_untuned", {"n": 2}, by=("device", "cache_bytes"))


FIXED_RUN = cleaner_runs(fixed(FIXED), fixed(FIXED_QUICK))
TUNED_RUN = cleaner_runs([SELF_TUNING])


def is_fixed(value):
    return value is not None


def throughput_rises(rows):
    found = series(select(rows, n=is_fixed), "n", "over_untuned")
    best = max(found, key=lambda pair: pair[1])
    return best[0] > 2 and best[1] > 1.05, f"throughput over that of N = 2, by N {points(found)}"


def spikes_at_multiples(rows):
    there = median(rows, "over_untuned", n=11)
    beside = max(median(rows, "over_untuned", n=n) for n in (10, 12))
    return there > beside, f"N = 11: {there:.3f}, the better of 10 and 12: {beside:.3f}"


def falls_with_n(rows, column):
    found = series(select(rows, n=is_fixed), "n", column)
    untuned = dict(found)[2]
    return found[-1][1] < 0.8 * untuned or untuned < 0.001, f"by N {points(found, '{:.3f}')}"


FIG_6 = Experiment(
    name="fig-thesis-4.6",
    title="Figure 4.6 of Wang's thesis: throughput, dirty pages and synchronous writes by number of page cleaners",
    source=f"{THESIS}, section 4.3.2, page 67",
    sweep="1 to 100 outstanding writes of page cleaners", stand_ins=(STAND_IN, QUICK_STAND_IN),
    runs=(FIXED_RUN,), derive=over_untuned, columns=COLUMNS,
    plot=Plot("n", "over_untuned", kind="lines", x_log=True, x_label="outstanding writes of page cleaners",
              y_label="throughput over that of 2"),
    statements=(
        Statement("More page cleaners than 2 raise the throughput (up to 19.2 %, at 44).", throughput_rises,
                  "reads keep the disks busy, and a write costs them the same whether a user or a cleaner waits "
                  "for it"),
        Statement("The throughput has spikes at multiples of the number of disks.", spikes_at_multiples,
                  "writes go to the disks of the pages that are dirty, not to one disk after the other"),
        Statement("With 2 page cleaners, close to 40 % of all disk accesses are synchronous writes.",
                  lambda rows: (lambda v: (v > 0.3, f"w_o = {percent(v)}"))(median(rows, "w_o", n=2)),
                  "writes are a smaller share of the accesses here than in the thesis's trace"),
        Statement("With 2 page cleaners, about 87 % of the cached pages are dirty.",
                  lambda rows: (lambda v: (v > 0.8, f"{percent(v)} are dirty"))(median(rows, "dirty", n=2)),
                  "the workload reads more pages for each page that it changes, so that clean pages fill the cache"),
        Statement("More page cleaners reduce the proportion of synchronous writes.",
                  lambda rows: falls_with_n(rows, "w_o"), "few victims are dirty even with 2"),
        Statement("More page cleaners reduce the proportion of dirty pages.", lambda rows: falls_with_n(rows, "dirty"),
                  "the cleaners write the coldest dirty pages and leave the others, however many writes they may have"),
    ))


def best_fixed(rows):
    return max(row["over_untuned"] for row in rows if row["n"] is not None)


def self_tuned(rows):
    return median(rows, "over_untuned", cleaning="self-tuning")


def near_best(rows):
    best, tuned = best_fixed(rows), self_tuned(rows)
    return tuned > 0.97 * best, f"over N = 2: best by hand {best:.3f}, self-tuned {tuned:.3f}"


FIG_9 = Experiment(
    name="fig-thesis-4.9",
    title="Figures 4.7 and 4.9 of Wang's thesis: throughput untuned, tuned by hand, and self-tuned",
    source=f"{THESIS}, sections 4.3.2 and 4.5, pages 69 and 73",
    sweep="1 to 100 outstanding writes, and the self-tuning cleaner", stand_ins=(STAND_IN, QUICK_STAND_IN),
    runs=(FIXED_RUN, TUNED_RUN), derive=over_untuned, columns=COLUMNS,
    plot=Plot("cleaner", "over_untuned", kind="bars", x_label="page cleaning", y_label="throughput over that of 2"),
    statements=(
        Statement("The best number by hand gives 19.2 % more throughput than 2 (at least 10 %).",
                  lambda rows: (best_fixed(rows) > 1.1, f"{best_fixed(rows):.3f} times that of 2"),
                  "the disks are as busy with 2 page cleaners as with 44"),
        Statement("Self-tuning gives 16.3 % more throughput than 2 page cleaners (at least 10 %).",
                  lambda rows: (self_tuned(rows) > 1.1, f"{self_tuned(rows):.3f} times that of 2"),
                  "the disks are as busy with 2 page cleaners as with any other number"),
        Statement("Self-tuning comes close to the best number by hand (within 3 %).", near_best,
                  "runs differ by some per cent with the order of their accesses, of which the best number is the "
                  "luckiest"),
    ))

FIG_10 = Experiment(
    name="fig-thesis-4.10",
    title="Figure 4.10 of Wang's thesis: synchronous writes with the self-tuning cleaner",
    source=f"{THESIS}, section 4.5, page 74; the mean of the run, fig-thesis-4.11 has the course in time",
    sweep="2 outstanding writes, and the self-tuning cleaner", stand_ins=(STAND_IN, QUICK_STAND_IN),
    runs=(FIXED_RUN, TUNED_RUN), derive=over_untuned, columns=COLUMNS,
    plot=Plot("cleaner", "w_o", kind="bars", x_label="page cleaning", y_label="synchronous writes / disk accesses"),
    statements=(
        Statement("Self-tuning keeps the synchronous writes close to w_d = 5 % (within 1 point).",
                  lambda rows: (lambda v: (abs(v - 0.05) < 0.01, f"w_o = {percent(v)}"))(
                      median(rows, "w_o", cleaning="self-tuning")),
                  "N is an integral multiple of one write of one cleaner, and w_o moves by more than a point from one "
                  "number to the next"),
        Statement("The proportion of dirty pages is lower than with 2 page cleaners.",
                  lambda rows: (lambda tuned, two: (tuned < two - 0.01, f"{percent(tuned)} against {percent(two)}"))(
                      median(rows, "dirty", cleaning="self-tuning"), median(rows, "dirty", n=2)),
                  "the cleaners write the coldest dirty pages and leave the others"),
        Statement("N stays between 3 and 5 (here: N at the end is more than 1 and less than the 44 by hand).",
                  lambda rows: (lambda v: (1 < v < 44, f"N = {v:.0f}"))(
                      median(rows, "buffer.cleaner_outstanding", cleaning="self-tuning")),
                  "1 cleaner of N writes stands for the thesis's unknown number of cleaners of N each"),
    ))


def best_by_setup(rows):
    """(disks and cache, best N) for each of them."""
    return [(f"{disks} disks, {cache / 2**20:.1f} MiB", max(
        (r for r in rows if r["disks"] == disks and r["cache_bytes"] == cache and r["n"] is not None),
        key=lambda r: r["requests_per_s"])) for disks, cache in setups(rows)]


def setups(rows):
    return sorted({(row["disks"], row["cache_bytes"]) for row in rows})


def close_everywhere(rows):
    found = []
    for disks, cache in setups(rows):
        here = [r for r in rows if (r["disks"], r["cache_bytes"]) == (disks, cache)]
        found.append((f"{disks} disks, {cache / 2**20:.1f} MiB", self_tuned(here) / best_fixed(here)))
    return all(v > 0.97 for _, v in found), "self-tuned over the best by hand: " + points(found)


SETUP_RUN = Run("tpcc-lite run", {**BASE, "cache-size": ["7.6%", "8.8%"],
                                  "device": [f"fixed:disks={n}" for n in (7, 8, 11, 15)],
                                  "cleaner": fixed([2, 7, 8, 11, 15, 22, 30, 33, 44, 45, 48, 49, 56, 66])
                                  + [SELF_TUNING]},
                quick={**QUICK, "device": ["fixed:disks=7", "fixed:disks=15"],
                       "cleaner": fixed([2, 14, 45]) + [SELF_TUNING]})

TABLE_2 = Experiment(
    name="table-thesis-4.2",
    title="Table 4.2 of Wang's thesis: the number of page cleaners that achieves peak throughput",
    source=f"{THESIS}, section 4.3.2, page 70",
    sweep="7, 8, 11 and 15 disks, 2 caches (quick: 7 and 15 disks, 1 cache), 2 to 66 outstanding writes",
    stand_ins=(STAND_IN, QUICK_STAND_IN), runs=(SETUP_RUN,), derive=over_untuned, columns=COLUMNS,
    plot=Plot("n", "over_untuned", "cache_bytes", "disks", x_log=True, x_label="outstanding writes",
              y_label="throughput over that of 2"),
    statements=(
        Statement("The best number is a multiple of the number of disks.",
                  lambda rows: (all(best["n"] % best["disks"] == 0 for _, best in best_by_setup(rows)),
                                "best N: " + points([(name, best["n"]) for name, best in best_by_setup(rows)])),
                  "the throughput by N is almost flat, so that chance decides which number is the best"),
        Statement("Which number is the best differs between configurations.",
                  lambda rows: (len({best["n"] for _, best in best_by_setup(rows)}) > 1,
                                "best N: " + points([(name, best["n"]) for name, best in best_by_setup(rows)])),
                  "few numbers were tried"),
    ))

FIG_12 = Experiment(
    name="fig-thesis-4.12",
    title="Figure 4.12 of Wang's thesis: self-tuning against the best number by hand, by disks and cache",
    source=f"{THESIS}, section 4.5, page 75",
    sweep="7, 8, 11 and 15 disks, 2 caches (quick: 7 and 15 disks, 1 cache)", stand_ins=(STAND_IN, QUICK_STAND_IN),
    runs=(SETUP_RUN,), derive=over_untuned, columns=COLUMNS,
    plot=Plot("disks", "over_untuned", "cleaning", "cache_bytes", kind="bars", x_label="disks",
              y_label="throughput over that of 2 (fixed: median)"),
    statements=(Statement("Self-tuning performs close to the best number by hand everywhere (within 3 %).",
                          close_everywhere, "runs differ by some per cent with the order of their accesses, of "
                                            "which the best number by hand is the "
                          "luckiest"),))


def parameter(name):
    """The value of a parameter of the self-tuning cleaner, in seconds where it is a time."""
    def read(row):
        value = dict(part.split("=") for part in row["cleaner"].split(":")[1:])[name]
        for unit, seconds in (("ms", 1e-3), ("us", 1e-6), ("s", 1)):
            if value.endswith(unit):
                return float(value[:-len(unit)]) * seconds
        return float(value)
    return read


def sensitivity(number, title, page, name, values, quick_values, x_label, statement, intervals=("1s",),
                quick_intervals=("1s",)):
    """A figure of throughput by one parameter of the self-tuning cleaner."""
    def cleaners(chosen, intervals):
        base = {"target": 0.05, "gain": 7.5}
        return ["self-tuning:" + ":".join(f"{k}={v}" for k, v in {**base, "interval": interval, name: value}.items())
                for interval in intervals for value in chosen]
    return Experiment(
        name=f"fig-thesis-4.{number}", title=f"Figure 4.{number} of Wang's thesis: {title}",
        source=f"{THESIS}, section 4.5, page {page}", sweep=f"{name} from {values[0]} to {values[-1]}",
        stand_ins=(STAND_IN, QUICK_STAND_IN),
        runs=(cleaner_runs(cleaners(values, intervals), cleaners(quick_values, quick_intervals)),),
        derive=lambda rows: add(measured(rows), parameter=parameter(name), interval=parameter("interval")),
        columns=COLUMNS, statements=(statement,),
        plot=Plot("parameter", "requests_per_s", "interval", x_log=True, x_label=x_label, y_label="page requests/s"))


def flat_within(limit):
    def check(rows):
        found = series(rows, "parameter", "requests_per_s")
        return spread(v for _, v in found) < limit, (f"largest over smallest: +{percent(spread(v for _, v in found))}; "
                                                     f"page requests/s by value {points(found)}")
    return check


def drops_when_tiny(rows):
    found = series(rows, "parameter", "requests_per_s")
    return found[0][1] < 0.98 * found[-1][1], "page requests/s by interval in s " + points(found)


NOISE = ("a run as short as this commits so few transactions that their order, which any change of the cleaner shifts, "
         "moves the throughput by more")
FIG_13 = sensitivity(13, "throughput by adjustment interval", 76, "interval", ["100ms", "1s", "10s", "60s", "120s"],
                     ["100ms", "10s"], "adjustment interval (s)",
                     Statement("Intervals from 0.1 to 120 s change the throughput by less than 1 %.", flat_within(0.01),
                               NOISE))
FIG_14 = sensitivity(14, "throughput by small adjustment interval", 77, "interval",
                     ["10ms", "20ms", "50ms", "100ms", "1s"], ["10ms", "100ms"], "adjustment interval (s)",
                     Statement("The throughput drops when the interval nears the time of a disk "
                               "access.", drops_when_tiny,
                               "the throughput depends so little on N that a badly adjusted N does no harm"))
FIG_15 = sensitivity(15, "throughput by desired proportion of synchronous writes", 77, "target",
                     [0.002, 0.005, 0.01, 0.02, 0.05, 0.1], [0.002, 0.1], "w_d",
                     Statement("w_d from 0.2 to 10 % changes the throughput by less than "
                               "1 %.", flat_within(0.01), NOISE))
FIG_16 = sensitivity(16, "throughput by scale parameter, under two adjustment intervals", 78, "gain",
                     [1, 2.5, 7.5, 20, 50], [1, 50], "scale parameter (1)",
                     Statement("The scale parameter changes the throughput by less than "
                               "1 %.", flat_within(0.01), NOISE),
                     intervals=("1s", "10s"), quick_intervals=("1s",))


# Figures 4.4, 4.5, 4.8 and 4.11: the course in time.

COURSE_STAND_IN = "the load of the data has filled the cache when the time begins, so the course begins with a full cache"
FRAMES = {"dirty": "dirty_frames", "clean": "clean_frames", "free": "free_frames"}
ACCESSES = {"reads": "page_reads", "synchronous writes": "sync_page_writes", "asynchronous writes": "async_page_writes"}


def course_run(cleaners):
    """From the first transaction on."""
    return Run("tpcc-lite run", {"cleaner": cleaners, **BASE, "warmup": 0, "duration": 1200},
               quick={**QUICK, "warmup": 0, "duration": 60})


def samples(rows):
    """(row without its samples, sample) for each sample of each run."""
    for row in measured(rows):
        whole = {name: value for name, value in row.items() if name != "samples"}
        yield from ((whole, sample) for sample in row["samples"])


def in_time(counts):
    """A row for each sample of a run and each of the counts, with its share of all of them."""
    def derive(rows):
        found = []
        for whole, sample in samples(rows):
            numbers = {kind: sample[f"buffer.{column}"] for kind, column in counts.items()}
            found += [{**whole, "end_s": sample["end_s"], "kind": kind, "count": number,
                       "share": number / max(1, sum(numbers.values()))} for kind, number in numbers.items()]
        return found
    return derive


def n_in_time(rows):
    return [{**whole, "end_s": sample["end_s"], "outstanding": sample["buffer.cleaner_outstanding"]}
            for whole, sample in samples(rows)]


def quarter(rows, column, which, **wanted):
    """The mean of a quarter of the run's time: the first (0) to the last (3)."""
    chosen = select(rows, **wanted)
    end = max(row["end_s"] for row in chosen)
    part = [row[column] for row in chosen if which <= 4 * row["end_s"] / end - 1e-9 <= which + 1]
    return sum(part) / len(part)


def first_and_last(rows, kind):
    return quarter(rows, "share", 0, kind=kind), quarter(rows, "share", 3, kind=kind)


def pages_become_dirty(rows):
    dirty, clean = first_and_last(rows, "dirty"), first_and_last(rows, "clean")
    return dirty[1] > dirty[0] and clean[1] < clean[0], (
        f"first and last quarter: dirty {percent(dirty[0])}, {percent(dirty[1])}; clean {percent(clean[0])}, "
        f"{percent(clean[1])}")


def course(number, title, where, cleaners, derive, y, y_label, statements, series="kind", panel=None,
           columns=("cleaner", "end_s", "kind", "count", "share")):
    """A figure of something in time."""
    return Experiment(
        name=f"fig-thesis-4.{number}", title=f"Figure 4.{number} of Wang's thesis: {title}",
        source=f"{THESIS}, section {where}", sweep="a course of 1,200 s (quick: 60)",
        stand_ins=(STAND_IN, COURSE_STAND_IN, QUICK_STAND_IN), runs=(course_run(cleaners),), derive=derive,
        columns=columns, plot=Plot("end_s", y, series, panel, x_label="time (s)", y_label=y_label),
        statements=statements)


FIG_4 = course(
    4, "dirty, clean and free pages in time, with 2 page cleaners", "4.3.1, page 64", "fixed:2", in_time(FRAMES),
    "share", "share of the cache's pages", (
        Statement("While the cache is full, dirty pages increase and clean pages drop, up to a steady state.",
                  pages_become_dirty, "the cleaners keep up with the pages that become dirty"),
        Statement("In steady state about 90 % of the pages are dirty (80 % or more).",
                  lambda rows: (lambda v: (v > 0.8, f"last quarter: {percent(v)}"))(first_and_last(rows, "dirty")[1]),
                  "the workload reads more pages for each page that it changes, so that clean pages fill the cache"),
    ))

FIG_5 = course(
    5, "reads, synchronous and asynchronous writes in time, with 2 page cleaners", "4.3.1, page 65", "fixed:2",
    in_time(ACCESSES), "count", "disk accesses in a second", (
        Statement("In steady state close to 40 % of the disk accesses are synchronous writes (30 % or more).",
                  lambda rows: (lambda v: (v > 0.3, f"last quarter: {percent(v)}"))(
                      first_and_last(rows, "synchronous writes")[1]),
                  "writes are a smaller share of the accesses here than in the thesis's trace"),
        Statement("Synchronous writes slow the reads down.",
                  lambda rows: (lambda first, last: (last < first, f"reads in a second, first and last quarter: "
                                                                   f"{first:.1f}, {last:.1f}"))(
                      quarter(rows, "count", 0, kind="reads"), quarter(rows, "count", 3, kind="reads")),
                  "synchronous writes take few of the disks' accesses"),
    ))


def of_n(rows, n, kind):
    return quarter(rows, "share", 3, kind=kind, n=n)


FIG_8 = course(
    8, "reads, synchronous and asynchronous writes in time, with 44 page cleaners and with 2",
    "4.3.2, page 69; fig-thesis-4.6 has its dirty pages", fixed([2, 44]), in_time(ACCESSES), "count",
    "disk accesses in a second", panel="n", statements=(
        Statement("With 44 page cleaners very few synchronous writes are left (2 % of the accesses at most).",
                  lambda rows: (lambda v: (v < 0.02, f"last quarter: {percent(v)}"))(
                      of_n(rows, 44, "synchronous writes")),
                  "so many pages become dirty that victims are among them"),
        Statement("They are far fewer than with 2 (a quarter at most).",
                  lambda rows: (lambda few, many: (4 * few < many, f"{percent(few)} against {percent(many)}"))(
                      of_n(rows, 44, "synchronous writes"), of_n(rows, 2, "synchronous writes")),
                  "few victims are dirty even with 2"),
    ))


def n_is_steady(rows):
    late = [row["outstanding"] for row in rows if row["end_s"] > max(r["end_s"] for r in rows) / 4]
    middle = sum(late) / len(late)
    return max(late) - min(late) <= 0.67 * middle, (
        f"N from {min(late):.0f} to {max(late):.0f}, {middle:.1f} in the mean")


FIG_11 = course(
    11, "N of the self-tuning cleaner in time", "4.5, page 74", SELF_TUNING, n_in_time, "outstanding", "N", series=None,
    columns=("cleaner", "end_s", "outstanding"), statements=(
        Statement("N fluctuates in a small range (3 to 5; here: two thirds of its mean).", n_is_steady,
                  "w_o of a second has few accesses, and N follows it"),
    ))

EXPERIMENTS = [FIG_4, FIG_5, FIG_6, FIG_8, FIG_11, TABLE_2, FIG_9, FIG_10, FIG_12, FIG_13, FIG_14, FIG_15, FIG_16]
