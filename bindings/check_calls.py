#!/usr/bin/env python3
"""Checks that calls.txt has a line for each public call of engine/latchkey.h and each member of its option structs, and that
the names of the bindings there exist. So a new call of C++ cannot be left out of a binding without a line that says why.

    bindings/check_calls.py          exit 1 if a line is missing, has nothing to name, or names what there is not
    bindings/check_calls.py --list   the calls of C++, one a line
"""

import re
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
TABLE = FOLDER / "calls.txt"
HEADERS = ("engine/latchkey.h", "engine/cursor.h", "engine/keys.h", "engine/options.h", "engine/statistics.h")
# Figures and options go by their names, which ListStatistics, ListOptions and SetOption tell; latencies are in the text
# of GetMetrics.
BY_NAME = {"Statistics", "Options", "Techniques", "NamedStatistic", "NamedOption", "Log", "Recovery", "OperationLatency",
           "Bucket"}
SCOPE = re.compile(r"(class|struct|enum class|namespace)\s+(\w+)[^;{}]*\{")


def without_comments(text):
    return re.sub(r"^\s*#.*$", "", re.sub(r"//[^\n]*", "", text), flags=re.MULTILINE)


def statements(text):
    """(scopes, statement) of each declaration: scopes are (kind, name, is_public) from the outermost in."""
    scopes, start = [], 0
    for match in re.finditer(r"[;{}]|\b(public|private|protected):", text):
        before, start = text[start:match.start()].strip(), match.end()
        if match.group(1):
            kind, name, _ = scopes[-1]
            scopes[-1] = (kind, name, match.group(1) == "public")
        elif match.group() == "{":
            opened = SCOPE.match(before + "{")
            if not opened and before:
                yield list(scopes), before
            kind, name = opened.groups() if opened else ("body", "")
            scopes.append((kind, name, kind != "class"))
        elif match.group() == "}":
            scopes.pop()
        elif before:
            yield list(scopes), before


def name_of(statement, owner):
    """The name of a function or of a member that a statement declares; None if it declares neither."""
    if re.match(r"(using|friend|template|extern|class|struct)\b", statement) or "= delete" in statement:
        return None
    called = re.match(r"[^(=]*?([~\w]+)\s*\(", statement)
    if called and "operator" not in statement:
        return None if called.group(1).lstrip("~") == owner else called.group(1)
    member = re.match(r"[\w:<>\s,*]+?[\s>]([A-Za-z_]\w*)\s*(=|$)", statement)
    return member.group(1) if member and owner else None


def members_after(statement):
    """b and c of `int a = 0, b = 0, c = 0`."""
    return re.findall(r",\s*(\w+)\s*=", statement) if "(" not in statement else []


def cxx_calls(root):
    """Every public call and member of an option struct, as Class::Name or Name."""
    found = []
    for header in HEADERS:
        text = without_comments((root / header).read_text(encoding="utf-8"))
        for scopes, statement in statements(text):
            kinds = [scope[0] for scope in scopes]
            if "body" in kinds or "enum class" in kinds or not all(scope[2] for scope in scopes):
                continue
            owners = [scope[1] for scope in scopes if scope[0] in ("class", "struct")]
            name = name_of(statement, owners[-1] if owners else "")
            if name is None or BY_NAME & set(owners):
                continue
            for one in [name, *members_after(statement)]:
                found.append("::".join([*owners, one]))
    return sorted(set(found))


def sources(root):
    """The text in which a column's names are looked for."""
    def text_of(*patterns):
        return "\n".join(path.read_text(encoding="utf-8") for pattern in patterns for path in sorted(root.glob(pattern)))
    return {"C": text_of("bindings/c/latchkey_c*.h"),
            "Python": text_of("bindings/python/src/latchkey/*.py", "bindings/python/src/latchkey/*.pyi"),
            "Go": "\n".join(line for line in text_of("bindings/go/*.go").splitlines() if not line.strip().startswith("//"))}


def exists(name, text):
    """The last part of Database.name or options.member is a word of the text."""
    return all(re.search(rf"\b{re.escape(part)}\b", text) for part in name.split("."))


def breaches(root, table):
    """What is wrong with the table, a line each."""
    lines = [line for line in table.splitlines() if line.strip() and not line.startswith("#")]
    columns = lines[0].split()[1:]
    texts, calls, listed = sources(root), cxx_calls(root), set()
    for line in lines[1:]:
        names, _, reason = line.partition("#")
        call, *rest = names.split()
        listed.add(call)
        if call not in calls:
            yield f"{call}: engine/latchkey.h has no such call: remove its line"
        if len(rest) != len(columns):
            yield f"{call}: {len(rest)} names for {len(columns)} bindings"
        if "-" in rest and not reason.strip():
            yield f"{call}: a binding lacks it: end the line with # and the reason"
        for column, name in zip(columns, rest):
            if name != "-" and not exists(name, texts[column]):
                yield f"{call}: {column} has no {name}"
    for call in calls:
        if call not in listed:
            yield f"{call}: new in engine/latchkey.h: offer it in the bindings, and add its line to {TABLE.name}"


def main():
    root = FOLDER.parent
    if sys.argv[1:] == ["--list"]:
        print("\n".join(cxx_calls(root)))
        return 0
    if len(sys.argv) > 1:
        print(__doc__.strip())
        return 0 if sys.argv[1:] == ["--help"] else 2
    found = list(breaches(root, TABLE.read_text(encoding="utf-8")))
    for breach in found:
        print(breach)
    print(f"{len(cxx_calls(root))} calls, {len(found)} breaches")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
