#!/usr/bin/env python3
"""Checks and tests this package, offline: gofmt, go vet, its tests plain (and with the race detector), a program of another
module against the build directory, and the same program against an installation that pkg-config finds.

    run_tests.py GO BUILD WORK [--race]

GO is the compiler, BUILD a build directory of Latchkey, WORK a directory that this script makes anew.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXPECTED = "alice has 90\nbob has 10\n"


class Failure(Exception):
    """A step that failed."""


def run(environment, cwd, *command):
    """The output of a command that must succeed."""
    result = subprocess.run([str(c) for c in command], cwd=cwd, env=environment, check=False, capture_output=True, text=True)
    if result.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))}: exit {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def expect_example(environment, go, module, program):
    """Builds the module's program and runs it twice: the second run opens what the first one closed."""
    run(environment, module, go, "build", "-o", program, ".")
    for _ in range(2):
        printed = run(environment, module, program, f"{program}.db")
        if printed != EXPECTED:
            raise Failure(f"{program} printed {printed!r} instead of {EXPECTED!r}")


def strangers_module(work):
    """A module that requires this package as README.md says."""
    module = work / "stranger"
    module.mkdir()
    (module / "go.mod").write_text(f"module stranger\n\ngo 1.19\n\nrequire latchkey v0.0.0\n\nreplace latchkey => {HERE}\n",
                                   encoding="utf-8")
    shutil.copy(HERE / "example/main.go", module)
    return module


def installation(build, work):
    """Where pkg-config finds an installed library that was moved afterwards."""
    run(os.environ, work, "cmake", "--install", build, "--component", "development", "--prefix", work / "staging")
    (work / "staging").rename(work / "prefix")
    return next((work / "prefix").rglob("pkgconfig"))


def test(go, build, work, race):
    """Every step."""
    environment = {**os.environ, "GOFLAGS": "-buildvcs=false", "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOWORK": "off",
                   "CGO_ENABLED": "1", "PKG_CONFIG_PATH": str(build / "pkgconfig")}
    if not environment.get("HOME"):
        environment["GOCACHE"] = str(work / "cache")
    print(run(environment, HERE, go, "version"), end="")
    unformatted = run(environment, HERE, Path(go).resolve().parent / "gofmt", "-l", ".")
    if unformatted:
        raise Failure(f"gofmt would change:\n{unformatted}")
    run(environment, HERE, go, "vet", "./...")
    for flags in [[], ["-race"]] if race else [[]]:
        print(run(environment, HERE, go, "test", "-count=1", *flags, "."), end="")
    module = strangers_module(work)
    expect_example(environment, go, module, work / "by_build")
    pkgconfig = installation(build, work)
    environment |= {"PKG_CONFIG_PATH": str(pkgconfig), "LD_LIBRARY_PATH": str(pkgconfig.parent)}
    expect_example(environment, go, module, work / "by_installation")


def main():
    race = sys.argv[4:] == ["--race"]
    if len(sys.argv) != 4 + race:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    work = Path(sys.argv[3]).resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        test(sys.argv[1], Path(sys.argv[2]).resolve(), work, race)
    except Failure as failure:
        print(failure)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
