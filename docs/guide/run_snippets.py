#!/usr/bin/env python3
"""Runs every snippet of the guide, and compares what it prints with what its page shows.

    run_snippets.py BUILD WORK [PAGE...]

BUILD is a build directory of Latchkey, WORK a directory that this script makes anew. README.md says which snippets there
are. Prints one line for each shell block with its time, and one for each page. Exit code 1: a snippet failed.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

GUIDE = Path(__file__).resolve().parent
ROOT = GUIDE.parent.parent
FIRST_PAGE = "README.md"  # it installs the Python package for the others, and sorts before them
RUN = ("cpp", "python", "sh")
MARK = "\x1e"  # ends the output of a block
MOST_SECONDS = 1500  # after that a snippet hangs
FENCE = re.compile(r"^```(\w*)\s*$")
DIRECTIVE = re.compile(r"^<!-- (from|not run|top level)(?:: (.*))? -->$")

CPP_HEAD = """#include <latchkey/latchkey.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iostream>
#include <thread>

#define END_OF_BLOCK() (std::cout << '\\x1e' << std::flush)
"""


class Failure(Exception):
    """A snippet that does not do what its page says."""


@dataclass
class Block:
    page: str
    line: int  # of its first line of text
    language: str
    text: str
    directive: str | None = None
    argument: str | None = None
    expected: str | None = None  # the text block that follows

    def where(self):
        return f"docs/guide/{self.page}:{self.line}"


def blocks_of(page, text):
    """The fenced blocks in their order. A text block is the output of the block before it."""
    blocks, current, directive = [], None, (None, None)
    for number, line in enumerate(text.splitlines(), start=1):
        fence = FENCE.match(line)
        if current is not None and line == "```":
            if current.language == "text":
                if not blocks or blocks[-1].language not in RUN or blocks[-1].expected is not None:
                    raise Failure(f"{current.where()}: no block that runs comes before this output")
                blocks[-1].expected = current.text
            else:
                blocks.append(current)
            current = None
        elif current is not None:
            current.text += line + "\n"
        elif fence:
            current = Block(page, number + 1, fence.group(1), "", *directive)
            directive = (None, None)
        elif line.strip():
            found = DIRECTIVE.match(line)
            directive = found.groups() if found else (None, None)
    if current is not None:
        raise Failure(f"{current.where()}: the block does not end")
    return blocks


def check_copy(block):
    """A block that is a part of a file of the tree, which other tests compile."""
    if block.text not in (ROOT / block.argument).read_text(encoding="utf-8"):
        raise Failure(f"{block.where()}: the block is not a part of {block.argument}")


def compare(block, printed):
    """`...` in the expected output stands for any text within a line; a line of its own, for any lines."""
    expected = block.expected or ""
    pattern = ""
    for line in expected.splitlines():
        pattern += r"(?:.*\n)*" if line == "..." else ".*".join(re.escape(part) for part in line.split("...")) + r"\n"
    if not re.fullmatch(pattern, printed):
        raise Failure(f"{block.where()}: the block printed\n{printed}instead of\n{expected}")


def run(command, cwd, environment):
    return subprocess.run([str(c) for c in command], cwd=cwd, env=environment, check=False, text=True, timeout=MOST_SECONDS,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def must_run(what, command, cwd, environment):
    result = run(command, cwd, environment)
    if result.returncode != 0:
        raise Failure(f"{what}: exit {result.returncode}\n{result.stdout}{result.stderr}")


# ---- C++: the blocks of a page are the body of one function, in their order.

def cpp_of_page(page, blocks):
    """The function of a page. `#line` makes the compiler name the page's own lines."""
    name = page_name(page)
    def placed(block):
        return f'#line {block.line} "docs/guide/{page}"\n{block.text}'
    top = [placed(b) for b in blocks if b.directive == "top level"]
    body = [placed(b) + "END_OF_BLOCK();\n" for b in blocks if b.directive is None]
    return (f"namespace {name} {{\n{''.join(top)}absl::Status Run() {{\n{''.join(body)}return absl::OkStatus();\n}}\n"
            f"}}  // namespace {name}\n")


def page_name(page):
    return Path(page).stem.replace("-", "_").lower()


def build_cpp(pages, build, work):
    """One program for all pages: the headers are slow to compile. Built by a project that finds the installed package."""
    source = work / "guide.cc"
    chosen = "".join(f'  if (page == "{page_name(p)}") status = {page_name(p)}::Run();\n' for p in pages)
    source.write_text(CPP_HEAD + "".join(cpp_of_page(p, b) for p, b in pages.items()) +
                      '#line 1 "run_snippets.py"\nint main(int, char** argv) {\n  const std::string_view page = argv[1];\n'
                      f"  absl::Status status;\n{chosen}  if (!status.ok()) std::cerr << status << std::endl;\n"
                      "  return status.ok() ? 0 : 1;\n}\n", encoding="utf-8")
    flags = "-O0 -Wall -Wextra -Werror -Wno-unused-variable -Wno-unused-but-set-variable"
    must_run("installing", ["cmake", "--install", build, "--component", "development", "--prefix", work / "prefix"], work,
             os.environ)
    must_run("configuring", ["cmake", "-G", "Ninja", "-S", ROOT / "cmake/install_test", "-B", work / "cpp",
                             f"-DCMAKE_PREFIX_PATH={work / 'prefix'}", f"-DCMAKE_CXX_FLAGS={flags}",
                             f"-DEXAMPLE_SOURCE={source}"], work, os.environ)
    must_run("the C++ blocks do not compile", ["cmake", "--build", work / "cpp"], work, os.environ)
    return work / "cpp/consumer"


def split_output(blocks, result):
    """Compares the output of each block; the blocks' own order tells which one failed."""
    parts = result.stdout.split(MARK)
    for number, block in enumerate(blocks):
        if number >= len(parts) - 1:
            raise Failure(f"{block.where()}: exit {result.returncode}\n{parts[-1]}{result.stderr}")
        compare(block, parts[number])
    if result.returncode != 0:
        raise Failure(f"{blocks[-1].where()}: exit {result.returncode} behind this block\n{result.stderr}")


def run_cpp(page, blocks, program, cwd, environment):
    split_output([b for b in blocks if b.directive is None], run([program, page_name(page)], cwd, environment))


# ---- Python: the blocks of a page are one script.

def run_python(blocks, cwd, environment):
    script = cwd / "page.py"
    script.write_text("".join(f"{b.text}print('\\x1e', end='', flush=True)\n" for b in blocks), encoding="utf-8")
    split_output(blocks, run(["python3", script], cwd, environment))


# ---- Shell: each block is a script, in a folder that looks like a checkout with its build.

def make_checkout(folder, build):
    """Copies what a snippet may write into; the build is a link."""
    ignore = shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
    for name in ("bindings", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignore)
    (folder / "build").mkdir()
    (folder / "build/release").symlink_to(build)


def run_sh(block, cwd, environment):
    started = time.monotonic()
    result = run(["bash", "-euo", "pipefail", "-c", block.text], cwd, environment)
    print(f"{block.where()}: {time.monotonic() - started:.2f} s: {block.text.splitlines()[0]}")
    if result.returncode != 0:
        raise Failure(f"{block.where()}: exit {result.returncode}\n{result.stdout}{result.stderr}")
    if block.expected is not None:
        compare(block, result.stdout)


def lacks(block, environment):
    """A program that the block calls and this machine does not have: the block does not run."""
    if needs_python(block) and not shutil.which("pip", path=environment["PATH"]):
        return "pip"
    for program in ("go", "pip", "cc"):
        if re.search(rf"(?:^|[ ;&]){program} ", block.text, re.MULTILINE) and not shutil.which(program, path=environment["PATH"]):
            return program
    return None


# ---- All of it.

def runnable(blocks):
    """Checks the blocks that do not run, and returns the others."""
    chosen = []
    for block in blocks:
        if block.directive == "from":
            check_copy(block)
        elif block.language not in RUN:
            raise Failure(f"{block.where()}: a block of {block.language or 'no language'} needs a file: <!-- from: FILE -->")
        elif block.directive == "not run":
            print(f"{block.where()}: not run: {block.argument}")
        else:
            chosen.append(block)
    return chosen


def page_blocks(name):
    return runnable(blocks_of(name, (GUIDE / name).read_text(encoding="utf-8")))


def needs_python(block):
    return block.language == "python" or "import latchkey" in block.text


def run_page(page, blocks, program, folder, environment):
    for block in (b for b in blocks if b.language == "sh"):
        lacking = lacks(block, environment)
        if lacking:
            print(f"{block.where()}: skipped: there is no {lacking}")
        else:
            run_sh(block, folder, environment)
    cpp = [b for b in blocks if b.language == "cpp"]
    if cpp:
        run_cpp(page, cpp, program, folder, environment)
    python = [b for b in blocks if b.language == "python"]
    if python and shutil.which("pip", path=environment["PATH"]):
        run_python(python, folder, environment)
    print(f"docs/guide/{page}: {len(blocks)} blocks as shown")


def main():
    if len(sys.argv) < 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    build, work = (Path(a).resolve() for a in sys.argv[1:3])
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    environment = {**os.environ, "PATH": f"{build / 'tools'}:/usr/bin:/bin:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1",
                   "PYTHONPATH": str(work / "readme/build/python"), "GOFLAGS": "-buildvcs=false", "GOPROXY": "off",
                   "PIP_ROOT_USER_ACTION": "ignore", "NO_COLOR": "1", "HOME": os.environ.get("HOME") or str(work)}
    names = sys.argv[3:] or sorted(p.name for p in GUIDE.glob("*.md"))
    try:
        pages = {name: page_blocks(name) for name in names}
        if FIRST_PAGE not in pages and any(needs_python(b) for blocks in pages.values() for b in blocks):
            pages = {FIRST_PAGE: page_blocks(FIRST_PAGE), **pages}
        cpp = {name: [b for b in blocks if b.language == "cpp"] for name, blocks in pages.items()}
        cpp = {name: blocks for name, blocks in cpp.items() if blocks}
        program = build_cpp(cpp, build, work) if cpp else None
        for name, blocks in pages.items():
            make_checkout(work / page_name(name), build)
            run_page(name, blocks, program, work / page_name(name), environment)
    except (Failure, subprocess.TimeoutExpired) as failure:
        print(failure)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
