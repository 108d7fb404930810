"""Draws rows as lines or bars into one SVG, a coordinate system for each value of the panel column."""

import math
import statistics
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 520, 330              # of one panel
LEFT, RIGHT, TOP, BOTTOM = 76, 16, 34, 52
LEGEND_ROW, TITLE = 18, 40
COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999933", "#882255", "#44aa99",
          "#117733", "#661100", "#6699cc", "#aa4466", "#4b4b4b", "#ddcc77"]
MARKS = ["circle", "square", "diamond"]


def number(value):
    if isinstance(value, str):
        return value
    if value != 0 and (abs(value) >= 1e5 or abs(value) < 1e-3):
        return f"{value:.0e}".replace("e+0", "e").replace("e-0", "e-")
    return f"{value:.4g}"


class Scale:
    """Maps numbers to pixels, linear or logarithmic; where a logarithm finds zero or less, linear."""

    def __init__(self, numbers, first, last, log, from_zero):
        low, high = min(numbers), max(numbers)
        self.log = log and low > 0
        if self.log:
            low, high = math.log10(low), math.log10(high)
        elif from_zero:
            low, high = min(low, 0), max(high, 0)
        if high == low:
            low, high = low - 0.5 * (abs(low) or 1), high + 0.5 * (abs(high) or 1)
        self.low, self.high, self.first, self.last = low, high, first, last

    def __call__(self, value):
        at = math.log10(value) if self.log else value
        return self.first + (at - self.low) / (self.high - self.low) * (self.last - self.first)

    def ticks(self):
        if self.log:
            whole = range(math.ceil(self.low - 1e-9), math.floor(self.high + 1e-9) + 1)
            steps = (1,) if len(whole) > 2 else (1, 2, 5)
            candidates = [10.0 ** power * step for power in range(math.floor(self.low), math.ceil(self.high) + 1)
                          for step in steps]
            return [t for t in candidates if self.low - 1e-9 <= math.log10(t) <= self.high + 1e-9]
        raw = (self.high - self.low) / 5
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw)
        count = math.floor(self.high / step) - math.ceil(self.low / step) + 1
        return [round((math.ceil(self.low / step) + i) * step, 12) for i in range(count)]


def text(x, y, content, size=12, anchor="middle", more=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"{more}>'
            f"{escape(str(content))}</text>")


def line(x1, y1, x2, y2, color="#000000", width=1.0):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" stroke-width="{width}"/>'


def mark(x, y, index, color):
    shape = MARKS[index % len(MARKS)]
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>'
    turn = f' transform="rotate(45 {x:.1f} {y:.1f})"' if shape == "diamond" else ""
    return f'<rect x="{x - 3:.1f}" y="{y - 3:.1f}" width="6" height="6" fill="{color}"{turn}/>'


def gather(rows, plot):
    """{panel: {series: [(x, median y)]}}, in the order of the rows; numeric x in order."""
    found = {}
    for row in rows:
        if row.get(plot.x) is None or row.get(plot.y) is None:
            continue
        panel = str(row[plot.panel]) if plot.panel else ""
        name = str(row[plot.series]) if plot.series else ""
        found.setdefault(panel, {}).setdefault(name, {}).setdefault(row[plot.x], []).append(row[plot.y])
    def ordered(points):
        pairs = [(x, statistics.median(ys)) for x, ys in points.items()]
        return pairs if any(isinstance(x, str) for x, _ in pairs) else sorted(pairs)
    return {panel: {name: ordered(points) for name, points in names.items()} for panel, names in found.items()}


def axes(plot, panel, across, y_scale, x_ticks):
    low, high = y_scale.first, y_scale.last
    parts = [text(LEFT + (WIDTH - LEFT - RIGHT) / 2, TOP - 12, panel, 13)] if panel else []
    parts += [line(LEFT, low, WIDTH - RIGHT, low), line(LEFT, low, LEFT, high)]
    for value in y_scale.ticks():
        y = y_scale(value)
        parts += [line(LEFT, y, WIDTH - RIGHT, y, "#dddddd"), text(LEFT - 6, y + 4, number(value), 11, "end")]
    for label, x in x_ticks:
        parts += [line(x, low, x, low + 4), text(x, low + 17, label, 11 if len(x_ticks) < 9 else 9)]
    parts.append(text(across, HEIGHT - 12, plot.x_label or plot.x))
    middle = (low + high) / 2
    parts.append(text(16, middle, plot.y_label or plot.y, more=f' transform="rotate(-90 16 {middle:.1f})"'))
    return parts


def draw_panel(plot, panel, names, colors):
    """The parts of one coordinate system, its upper left corner at 0, 0."""
    ys = [y for pairs in names.values() for _, y in pairs]
    xs = list(dict.fromkeys(x for pairs in names.values() for x, _ in pairs))
    is_bars = plot.kind == "bars" or any(isinstance(x, str) for x in xs)
    y_scale = Scale(ys, HEIGHT - BOTTOM, TOP, plot.y_log, from_zero=True)
    middle = (LEFT + WIDTH - RIGHT) / 2
    if is_bars:
        return bars(plot, panel, names, colors, xs, y_scale, middle)
    x_scale = Scale(xs, LEFT + 10, WIDTH - RIGHT - 10, plot.x_log, from_zero=False)
    ticks = [(number(t), x_scale(t)) for t in x_scale.ticks()]
    parts = axes(plot, panel, middle, y_scale, ticks)
    for name, pairs in names.items():
        color, index = colors[name]
        path = " ".join(f"{x_scale(x):.1f},{y_scale(y):.1f}" for x, y in pairs)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.6"/>')
        parts += [mark(x_scale(x), y_scale(y), index, color) for x, y in pairs]
    return parts


def bars(plot, panel, names, colors, xs, y_scale, middle):
    slot = (WIDTH - LEFT - RIGHT) / len(xs)
    width = slot * 0.8 / len(names)
    ground = y_scale.first if y_scale.log else y_scale(0)
    parts = axes(plot, panel, middle, y_scale,
                 [(number(x), LEFT + slot * (i + 0.5)) for i, x in enumerate(xs)])
    for position, (name, pairs) in enumerate(names.items()):
        for x, y in pairs:
            left = LEFT + slot * (xs.index(x) + 0.1) + width * position
            top, height = min(y_scale(y), ground), abs(ground - y_scale(y))
            parts.append(f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{max(height, 0.5):.1f}" '
                         f'fill="{colors[name][0]}"/>')
    return parts


def draw(rows, plot, title, description):
    """The text of an SVG file."""
    panels = gather(rows, plot)
    names = list(dict.fromkeys(name for found in panels.values() for name in found))
    colors = {name: (COLORS[i % len(COLORS)], i) for i, name in enumerate(names)}
    across = min(2, max(1, len(panels)))
    down = math.ceil(len(panels) / across)
    per_row = max(1, across * WIDTH // 200)
    shown = names if plot.series else []
    legend = LEGEND_ROW * math.ceil(len(shown) / per_row)
    width, height = across * WIDTH, TITLE + legend + down * HEIGHT
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             f'viewBox="0 0 {width} {height}" font-family="sans-serif">',
             f"<title>{escape(title)}</title>", f"<desc>{escape(description)}</desc>",
             f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
             text(width / 2, 24, title, 14 if len(title) * 7.5 < width else max(8, int(width / len(title) * 1.9)))]
    for i, name in enumerate(shown):
        x, y = 20 + 200 * (i % per_row), TITLE + LEGEND_ROW * (i // per_row) + 6
        parts += [mark(x, y - 4, colors[name][1], colors[name][0]), text(x + 10, y, name, 11, "start")]
    for i, (panel, found) in enumerate(panels.items()):
        x, y = WIDTH * (i % across), TITLE + legend + HEIGHT * (i // across)
        parts.append(f'<g transform="translate({x} {y})">')
        parts += draw_panel(plot, panel, found, colors)
        parts.append("</g>")
    return "\n".join(parts + ["</svg>", ""])
