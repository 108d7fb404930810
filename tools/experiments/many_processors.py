"""The buffer papers' figures about 16 to 64 processors, by `latchkey contention model`: the schemes of the pool on a
simulated machine. Its rows repeat exactly; what may be wrong is a cost, so without --quick each cost is halved and doubled.
"""

from dataclasses import replace

from bp_wrapper import (BUF, DBT1, NO_WORK, PG, TABLE_2, TABLE_3, TABLE_SCAN, WORK, WORKLOADS, as_fast_as_clock,
                        at_work, far_fewer, fewer_with_queue, plain_is_slower, prefetch_helps, small_threshold_is_bad,
                        sync_of, threshold_of_queue_is_bad, with_queue)
from bp_wrapper import PAPER as WRAPPER
from definition import COSTS, Experiment, Plot, Run, Statement
from nb_gclock import SCALING, SYSTEMS, faster_than_locks, most_threads, times_the_best_lock, wrapper_loses
from nb_gclock import PAPER as NB_GCLOCK
from nb_gclock import rate as rate_of_system
from rows import add, median, normalised, percent, points, values
from thread_specific import SHARED
from thread_specific import SOURCE as THREAD_SPECIFIC

MACHINE = "the processor model, with costs of a two-core machine, for the paper's processors"
COLUMNS = ("policy", "replacement", "synchronization", "accesses_of", "threads", "accesses_per_s", "hit_ratio",
           "locks_per_million", "contentions_per_million", "failed_page_ins_per_million", COSTS)
PROCESSORS, QUICK_PROCESSORS = [1, 4, 16, 64], [1, 16]
WORKLOAD_AND_COSTS = "workload and costs"
NO_WAIT = "a store of zeros for the disk: a miss costs processor time and no wait"


def modelled(flags, quick=None, **columns):
    """A run whose rows have one thread on each processor."""
    return Run("contention model", {"processors": PROCESSORS, "work-us": 0, "simulate": "200k", **flags},
               quick={"processors": QUICK_PROCESSORS, "simulate": "20k", **(quick or {})}, columns=columns,
               varies_costs=True)


def states(text, check, because):
    return Statement(text, check, because, over=COSTS)


def by_workload(rows):
    return add(rows, **{WORKLOAD_AND_COSTS: lambda row: f"{row['workload']}, {row[COSTS]}"})


def for_each_workload(*statements):
    """Each is judged for each workload by itself, as for each change of the costs. Needs by_workload."""
    return tuple(replace(statement, over=WORKLOAD_AND_COSTS) for statement in statements)


def gain(rows, column, name):
    """Throughput of the most processors over that of one."""
    of = {column: name}
    return median(rows, "accesses_per_s", threads=most_threads(rows), **of) / median(
        rows, "accesses_per_s", threads=1, **of)


def gains(rows, column, names, holds):
    found = [(name, gain(rows, column, name)) for name in names]
    return all(holds(v) for _, v in found), f"{most_threads(rows)} processors over 1: " + points(found)


def by_processors(series, panel=None):
    return Plot("threads", "accesses_per_s", series, panel, x_log=True, y_log=True, x_label="processors",
                y_label="accesses/s")


def over_distlock(rows):
    """As in bp_wrapper, with the same costs."""
    return normalised(rows, "accesses_per_s", "over_distlock", {"policy": "bufdistlock"}, by=("threads", "work_us", COSTS))


BP_WRAPPER_8 = Experiment(
    name="fig-bp-wrapper-model-8",
    title="Figures 8 and 9 of BP-Wrapper on modelled processors: throughput and contentions of five systems",
    source=f"{WRAPPER}, section 5.1.3, figures 8 and 9",
    sweep="5 systems, 1 to 64 processors (quick: 1 and 16), all pages in the pool, two workloads",
    stand_ins=(MACHINE, DBT1, TABLE_SCAN, WORK), derive=by_workload, columns=COLUMNS,
    runs=tuple(modelled({"policy": PG, "work-us": 0.1, "accesses": accesses}, workload=workload)
               for workload, accesses in WORKLOADS),
    plot=by_processors("policy", "workload"),
    statements=for_each_workload(
        states("Batching reduces contentions by a factor of 197 to over 9,000 (here: at least 100).", far_fewer,
               "the last processors that a queue of 64 accesses serves meet at the lock"),
        states("pgBatching scales as pgClock does (within 5 % with the most processors).",
               as_fast_as_clock,
               "a batch of 2Q costs its list work, under one lock, which a CLOCK's hit does not have"),
        states("pg2Q falls behind pgClock by more than 30 % with many processors.", plain_is_slower,
               "the model's lock costs too little"),
        states("pg2Q does not scale (less than half of linear).",
               lambda rows: gains(rows, "policy", ["pg2q"], lambda v: v < most_threads(rows) / 2),
               "the model's lock costs too little"),
        states("Prefetching alone reduces contentions (by 21 to 88 %).", prefetch_helps,
               "a lock that all processors want is never found free, however shortly each holds it, and the model's "
               "processors fetch nothing into caches"),
    ))


def queue_run(pairs, quick):
    return modelled({"replacement": "2q", "synchronization": sync_of(pairs), "processors": 16, "accesses": "tpc-w"},
                    {"synchronization": sync_of(quick), "processors": 16})


ICDE_2 = Experiment(
    name="table-bp-wrapper-icde-model-2",
    title="Table II of BP-Wrapper (ICDE) on modelled processors: throughput and contentions by queue size",
    source=TABLE_2.source, sweep="queues of 2 to 64 accesses, threshold half of the queue, 16 processors",
    stand_ins=(MACHINE, DBT1, NO_WORK), derive=with_queue, columns=(*COLUMNS, "queue", "threshold"),
    runs=(queue_run([(q, q // 2) for q in (2, 4, 8, 16, 32, 64)], [(q, q // 2) for q in (2, 8, 64)]),),
    plot=TABLE_2.plot,
    statements=(
        states("A queue beyond 8 gains little throughput (less than 10 %).",
               lambda rows: (lambda at: (at[64] < 1.1 * at[8], f"M accesses/s: {at[8] / 1e6:.1f} with a queue of 8, "
                                                               f"{at[64] / 1e6:.1f} with 64"))(
                   {queue: median(rows, "accesses_per_s", queue=queue) for queue in (8, 64)}),
               "between its accesses PostgreSQL works, and a processor of the model does not: so 16 of them keep the lock "
               "busy up to longer queues"),
        states("A longer queue has fewer contentions (a fifth from 2 to 64).", fewer_with_queue,
               "the lock is busy at every length"),
    ))

ICDE_3 = Experiment(
    name="table-bp-wrapper-icde-model-3",
    title="Table III of BP-Wrapper (ICDE) on modelled processors: throughput and contentions by batch threshold",
    source=TABLE_3.source, sweep="batch thresholds of 1 to 64, queue of 64, 16 processors",
    stand_ins=(MACHINE, DBT1, NO_WORK), derive=with_queue, columns=(*COLUMNS, "queue", "threshold"),
    runs=(queue_run([(64, t) for t in (1, 2, 4, 8, 16, 32, 48, 64)], [(64, t) for t in (1, 32, 64)]),),
    plot=TABLE_3.plot,
    statements=(
        states("A threshold as large as the queue has more contentions than half of it.", threshold_of_queue_is_bad,
               "so few batches reach the lock that they find it free"),
        states("A threshold of 1 has more contentions than 32.", small_threshold_is_bad,
               "a failed TryLock() counts as no contention, and a queue of 64 leaves time for many of them"),
    ))

BP_WRAPPER_11 = Experiment(
    name="fig-bp-wrapper-model-11",
    title="Figure 11 of BP-Wrapper on modelled processors: throughput by work, over that of distributed locks",
    source=f"{WRAPPER}, section 5.2, figure 11", sweep="6 systems, 1 to 6 us of work, about 90 % hits, 16 processors",
    stand_ins=(MACHINE, "a pool of 50,000 frames (quick: 10,000) for 1,000,000: the free lists hold up to 4,096 of them"),
    derive=over_distlock, columns=COLUMNS,
    runs=(modelled({"policy": BUF, "pages": "500k", "frames": "10%", "accesses": "zipf:skew=0.99", "processors": 16,
                    "work-us": [1, 2, 3, 4, 5, 6]}, {"processors": 16, "pages": "100k", "work-us": [1, 6]}),),
    plot=Plot("work_us", "over_distlock", "policy", x_label="work between accesses (us)",
              y_label="throughput over bufdistlock's"),
    statements=(
        states("BP-Wrapper performs like distributed locks or better (at most 7 % below at 1 us).",
               lambda rows: above(rows, "bufbat-pref", 0.93), "its misses meet at the one lock"),
        states("BP-Wrapper in each partition is better than distributed locks alone (12 % at 1 us).",
               lambda rows: above(rows, "bufbp-distlock", 1.02),
               "16 processors seldom meet at one of 64 locks, so that queues save only the lock itself"),
        states("The preliminary version without free lists is slower than bufBat-Pref (29 % at 1 us).",
               lambda rows: above(rows, "bufbp-prim", 0.95 * at_work(rows, "bufbat-pref", 1), below=True),
               "with 90 % hits its misses do not fill the lock"),
        states("bufLRU is far slower than distributed locks at 1 us (15 times; here: less than half).",
               lambda rows: above(rows, "buflru", 0.5, below=True), "the model's lock costs too little"),
    ))


def above(rows, policy, limit, below=False):
    value = at_work(rows, policy, 1)
    return (value < limit if below else value > limit), f"1 us of work: {policy} makes {value:.3f} of bufdistlock's"


BP_WRAPPER_13 = Experiment(
    name="fig-bp-wrapper-model-13",
    title="Figure 13 of BP-Wrapper on modelled processors: throughput where every access misses",
    source=f"{WRAPPER}, section 5.2, figure 13", sweep="4 systems, 1 to 64 processors (quick: 1 and 16), 3 us of work",
    stand_ins=(MACHINE, NO_WAIT, "all pages in turn, a tenth of them in the pool"), columns=COLUMNS,
    runs=(modelled({"policy": ["bufbp-distlock", "bufbat-pref", "bufdistlock", "bufbp-prim"], "pages": "100k",
                    "frames": "10%", "accesses": "sequential", "work-us": 3}),),
    plot=by_processors("policy"),
    statements=(
        states("bufBP-prim saturates: it reaches less of linear growth than any other system.",
               lambda rows: (lambda found: (min(found, key=found.get) == "bufbp-prim", "times, with the most processors "
                                            "over 1: " + points(found.items())))(
                   {p: gain(rows, "policy", p) for p in values(rows, "policy")}),
               "its misses do not fill the lock"),
        states("The other three scale (at least 85 % of linear).",
               lambda rows: gains(rows, "policy", ["bufdistlock", "bufbat-pref", "bufbp-distlock"],
                                  lambda v: v > 0.85 * most_threads(rows)),
               "64 free lists meet at one lock, and each refill takes a batch of victims under it"),
    ))


def systems_run(names, flags, quick=None, **columns):
    """The paper's systems on its Zipf 80/20 accesses."""
    return tuple(modelled({**SYSTEMS[name], "accesses": "zipf:skew=0.86", **flags}, quick, system=name, **columns)
                 for name in names)


MISSES = {"accesses": "scans:skew=0.86", "pages": "400k"}
NB_GCLOCK_8 = Experiment(
    name="fig-nb-gclock-model-8",
    title="Figure 8 of Nb-GCLOCK on modelled processors: BP-Wrapper, spinlocks and Nb-GCLOCK with misses",
    source=f"{NB_GCLOCK}, section IV-A.1, figure 8",
    sweep="1,024 and 8,192 frames of 400,000 pages, Zipf 80/20 with 20 % scans, 64 processors (quick: 16)",
    stand_ins=(MACHINE, NO_WAIT), columns=("frames", *COLUMNS),
    runs=systems_run(["LRU", "2Q", "LRU bp-wrapper", "2Q bp-wrapper", "Nb-GCLOCK(stripe)"],
                     {**MISSES, "frames": [1024, 8192], "processors": 64}, {"processors": 16}),
    plot=Plot("frames", "accesses_per_s", "system", x_log=True, y_log=True, x_label="frames", y_label="accesses/s"),
    statements=(
        states("With misses, BP-Wrapper is slower than the same algorithm under a spinlock.", wrapper_loses,
               "the wrapper's free lists, which the preliminary version that the paper tried had not, take one lock "
               "request for a batch of misses"),
        states("Nb-GCLOCK is faster than LRU and 2Q under a spinlock.",
               lambda rows: faster_than_locks(rows, values(rows, "frames")), "2Q misses less"),
    ))


def optimistic_over_blocking(rows, system):
    """With the most processors, by frames."""
    return [(f"{system}, {frames} frames",
             rate_of_system(rows, system, frames=frames, page_in="optimistic") /
             rate_of_system(rows, system, frames=frames, page_in="blocking")) for frames in values(rows, "frames")]


def optimistic_pays(rows):
    found = optimistic_over_blocking(rows, "Nb-GCLOCK(stripe)")
    return all(v > 1 for _, v in found), "optimistic page-ins over blocking ones: " + points(found, "{:.3f}")


def failed(rows, system, frames):
    """Per cent of the accesses."""
    return median(rows, "failed_page_ins_per_million", system=system, frames=frames, page_in="optimistic") / 1e4


def fails_most_without_locks(rows):
    least = min(values(rows, "frames"))
    found = [(system, failed(rows, system, least)) for system in values(rows, "system")]
    return max(found, key=lambda pair: pair[1])[0].startswith("Nb"), f"% of accesses, {least} frames: {points(found)}"


def fewer_with_frames(rows):
    found = [(frames, failed(rows, "Nb-GCLOCK(stripe)", frames)) for frames in values(rows, "frames")]
    return found[-1][1] < 0.5 * found[0][1], "Nb-GCLOCK, % of accesses, by frames: " + points(found)


def seldom(rows):
    found = [(system, max(failed(rows, system, frames) for frames in values(rows, "frames")))
             for system in values(rows, "system")]
    return all(v <= 1.7 for _, v in found), "at most, % of accesses: " + points(found)


NB_GCLOCK_9 = Experiment(
    name="fig-nb-gclock-model-9",
    title="Figure 9 and Table III of Nb-GCLOCK on modelled processors: blocking and optimistic page-ins",
    source=f"{NB_GCLOCK}, section IV-A.2, figure 9 and table III",
    sweep="4 systems, page-in blocking and optimistic, 1,024 to 8,192 frames of 400,000 pages, 64 processors (quick: 16)",
    stand_ins=(MACHINE, "a store that copies zeros for the disk: a page-in is some 100 ns long, so that two of one page "
               "seldom meet, and a thread that would wait for one loses little"),
    columns=("frames", "page_in", *COLUMNS),
    runs=systems_run(["LRU", "2Q", "GCLOCK", "Nb-GCLOCK(stripe)"],
                     {**MISSES, "frames": [1024, 2048, 4096, 8192], "page-in": ["blocking", "optimistic"],
                      "processors": 64, "simulate": "1M"},
                     {"frames": [1024, 8192], "processors": 16, "simulate": "100k"}),
    plot=Plot("frames", "accesses_per_s", "system", "page_in", x_log=True, y_log=True, x_label="frames",
              y_label="accesses/s"),
    statements=(
        states("With Nb-GCLOCK, optimistic page-ins outperform blocking ones.", optimistic_pays,
               "a page-in from memory is over before a thread that waits for it would have slept"),
        states("Page-ins that fail are seldom (Table III: at most 1.7 % of the accesses).", seldom,
               "64 processors read the scans' pages together"),
        states("Page-ins fail most often under Nb-GCLOCK, which has the highest throughput.", fails_most_without_locks,
               "a page-in that waits for the lock around its frame lasts longer, and so meets another one more often"),
        states("They become fewer with larger buffers (by half or more).", fewer_with_frames,
               "the scans miss in a buffer of any size"),
    ))

NB_GCLOCK_10 = Experiment(
    name="fig-nb-gclock-model-10",
    title="Figure 10 of Nb-GCLOCK on modelled processors: throughput, all pages in the pool",
    source=f"{NB_GCLOCK}, section IV-A.3, figure 10", sweep="5 systems, 1 to 64 processors (quick: 1 and 16), no misses",
    stand_ins=(MACHINE,), columns=COLUMNS, runs=systems_run(SCALING, {"pages": "32k"}),
    plot=by_processors("system"),
    statements=(
        states("Nb-GCLOCK(stripe) scales almost linearly (at least 85 %).",
               lambda rows: gains(rows, "system", ["Nb-GCLOCK(stripe)"], lambda v: v > 0.85 * most_threads(rows)),
               "hits of the hottest page add to one counter, whose line the processors pass on"),
        states("The algorithms under a lock do not scale beyond 16 processors (less than 16 times).",
               lambda rows: gains(rows, "system", ["LRU", "2Q", "GCLOCK"], lambda v: v < 16),
               "the model's lock costs too little"),
        states("Nb-GCLOCK makes several times the accesses of the best system under a lock (at least 4).",
               lambda rows: times_the_best_lock(rows, 4), "few processors do not fill the lock"),
        states("With one shared hand, Nb-GCLOCK(atomic) falls behind Nb-GCLOCK(stripe).",
               lambda rows: (lambda ratio: (ratio < 0.98, f"{most_threads(rows)} processors: {ratio:.3f} of its "
                                                          "throughput"))(
                   rate_of_system(rows, "Nb-GCLOCK(atomic)", threads=most_threads(rows)) /
                   rate_of_system(rows, "Nb-GCLOCK(stripe)", threads=most_threads(rows))),
               "only a miss moves the hand, and here there is none"),
    ))

NB_GCLOCK_12 = Experiment(
    name="fig-nb-gclock-model-12",
    title="Figure 12 of Nb-GCLOCK on modelled processors: throughput with misses",
    source=f"{NB_GCLOCK}, section IV-A.3, figure 12",
    sweep="5 systems, 1 to 64 processors (quick: 1 and 16), 8,192 frames, Zipf 80/20 with 20 % scans",
    stand_ins=(MACHINE, NO_WAIT), columns=COLUMNS, runs=systems_run(SCALING, {**MISSES, "frames": 8192}),
    plot=by_processors("system"),
    statements=(
        states("With misses, too, Nb-GCLOCK(stripe) grows with the processors (at least half of linear).",
               lambda rows: gains(rows, "system", ["Nb-GCLOCK(stripe)"], lambda v: v > 0.5 * most_threads(rows)),
               "each miss moves the hand, whose line the processors pass on one after the other"),
        states("Nothing else does (each less than half of linear).",
               lambda rows: gains(rows, "system", [s for s in values(rows, "system") if s != "Nb-GCLOCK(stripe)"],
                                  lambda v: v < 0.5 * most_threads(rows)),
               "few processors do not fill the lock"),
    ))


SEPARATE = "separate:actors={}:private=4"
WORKERS = [1, 8, 44]


def join_runs(accesses):
    """The separated buffer has a part for each thread, so that each number of threads is a scheme of its own."""
    pool, quick = {"accesses": accesses, "pages": "200k", "frames": "10%", "simulate": "1M"}, {
        "pages": "20k", "simulate": "200k"}
    shared = [modelled({"policy": policy, "processors": WORKERS, **pool}, {"processors": WORKERS, **quick},
                       system=policy, workload=accesses) for policy in SHARED]
    parts = [modelled({"replacement": "gclock", "synchronization": SEPARATE.format(count), "processors": count, **pool},
                      {"processors": count, **quick}, system="SEP", workload=accesses) for count in WORKERS]
    return shared + parts


def over_shared(rows, threads):
    return [(p, rate_of_system(rows, "SEP", threads=threads) / rate_of_system(rows, p, threads=threads)) for p in SHARED]


def alike_alone(rows):
    found = over_shared(rows, 1)
    return all(abs(v - 1) < 0.1 for _, v in found), "1 processor, SEP over " + points(found)


def separate_wins(rows):
    threads = most_threads(rows)
    found = over_shared(rows, threads)
    return all(v >= 1.174 for _, v in found), f"{threads} processors, SEP over " + points(found)


def reads_more(rows):
    """Reads of the separated buffer over those of the shared one."""
    threads = most_threads(rows)
    missed = [1 - median(rows, "hit_ratio", system=system, threads=threads) for system in ("SEP", "shr-1")]
    more = missed[0] / missed[1] - 1
    return 0 <= more <= 0.87, f"{threads} processors: {percent(more)} more reads"


THREAD_SPECIFIC_2 = Experiment(
    name="fig-thread-specific-model-2",
    title="Figure 2 of Thread-specific buffer on modelled processors: separated and shared buffers",
    source=THREAD_SPECIFIC,
    sweep="the separated buffer (SEP) with a part for each thread; 1, 16 and 512 locks; 1, 8 and 44 processors; a tenth "
          "of the pages fits",
    stand_ins=(MACHINE, "the page reads of a nested-loop index join of three tables; beside it uniform accesses, of which "
               "nine of ten miss", "a store of zeros for NVMe: a device without latency or limit shows the buffer's own "
               "limit"),
    derive=by_workload, columns=("workload", "system", *COLUMNS), runs=tuple(join_runs("index-join") + join_runs("uniform")),
    plot=by_processors("system", "workload"),
    statements=for_each_workload(
        states("With one thread, SEP and the shared buffers perform alike (within 10 %).", alike_alone,
               "a read of a part takes no lock"),
        states("With 44 threads SEP is faster than each shared buffer (by 17.4 % to 637 %).", separate_wins,
               "512 locks are met seldom, and the shared buffer misses less"),
        states("One giant lock keeps SHR-1 from growing (less than half of linear).",
               lambda rows: gains(rows, "system", ["shr-1"], lambda v: v < 0.5 * most_threads(rows)),
               "the model's lock costs too little"),
        states("SEP grows with the threads, to the device's limit (here there is none: at least 85 % of linear).",
               lambda rows: gains(rows, "system", ["SEP"], lambda v: v > 0.85 * most_threads(rows)),
               "a part of a forty-fourth keeps fewer of the popular pages, and a miss takes longer than a hit"),
        states("SEP reads at most 87 % more than the shared buffers.", reads_more,
               "44 parts of a small buffer keep the same popular pages"),
    ))

EXPERIMENTS = [BP_WRAPPER_8, ICDE_2, ICDE_3, BP_WRAPPER_11, BP_WRAPPER_13, NB_GCLOCK_8, NB_GCLOCK_9, NB_GCLOCK_10,
               NB_GCLOCK_12, THREAD_SPECIFIC_2]
