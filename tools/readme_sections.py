"""The sections of the README's results: their commands, and about how long each takes. For tools/measure-readme."""

import math
import re
import shlex

TPCC = "tpcc-lite run --repeat=3 "
BENCH = "bench --repeat=3 "
# Name, title, command, kind of table; keys: the settings beside engine and durability that tell its rows apart;
# same_load: its databases are copies of those that the section above has loaded.
SECTIONS = [
    dict(name="quickstart", title="The table of `tools/quickstart`, beside Debian's RocksDB, which is built with "
         "assertions and without the crc32 instruction", command="tools/quickstart", kind="engines"),
    dict(name="memory", title="TPC-C-lite in memory", keys=[],
         command=TPCC + "--engine=latchkey,rocksdb,wiredtiger --durability=none,group --warehouses=5 --cache-size=2GiB "
         "--users=2 --duration=4 --warmup=1"),
    dict(name="disk", title="TPC-C-lite larger than memory", keys=["users"],
         command=TPCC + "--engine=latchkey,rocksdb --layout=lfs --warehouses=10 --cache-size=400MiB --users=2,32 "
         "--duration=5 --warmup=3"),
    dict(name="disk-log", title="The same with the log", keys=["users"], same_load=True,
         command=TPCC + "--engine=latchkey,rocksdb --layout=lfs --durability=group --warehouses=10 --cache-size=400MiB "
         "--users=32 --duration=5 --warmup=3"),
    dict(name="reads", title="4 M records of 108 bytes in memory, uniform reads", keys=["threads"],
         command=BENCH + "--engine=latchkey,lmdb,wiredtiger --records=4M --workload=read-uniform --threads=1,2 "
         "--cache-size=2GiB --duration=2 --warmup=1"),
    dict(name="commits", title="Durable commits of one 108-byte update", keys=["threads"],
         command=BENCH + "--engine=latchkey,rocksdb,wiredtiger --workload=update-commit --durability=commit "
         "--threads=1,8,32 --records=100K --cache-size=256MiB --duration=2 --warmup=1"),
    dict(name="loads", title="Random puts of 2 M records of 108 bytes with a cache of 100 MiB", keys=[],
         command=BENCH + "--engine=latchkey,rocksdb --workload=load-random --layout=lfs --change-buffer=24MiB "
         "--durability=group --records=2M --cache-size=100MiB"),
    dict(name="deletes", title="Deleting 90 % of 10 M records of 108 bytes, records/s: one by one, and as a range (RocksDB "
         "with a compaction)", keys=["workload"],
         command=BENCH + "--engine=latchkey,rocksdb --workload=delete-seq,delete-range --durability=group --records=10M "
         "--cache-size=2GiB"),
    dict(name="reopen", title="Reopening after a crash with the cache full of dirty pages", kind="reopen",
         command="bench --engine=latchkey --workload=reopen --durability=group --cache-size=1GiB --records=8M "
         "--threads=2"),
    dict(name="layouts", title="Layouts over the space utilisation u_d, transactions/s", kind="layouts",
         command=TPCC + "--engine=latchkey --layout=overwrite,lfs,hylog --space-utilization=0.8,0.95 --warehouses=3 "
         "--cache-size=40MiB --users=32 --duration=4 --warmup=16"),
]
# Engines that a build may lack: the section is measured without them.
OPTIONAL = ["wiredtiger"]
# Seconds that a section takes beside the times in its flags, per GB of data: a load; a copy of it, read into the cache.
LOAD_S_PER_GB, COPY_S_PER_GB, RUN_S = 20, 6, 1
FIXED_S = {"quickstart": 120, "loads": 45, "deletes": 130, "reopen": 25}
# Values for --quick: each replaces the section's own value.
QUICK = {"warehouses": "1", "scale": "0.02", "records": "20k", "cache-size": "16MiB", "duration": "1",
         "warmup": "0", "repeat": "2"}


def flags_of(command):
    return dict(word[2:].split("=", 1) for word in shlex.split(command) if "=" in word)


def planned_s(section):
    """About how long the section takes: its runs, its loads, a copy of the load before each run."""
    if section["name"] in FIXED_S:
        return FIXED_S[section["name"]]
    flags = flags_of(section["command"])

    def number(name):
        return float(flags.get(name, "0").replace("M", "e6").replace("K", "e3"))

    gigabytes = number("warehouses") * .1 + number("records") * 108e-9
    lengths = {name: len(value.split(",")) for name, value in flags.items()}
    loads = lengths["engine"] * lengths.get("layout", 1) * lengths.get("space-utilization", 1)
    if section.get("same_load"):
        loads = 0
    runs = int(flags["repeat"]) * math.prod(lengths.values())
    return runs * (number("duration") + number("warmup") + COPY_S_PER_GB * gigabytes + RUN_S) + \
        loads * LOAD_S_PER_GB * gigabytes


def print_plan(sections, out):
    for section in sections:
        print(f"  {section['name']:<11} about {planned_s(section):4.0f} s   {section['command']}", file=out)
    print(f"{len(sections)} sections, about {sum(map(planned_s, sections)) / 60:.0f} minutes, besides the builds",
          file=out, flush=True)


def quick_command(command):
    flags = flags_of(command)
    if "reopen" in command:
        flags.update({"cache-size": "16MiB", "records": "120k"})
    elif "tpcc-lite" in command:
        flags.update({k: v for k, v in QUICK.items() if k != "records"})
    else:
        flags.update({k: v for k, v in QUICK.items() if k not in ("warehouses", "scale")})
    if "change-buffer" in flags:
        flags["change-buffer"] = "4MiB"
    verb = " ".join(word for word in command.split() if not word.startswith("--"))
    return verb + "".join(f" --{name}={value}" for name, value in flags.items())


def without(command, engines):
    """The command without these engines."""
    for engine in engines:
        command = re.sub(rf"(--engine=[^ ]*),{engine}\b", r"\1", command)
    return command
