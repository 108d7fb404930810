"""Definition of Ozawa et al., "Thread-specific Database Buffer Management" (2021)."""

from definition import REPETITION, Experiment, Plot, Run, Statement
from rows import median, points

SOURCE = ("Ozawa, Hayamizu, Goda, Kitsuregawa, Thread-specific Database Buffer Management, 2021, section 3, "
          "figure 2")
SHARED = ["shr-1", "shr-16", "shr-512"]


def rate(rows, policy, threads):
    return median(rows, "accesses_per_s", policy=policy, threads=threads)


def alike_alone(rows):
    found = [(p, rate(rows, p, 1) / rate(rows, "shr-1", 1)) for p in SHARED]
    return all(abs(v - 1) < 0.1 for _, v in found), "1 thread, over shr-1: " + points(found)


def locks_help(rows):
    threads = max(row["threads"] for row in rows)
    found = [(p, rate(rows, p, threads) / rate(rows, "shr-1", threads)) for p in SHARED]
    return found[1][1] > 1.1 and found[2][1] > 1.1, f"{threads} threads, over shr-1: " + points(found)


def little_speedup(rows):
    threads = max(row["threads"] for row in rows)
    speedup = rate(rows, "shr-1", threads) / rate(rows, "shr-1", 1)
    return speedup < 0.75 * min(threads, 2), f"shr-1, {threads} threads over 1: {speedup:.2f}"


FIG_2 = Experiment(
    name="fig-thread-specific-2",
    title="Figure 2 of Thread-specific buffer: accesses a second of the shared buffers by threads",
    source=SOURCE,
    sweep="1, 16 and 512 locks, 1 to 44 threads; fig-thread-specific-model-2 has the separated buffer, too",
    stand_ins=("the page reads of a nested-loop index join of three tables, over a store of zeros for NVMe: a device "
               "without latency shows the buffer's own limit, as their ten devices do",
               "the cores of this machine for 44; more threads than cores measure preemption"),
    runs=(Run("contention pool", {"policy": SHARED, "accesses": "index-join", "pages": 655360, "frames": "10%",
                                  "threads": [1, 2, 8, 44], "work-us": 0, "repeat": 5, "warmup": 1, "duration": 1},
              quick={"pages": 40000, "threads": [1, 2], "warmup": 0.03, "duration": 0.03, "repeat": 2}),),
    columns=("accesses_per_s", "hit_ratio", "locks_per_million", "contentions_per_million"),
    plot=Plot("threads", "accesses_per_s", "policy", x_log=True, x_label="threads", y_label="accesses/s"),
    statements=(
        Statement("With one thread, the shared buffers perform alike (within 10 %).", alike_alone,
                  "misses copy pages, the time of which differs with the noise of the machine",
                  over=REPETITION, timed=True),
        Statement("More locks help the shared buffer with threads.", locks_help,
                  "two cores that copy a page for each miss meet at one lock too seldom",
                  over=REPETITION, timed=True),
        Statement("One giant lock keeps the throughput from growing with threads (less than three quarters of linear).",
                  little_speedup, "a miss here holds the lock for its victim alone and copies its page outside",
                  over=REPETITION, timed=True),
    ))

EXPERIMENTS = [FIG_2]
