#!/usr/bin/env python3
"""Installs a copy of this package with pip, offline, and runs its tests.

    run_tests.py BUILD WORK [--compiler=CC] [--sanitized=LIBRARY...]

BUILD is a build directory of Latchkey, WORK a directory that this script makes anew. --sanitized: BUILD has sanitizers of
the C compiler CC, and these libraries are preloaded. Exit code 77: pip, setuptools or Python's headers are missing.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

HERE = Path(__file__).resolve().parent


def missing():
    """What the installation needs and this interpreter lacks."""
    found = [module for module in ("pip", "setuptools", "wheel")
             if subprocess.run([sys.executable, "-c", f"import {module}"], check=False, capture_output=True).returncode]
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    return found + ([] if header.exists() else [str(header)])


def run(environment, *command):
    """Runs a command below WORK; its output appears only if it fails."""
    result = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    if result.returncode != 0:
        print(result.stdout, result.stderr, sep="\n")
        sys.exit(result.returncode)


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    compilers = [a.split("=", 1)[1] for a in sys.argv[1:] if a.startswith("--compiler=")]
    preloaded = [a.split("=", 1)[1] for a in sys.argv[1:] if a.startswith("--sanitized=")]
    if len(arguments) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    lacking = missing()
    if lacking:
        print(f"{sys.executable} lacks {', '.join(lacking)}: install python3-dev, python3-pip and python3-setuptools")
        return 77
    build, work = (Path(a).resolve() for a in arguments)
    shutil.rmtree(work, ignore_errors=True)
    ignore = shutil.ignore_patterns("build", "*.egg-info", "__pycache__")  # of an installation by hand
    shutil.copytree(HERE, work / "package", ignore=ignore)
    environment = {**os.environ, "LATCHKEY_BUILD": str(build), "LATCHKEY_CFLAGS": "-Werror -pedantic",
                   "PYTHONDONTWRITEBYTECODE": "1"}
    if preloaded:
        environment["LATCHKEY_CFLAGS"] = "-fsanitize=address -g"
        if compilers:
            environment["CC"] = compilers[0]
    run(environment, sys.executable, "-m", "pip", "--isolated", "install", "--no-deps", "--no-index",
        "--no-build-isolation", "--root-user-action=ignore", f"--target={work / 'installed'}", str(work / "package"))
    environment["PYTHONPATH"] = str(work / "installed")
    if preloaded:
        # Python itself keeps some memory until its exit. Its own allocator would hide what the extension does.
        environment |= {"LD_PRELOAD": " ".join(preloaded), "PYTHONMALLOC": "malloc",
                        "ASAN_OPTIONS": "detect_leaks=0:" + environment.get("ASAN_OPTIONS", "")}
    return subprocess.run([sys.executable, "-X", "dev", "-m", "unittest", "discover", "-s", work / "package/tests"],
                          env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
