"""What predicates say about rows: selections, medians, ratios, series."""

import statistics


class NoSuchRow(Exception):
    """A predicate names a row that the runs did not produce: an error of the definition."""


def select(rows, **wanted):
    """The rows with these values; a value may be a predicate."""
    def fits(row):
        return all(want(row.get(name)) if callable(want) else row.get(name) == want for name, want in wanted.items())
    chosen = [row for row in rows if fits(row)]
    if not chosen:
        shown = ", ".join(f"{name}={'...' if callable(want) else want}" for name, want in wanted.items())
        raise NoSuchRow(f"no row with {shown}")
    return chosen


def median(rows, column, **wanted):
    return statistics.median(row[column] for row in select(rows, **wanted))


def values(rows, column):
    """The column's different values: numbers in order, words as they come."""
    found = list(dict.fromkeys(row[column] for row in rows))
    return sorted(found) if all(isinstance(v, (int, float)) for v in found) else found


def series(rows, x, y, **wanted):
    """(x, median y), by x."""
    chosen = select(rows, **wanted) if wanted else rows
    return [(at, median(chosen, y, **{x: at})) for at in values(chosen, x)]


def rises(pairs):
    """Whether each y of (x, y) pairs is above the one before."""
    return all(a < b for (_, a), (_, b) in zip(pairs, pairs[1:]))


def spread(numbers):
    """(largest - smallest) / smallest."""
    numbers = list(numbers)
    return (max(numbers) - min(numbers)) / min(numbers)


def points(pairs, form="{:.3g}", x_form="{}"):
    """'at 1: 0.5, at 2: 0.7' of (x, y) pairs."""
    return ", ".join(f"{x_form.format(x)}: {form.format(y)}" for x, y in pairs)


def counted(rows):
    """How many contentions the rows stand for."""
    return sum(row["contentions_per_million"] * row["accesses"] / 1e6 for row in rows)


def percent(value):
    return f"{100 * value:.1f} %"


def add(rows, **columns):
    """Every row with further columns, each computed from the row."""
    return [{**row, **{name: of(row) for name, of in columns.items()}} for row in rows]


def normalised(rows, column, name, base, by=()):
    """Adds `name`: `column` over its median among the rows that `base` selects, with equal `by` columns."""
    result = []
    for row in rows:
        same = {key: row[key] for key in by}
        result.append({**row, name: row[column] / median(rows, column, **base, **same)})
    return result
