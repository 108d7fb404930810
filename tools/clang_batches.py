"""Reads the library's sources with a tool of clang, several files in one run: their headers take most of its time.

Used by check_contracts and check_tidy. Environment: JOBS (runs at a time, default all cores).
"""

import hashlib
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLAGS = ["-std=c++20", "-I.", "-DNDEBUG", "-DFMT_SHARED"]
BATCH = 40
# Layer: those below it.
LAYERS = {"storage": [], "bufferpool": ["storage"], "layout": ["storage"],
          "engine": ["storage", "bufferpool", "layout"]}
NO_LIBRARY = ("_test.cc", "_main.cc", "_bench.cc")


def sources(layer):
    files = sorted(p for p in (ROOT / layer).rglob("*.cc") if not p.name.endswith(NO_LIBRARY))
    return [p.relative_to(ROOT).as_posix() for p in files]


def digest(layers, tool_files):
    """Of every source and header of `layers`, and of the files that say how they are checked."""
    total = hashlib.sha256()
    for file in [Path(__file__), *tool_files]:
        total.update(Path(file).read_bytes())
    for layer in layers:
        for path in sorted(p for p in (ROOT / layer).rglob("*") if p.suffix in (".cc", ".h")):
            total.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def check_batch(files, read):
    """What the tool says of `files`, and how many it refuses. read(files): its exit code and output."""
    code, said = read(files)
    if code == 0:
        return "", 0
    if len(files) == 1:
        return said, 1
    # Files together may clash where each alone is right, e.g. in a name without linkage.
    halves = [check_batch(half, read) for half in (files[:len(files) // 2], files[len(files) // 2:])]
    return "".join(said for said, _ in halves), sum(refused for _, refused in halves)


def check_all(files, read):
    """Prints what the tool says of `files`; the number of files that it refuses."""
    refused = 0
    batches = [files[i:i + BATCH] for i in range(0, len(files), BATCH)]
    with ThreadPoolExecutor(int(os.environ.get("JOBS") or os.cpu_count())) as pool:
        for said, bad in pool.map(lambda batch: check_batch(batch, read), batches):
            sys.stdout.write(said)
            refused += bad
    return refused


def check_layers(name, layers, tool_files, read):
    """Checks the sources of `layers` that changed since they passed. Stamps are in build/NAME. True: nothing was
    refused."""
    refused = checked = 0
    for layer in layers:
        stamp = ROOT / "build" / name / layer
        now = digest([layer, *LAYERS[layer]], tool_files)
        if stamp.exists() and stamp.read_text() == now:
            continue
        files = sources(layer)
        bad = check_all(files, read)
        refused, checked = refused + bad, checked + len(files)
        if bad == 0:
            stamp.parent.mkdir(parents=True, exist_ok=True)
            stamp.write_text(now)
    print(f"{name}: {checked} files checked, {refused} refused")
    return refused == 0
