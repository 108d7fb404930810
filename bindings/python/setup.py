"""Finds liblatchkey and compiles the extension; pyproject.toml has the rest.

The library is, in this order:
  1. in the environment variable LATCHKEY_BUILD, a build directory (build/release of Latchkey's tree)
  2. what `pkg-config latchkey` finds
  3. in ../../build/release, if this folder is in Latchkey's tree
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup

HERE = Path(__file__).resolve().parent
TREE_BUILD = HERE.parent.parent / "build/release"
REMEDY = f"""liblatchkey was not found. Do one of these, then repeat the command:
  - build it: in Latchkey's tree run `cmake --preset release && cmake --build --preset release --target latchkey_c`
    ({TREE_BUILD} is then found)
  - set LATCHKEY_BUILD to another build directory
  - install it (`cmake --install build/release --prefix PREFIX`) and set
    PKG_CONFIG_PATH to the directory of latchkey.pc, e.g. PREFIX/lib/pkgconfig
"""


def in_build(build):
    """Compiler flags for a build directory; None if it holds no library."""
    build = Path(build).resolve()
    if not (build / "bindings/c/liblatchkey.so").exists():
        return None
    return {"include_dirs": [str(build / "include")], "library_dirs": [str(build / "bindings/c")],
            "libraries": ["latchkey"], "runtime_library_dirs": [str(build / "bindings/c")]}


def by_pkg_config():
    """Compiler flags that pkg-config knows; None if it knows no latchkey."""
    command = [os.environ.get("PKG_CONFIG", "pkg-config"), "--cflags", "--libs", "latchkey"]
    try:
        words = shlex.split(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    except (OSError, subprocess.CalledProcessError):
        return None

    def starting(prefix):
        return [word[2:] for word in words if word.startswith(prefix)]
    return {"include_dirs": starting("-I"), "library_dirs": starting("-L"), "libraries": starting("-l"),
            "runtime_library_dirs": starting("-L")}


def flags():
    """The compiler flags, or the end with a message that says what to do."""
    named = os.environ.get("LATCHKEY_BUILD")
    found = in_build(named) if named else by_pkg_config() or in_build(TREE_BUILD)
    if found is None:
        sys.exit(f"LATCHKEY_BUILD={named} holds no bindings/c/liblatchkey.so.\n{REMEDY}" if named else REMEDY)
    return found


extension = Extension(
    "latchkey._latchkey", sources=sorted(str(p.relative_to(HERE)) for p in (HERE / "extension").glob("*.c")),
    depends=["extension/latchkey_python.h"],
    extra_compile_args=["-std=c99", "-O2", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wno-cast-function-type",
                        "-Wno-missing-field-initializers",
                        *re.findall(r"\S+", os.environ.get("LATCHKEY_CFLAGS", ""))],
    # Metadata alone needs no library.
    **(flags() if not {"egg_info", "dist_info", "sdist", "clean"} & set(sys.argv) else {}))
setup(ext_modules=[extension])
