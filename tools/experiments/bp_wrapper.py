"""Definitions of Ding, Shan, Jiang, "BP-Wrapper" (TPDS 2016), and of tables II and III of its ICDE 2009 version."""

from definition import REPETITION, Experiment, Plot, Run, Statement
from rows import add, counted, median, normalised, points, select, series

PAPER = "Ding, Shan, Jiang, BP-Wrapper, TPDS 2016"
ICDE = "Ding, Jiang, Zhang, BP-Wrapper, ICDE 2009"
CORES = ("the cores of this machine for 16 Itaniums or 8 Xeon cores; more threads than cores stand for the "
         "over-committed back ends of the paper, and measure preemption")
DBT1 = "the page reads of TPC-W's browsing mix for DBT-1, without PostgreSQL around them"
TABLE_SCAN = "queries that each read one of eight tables whole for TableScan"
WORK = "0.1 us of work between accesses for PostgreSQL's, so that few cores meet at the lock"
NO_WORK = "no work between accesses, so that few cores meet at the lock"
WORKLOADS = (("DBT-1", "tpc-w"), ("TableScan", "table-scan"))
PG = ["pgclock", "pg2q", "pgbatching", "pgpref", "pgbat-pre"]
BUF = ["buflru", "bufdistlock", "bufbatching", "bufbat-pref", "bufbp-distlock", "bufbp-prim"]
TIMES = {"repeat": 5, "warmup": 1, "duration": 1}
FEW = 20  # contentions, below which chance decides
QUICK_TIMES = {"repeat": 2, "warmup": 0.02, "duration": 0.03}
COLUMNS = ("policy", "replacement", "synchronization", "accesses_of", "threads", "accesses_per_s", "hit_ratio",
           "locks_per_million", "contentions_per_million")


def rate(rows, policy, **wanted):
    return median(rows, "accesses_per_s", policy=policy, **wanted)


def contentions(rows, policy, **wanted):
    return median(rows, "contentions_per_million", policy=policy, **wanted)


# Figure 4.

def batches_cheaper(rows):
    """The processor's clock is read for each batch, so that the time includes the cost of the lock."""
    found = series(select(rows, threads=2), "batch", "lock_ns")
    return found[-1][1] < 0.9 * found[0][1], "ns of waiting and holding an access, 2 threads, by batch " + points(found)


def fewer_contentions(rows):
    found = series(select(rows, threads=2), "batch", "contentions_per_million")
    enough = counted(select(rows, threads=2, batch=1)) >= FEW
    return (found[-1][1] <= 0.5 * found[0][1] if enough else None), (
        "contentions per million, 2 threads, by batch " + points(found))


FIG_4 = Experiment(
    name="fig-bp-wrapper-4",
    title="Figure 4 of BP-Wrapper: lock time per access by batch size",
    source=f"{PAPER}, section 3.2, figure 4; the hit ratios of its right axis are in fig-bp-wrapper-10",
    sweep="1 to 64 accesses under one request of the lock, 1 to 16 threads",
    stand_ins=(CORES, "50 ns of work under the lock for 2Q's: about what its hit costs here"),
    runs=(Run("contention lock", {"batch": [1, 2, 4, 8, 16, 32, 64], "threads": [1, 2, 16], "hold-us": 0.05,
                                  "work-us": 0.1, **TIMES},
              quick={**QUICK_TIMES, "repeat": 2, "batch": [1, 8, 64], "threads": 2}),),
    derive=lambda rows: add(rows, lock_ns=lambda row: row["wait_ns_per_access"] + row["held_ns_per_access"]),
    columns=("accesses_per_s", "contentions_per_million", "wait_ns_per_access", "held_ns_per_access"),
    plot=Plot("batch", "lock_ns", "threads", x_log=True, y_log=True, x_label="accesses under one request",
              y_label="waiting and holding (ns an access)"),
    statements=(
        Statement("The lock time of an access falls as the batch grows to 64.", batches_cheaper,
                  "other programs took the processor from a holder of the lock",
                  over=REPETITION, timed=True),
        Statement("Batches of 64 have fewer contentions (half at most).", fewer_contentions,
                  "a holder that stays longer under the lock is met more often by the few requests that remain",
                  over=REPETITION),
    ))

# Figures 8 and 9.


def scaling_runs():
    common = {"policy": PG, "threads": [1, 2, 4, 16], "work-us": 0.1, "frames": "100%", "pages": "100k", **TIMES}
    quick = {"threads": [1, 2], "pages": 4000, **QUICK_TIMES}
    return tuple(Run("contention pool", {**common, "accesses": accesses}, quick=quick, columns={"workload": workload})
                 for workload, accesses in WORKLOADS)


def far_fewer(rows, factor=100):
    """At the largest number of threads; with fewer contentions than `factor` in all, nothing is decided."""
    threads = max(row["threads"] for row in rows)
    plain, batched = (contentions(rows, p, threads=threads) for p in ("pg2q", "pgbatching"))
    enough = counted(select(rows, policy="pg2q", threads=threads)) >= factor
    holds = batched <= plain / factor if enough else None
    return holds, f"{threads} threads: contentions per million pg2q {plain:.1f}, pgbatching {batched:.2f}"


def as_fast_as_clock(rows):
    threads = max(row["threads"] for row in rows)
    ratio = rate(rows, "pgbatching", threads=threads) / rate(rows, "pgclock", threads=threads)
    return ratio > 0.95, f"{threads} threads: pgbatching reaches {ratio:.3f} of pgclock's throughput"


def plain_is_slower(rows):
    threads = max(row["threads"] for row in rows)
    ratio = rate(rows, "pg2q", threads=threads) / rate(rows, "pgclock", threads=threads)
    return ratio < 0.7, f"{threads} threads: pg2q reaches {ratio:.3f} of pgclock's throughput"


def prefetch_helps(rows):
    threads = max(row["threads"] for row in rows)
    plain, ahead = (contentions(rows, p, threads=threads) for p in ("pg2q", "pgpref"))
    enough = counted(select(rows, policy="pg2q", threads=threads)) >= FEW
    return (ahead < 0.8 * plain if enough else None), (
        f"{threads} threads: contentions per million pg2q {plain:.1f}, pgpref {ahead:.1f}")


FIG_8 = Experiment(
    name="fig-bp-wrapper-8",
    title="Figures 8 and 9 of BP-Wrapper: throughput and contentions of five systems by threads",
    source=f"{PAPER}, section 5.1.3, figures 8 and 9",
    sweep="5 systems, 1 to 16 threads, all pages in the pool, two workloads",
    stand_ins=(CORES, DBT1, TABLE_SCAN, WORK, "nothing stands for DBT-2 here: fig-nb-gclock-15 runs TPC-C"),
    runs=scaling_runs(), columns=COLUMNS,
    plot=Plot("threads", "accesses_per_s", "policy", "workload", x_log=True, x_label="threads", y_label="accesses/s"),
    statements=(
        Statement("Batching reduces contentions by a factor of 197 to over 9,000 (here: at least 100).", far_fewer,
                  "a batch that is reported while another thread waits still counts, and few cores meet seldom "
                  "without it", over="workload"),
        Statement("pgBatching scales as pgClock does (within 5 %).", as_fast_as_clock,
                  "a batch of 2Q still costs its list work, which a CLOCK's hit does not have",
                  over="workload", timed=True),
        Statement("pg2Q falls behind pgClock by more than 30 % with many processors.", plain_is_slower,
                  "2 cores queue at the lock seldom",
                  over="workload", timed=True),
        Statement("Prefetching alone reduces contentions (by 21 to 88 %).", prefetch_helps,
                  "the metadata of the pool is in the processor's cache anyway, so that asking for it ahead only costs",
                  over="workload"),
    ))

# Tables II and III of the ICDE version.


def queue_of(row):
    return parameters(row)["queue"]


def threshold_of(row):
    return parameters(row)["threshold"]


def parameters(row):
    parts = (part.split("=") for part in row["synchronization"].split(":")[1:])
    return {name: int(value) for name, value in parts if value.isdigit()}


def sync_of(pairs):
    return [f"bp-wrapper:queue={queue}:threshold={threshold}:prefetch=off" for queue, threshold in pairs]


def queue_run(schemes, quick):
    return Run("contention pool", {"replacement": "2q", "synchronization": sync_of(schemes), "threads": [2, 16],
                                   "work-us": 0, "pages": "100k", "accesses": "tpc-w", **TIMES},
               quick={"threads": 2, "pages": 4000, "synchronization": sync_of(quick), **QUICK_TIMES, "repeat": 2})


def with_queue(rows):
    return add(rows, queue=queue_of, threshold=threshold_of)


def little_beyond_8(rows):
    found = series(rows, "queue", "accesses_per_s")
    by_queue = dict(found)
    return by_queue[64] < 1.1 * by_queue[8], "M accesses/s by queue " + points([(q, v / 1e6) for q, v in found])


def fewer_with_queue(rows):
    found = series(rows, "queue", "contentions_per_million")
    enough = counted(select(rows, queue=2)) >= FEW
    return (found[-1][1] < 0.2 * found[0][1] if enough else None), "contentions per million by queue " + points(found)


QUEUE_COLUMNS = (*COLUMNS, "queue", "threshold")
TABLE_2 = Experiment(
    name="table-bp-wrapper-icde-2",
    title="Table II of BP-Wrapper (ICDE): throughput and contentions by queue size",
    source=f"{ICDE}, section IV.D, table II", sweep="queues of 2 to 64 accesses, threshold half of the queue",
    stand_ins=(CORES, DBT1, NO_WORK), derive=with_queue, columns=QUEUE_COLUMNS,
    runs=(queue_run([(q, q // 2) for q in (2, 4, 8, 16, 32, 64)], [(q, q // 2) for q in (2, 8, 64)]),),
    plot=Plot("queue", "contentions_per_million", "threads", x_log=True, x_label="queue (accesses)",
              y_label="contentions per million accesses"),
    statements=(
        Statement("A queue beyond 8 gains little throughput (less than 10 %).", little_beyond_8,
                  "with no work between accesses the cost of the lock itself, not waiting for it, is what a queue "
                  "saves",
                  over=REPETITION, timed=True),
        Statement("A longer queue has fewer contentions (a fifth from 2 to 64).", fewer_with_queue,
                  "few cores meet at the lock seldom, and a preempted holder counts alike for every queue",
                  over=REPETITION),
    ))


def threshold_of_queue_is_bad(rows):
    at = dict(series(rows, "threshold", "contentions_per_million"))
    enough = counted(rows) >= FEW
    return (at[64] > at[32] if enough else None), (
        f"contentions per million: {at[32]:.1f} at threshold 32, {at[64]:.1f} at 64")


def small_threshold_is_bad(rows):
    at = dict(series(rows, "threshold", "contentions_per_million"))
    enough = counted(rows) >= FEW
    return (at[1] > at[32] if enough else None), (
        f"contentions per million: {at[1]:.1f} at threshold 1, {at[32]:.1f} at 32")


TABLE_3 = Experiment(
    name="table-bp-wrapper-icde-3",
    title="Table III of BP-Wrapper (ICDE): throughput and contentions by batch threshold",
    source=f"{ICDE}, section IV.D, table III", sweep="batch thresholds of 1 to 64, queue of 64",
    stand_ins=(CORES, DBT1, NO_WORK), derive=with_queue, columns=QUEUE_COLUMNS,
    runs=(queue_run([(64, t) for t in (1, 2, 4, 8, 16, 32, 48, 64)], [(64, t) for t in (1, 32, 64)]),),
    plot=Plot("threshold", "contentions_per_million", "threads", x_log=True, x_label="batch threshold (accesses)",
              y_label="contentions per million accesses"),
    statements=(
        Statement("A threshold as large as the queue has more contentions than half of it.", threshold_of_queue_is_bad,
                  "a full queue finds the lock free almost every time, with so few cores", over=REPETITION),
        Statement("A threshold of 1 has more contentions than 32.", small_threshold_is_bad,
                  "a failed TryLock() costs no contention, and the queue of 64 gives time for many of them",
                  over=REPETITION),
    ))

# Figure 10.


def frames_percent(rows):
    return add(rows, frames_percent=lambda row: round(100 * row["frames"] / row["pages"], 2))


def hit(rows, policy, at):
    return median(rows, "hit_ratio", policy=policy, frames_percent=at)


def above_clock(rows):
    found = [(at, hit(rows, "pg2q", at) - hit(rows, "pgclock", at)) for at in sizes(rows)]
    return found[0][1] > 0, "pg2q's hit ratio minus pgclock's, by % of the data " + points(found, "{:+.4f}")


def sizes(rows):
    return sorted({row["frames_percent"] for row in rows})


def wrapper_keeps_hits(rows, only_largest):
    found = [(at, hit(rows, "pgbat-pre", at) - hit(rows, "pg2q", at)) for at in sizes(rows)]
    chosen = found[-1:] if only_largest else found
    return all(d > -0.005 for _, d in chosen), "pgbat-pre's hit ratio minus pg2q's, by % of the data " + points(
        found, "{:+.4f}")


def hit_ratio_runs():
    common = {"policy": ["pgclock", "pg2q", "pgbat-pre"], "threads": 2, "work-us": 0,
              "frames": ["0.5%", "1%", "2%", "5%", "15%", "30%", "60%"], **TIMES}
    quick = {"frames": ["1%", "30%"], "warmup": 0.2, "duration": 0.1, "repeat": 1}
    return (Run("contention pool", {**common, "accesses": "tpc-w", "pages": "200k"}, quick=quick,
                columns={"workload": "DBT-1"}),
            Run("contention pool", {**common, "accesses": "trace"}, traces=("OLTP",), quick=quick,
                columns={"workload": "OLTP"}))


FIG_10 = Experiment(
    name="fig-bp-wrapper-10",
    title="Figure 10 of BP-Wrapper: hit ratio by buffer size",
    source=f"{PAPER}, section 5.1.4, figure 10, first row",
    sweep="3 systems, pools of 0.5 to 60 % of the data, 2 threads, two workloads",
    stand_ins=("the page reads of TPC-W's browsing mix for DBT-1",
               "the trace OLTP, replayed by 2 threads, for DBT-2: a database's requests, with a data set whose "
               "half per cent is smaller than the free lists"),
    runs=hit_ratio_runs(),
    derive=frames_percent, columns=(*COLUMNS, "frames", "pages"),
    plot=Plot("frames_percent", "hit_ratio", "policy", "workload", x_log=True, x_label="frames (% of the data)",
              y_label="hit ratio"),
    statements=(
        Statement("2Q hits more often than CLOCK in a small buffer.", above_clock,
                  "the browsing mix hits so often that few misses are left; the trace is replayed by two threads, each "
                  "from its own position, which changes the order that 2Q relies on",
                  over="workload"),
        Statement("BP-Wrapper does not hurt the hit ratio of a large buffer (half a point).",
                  lambda rows: wrapper_keeps_hits(rows, True),
                  "frames in the free lists are missing to the algorithm even there", over="workload"),
        Statement("BP-Wrapper does not hurt the hit ratio at any size (half a point).",
                  lambda rows: wrapper_keeps_hits(rows, False),
                  "64 free lists of up to 64 frames hold 4,096 frames, which is more than a small pool can spare",
                  over="workload"),
    ))

# Figures 11 and 13.


def over_distlock(rows):
    return normalised(rows, "accesses_per_s", "over_distlock", {"policy": "bufdistlock"},
                      by=("threads", "work_us", REPETITION))


def at_work(rows, policy, work, **wanted):
    return median(rows, "over_distlock", policy=policy, work_us=work, **wanted)


def shown_at_1us(rows, names):
    return "1 us of work, over bufdistlock: " + points([(name, at_work(rows, name, 1)) for name in names])


EMULATOR = ("1,000,000 frames of 10,000,000 pages (quick: 1,000 of 10,000) over a store of zeros for the RAM disk: the "
            "paper's own emulator; 2 threads on 2 cores for 16 on 16")
FIG_11 = Experiment(
    name="fig-bp-wrapper-11",
    title="Figures 11 and 12 of BP-Wrapper: throughput by work between accesses, over that of distributed locks",
    source=f"{PAPER}, section 5.2, figure 11; on a virtual machine it is figure 12", sweep="6 systems, 1 to 6 us of work, about 90 % hits, 2 threads",
    stand_ins=(EMULATOR,), derive=over_distlock, columns=COLUMNS,
    runs=(Run("contention pool", {"policy": BUF, "pages": "10M", "frames": "10%", "accesses": "zipf:skew=0.99",
                                  "threads": 2, "work-us": [1, 2, 3, 4, 5, 6], **TIMES, "warmup": 10},
              quick={"pages": 100000, "work-us": [1, 6], **QUICK_TIMES}),),
    plot=Plot("work_us", "over_distlock", "policy", x_label="work between accesses (us)",
              y_label="throughput over bufdistlock's"),
    statements=(
        Statement("BP-Wrapper performs like distributed locks or better (at most 7 % below at 1 us).",
                  lambda rows: (at_work(rows, "bufbat-pref", 1) > 0.93, shown_at_1us(rows, ["bufbat-pref"])),
                  "the free lists hold up to 4,096 frames, which a pool as small as the quick run's misses",
                  over=REPETITION, timed=True),
        Statement("On a virtual machine BP-Wrapper is better than distributed locks (21 % at 1 us; figure 12).",
                  lambda rows: (at_work(rows, "bufbat-pref", 1) > 1.02, shown_at_1us(rows, ["bufbat-pref"])),
                  "two cores do not meet at one of 64 locks, on a virtual machine or not",
                  over=REPETITION, timed=True),
        Statement("BP-Wrapper in each partition is better than distributed locks alone (12 % at 1 us).",
                  lambda rows: (at_work(rows, "bufbp-distlock", 1) > 1.02, shown_at_1us(rows, ["bufbp-distlock"])),
                  "two cores do not meet at one of 64 locks",
                  over=REPETITION, timed=True),
        Statement("The preliminary version without free lists is slower than bufBat-Pref (29 % at 1 us).",
                  lambda rows: (at_work(rows, "bufbp-prim", 1) < 0.95 * at_work(rows, "bufbat-pref", 1),
                                shown_at_1us(rows, ["bufbp-prim", "bufbat-pref"])),
                  "two cores meet at the lock of a miss too seldom for its cost to show",
                  over=REPETITION, timed=True),
        Statement("bufLRU is far slower than distributed locks at 1 us (15 times).",
                  lambda rows: (at_work(rows, "buflru", 1) < 0.5, shown_at_1us(rows, ["buflru"])),
                  "two cores meet at the one lock too seldom",
                  over=REPETITION, timed=True),
    ))


def prim_saturates(rows):
    least, most = min(r["threads"] for r in rows), max(r["threads"] for r in rows)
    gain = {p: rate(rows, p, threads=most) / rate(rows, p, threads=least) for p in ("bufbp-prim", "bufbat-pref")}
    return gain["bufbp-prim"] < 0.9 * gain["bufbat-pref"], f"{most} threads over {least}: " + points(gain.items())


def others_scale(rows):
    names = ["bufdistlock", "bufbat-pref", "bufbp-distlock"]
    gain = [(p, rate(rows, p, threads=2) / rate(rows, p, threads=1)) for p in names]
    return all(v > 1.7 for _, v in gain), "2 threads over 1: " + points(gain)


FIG_13 = Experiment(
    name="fig-bp-wrapper-13",
    title="Figure 13 of BP-Wrapper: throughput where every access misses, by threads",
    source=f"{PAPER}, section 5.2, figure 13", sweep="4 systems, 1 to 16 threads, 3 us of work, no hits",
    stand_ins=(CORES, "all pages in turn, a tenth of them in the pool, over a store of zeros for a RAM disk"),
    runs=(Run("contention pool", {"policy": ["bufbp-distlock", "bufbat-pref", "bufdistlock", "bufbp-prim"],
                                  "accesses": "sequential", "pages": "10M", "frames": "10%", "threads": [1, 2, 4, 16],
                                  "work-us": 3, **TIMES},
              quick={"pages": 100000, "threads": [1, 2], **QUICK_TIMES, "warmup": 0.05}),),
    columns=COLUMNS,
    plot=Plot("threads", "accesses_per_s", "policy", x_label="threads", y_label="accesses/s"),
    statements=(
        Statement("bufBP-prim saturates: its throughput grows less with threads than bufBat-Pref's.", prim_saturates,
                  "it saturates at 4 threads in the paper, and this machine has fewer cores",
                  over=REPETITION, timed=True),
        Statement("The other three scale (at least 1.7 times from 1 thread to 2).", others_scale,
                  "other programs took processor time from the second thread",
                  over=REPETITION, timed=True),
    ))

EXPERIMENTS = [FIG_4, FIG_8, TABLE_2, TABLE_3, FIG_10, FIG_11, FIG_13]
