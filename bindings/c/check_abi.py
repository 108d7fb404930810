#!/usr/bin/env python3
"""Checks what liblatchkey.so shows to the dynamic linker.

  bindings/c/check_abi.py LIBRARY             exit 1 when its symbols, name or libraries are not as they must be
  bindings/c/check_abi.py --record LIBRARY    writes its symbols to exported_symbols.txt
"""

import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
LIST = FOLDER / "exported_symbols.txt"
SONAME = "liblatchkey.so.0"
HIDDEN_LIBRARIES = re.compile(r"absl|fmt|spdlog|re2|protobuf")


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exported(library):
    """The names that LIBRARY defines for others."""
    lines = output_of("nm", "-D", "--defined-only", library).splitlines()
    return sorted({line.split()[-1].split("@")[0] for line in lines if line.strip()})


def declared():
    """The functions that the headers declare."""
    text = "".join(header.read_text(encoding="utf-8") for header in sorted(FOLDER.glob("latchkey_c*.h")))
    return sorted(set(re.findall(r"^LK_API [^;(]*?\b(lk_\w+)\(", text, re.MULTILINE)))


def breaches(library):
    found, listed = exported(library), LIST.read_text(encoding="utf-8").split()
    for name in sorted(set(listed) - set(found)):
        yield (f"{name} is gone: programs that were linked with {SONAME} need it. Bring it back; if that cannot be, "
               f"raise SOVERSION in bindings/c/CMakeLists.txt and SONAME here, then run check_abi.py --record")
    for name in sorted(set(found) - set(listed)):
        if name.startswith("lk_"):
            yield f"{name} is new: if its signature is final, run bindings/c/check_abi.py --record {library}"
        else:
            yield f"{name} must be hidden: bindings/c/latchkey_c.map exports lk_* alone"
    for name in sorted(set(found) ^ set(declared())):
        yield f"{name} is in one of latchkey_c.h (as LK_API) and the library, but not in both"
    dynamic = output_of("readelf", "-d", library)
    if f"[{SONAME}]" not in dynamic:
        yield f"the library's name (SONAME) is not {SONAME}"
    for needed in output_of("ldd", library).splitlines():
        if HIDDEN_LIBRARIES.search(needed.split("=>")[0]):
            yield f"it needs {needed.strip()}: link it in (bindings/c/CMakeLists.txt)"


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("-")]
    if len(arguments) != 1 or "--help" in sys.argv:
        print(__doc__.strip())
        return 0 if "--help" in sys.argv else 2
    if "--record" in sys.argv:
        LIST.write_text("\n".join(exported(arguments[0])) + "\n", encoding="utf-8")
        return 0
    found = list(breaches(arguments[0]))
    for breach in found:
        print(breach)
    print(f"{len(exported(arguments[0]))} symbols, {len(found)} breaches")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
