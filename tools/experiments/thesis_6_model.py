"""Definitions of Wang, "Storage Management for Large Scale Systems" (2004), chapter 6: the write cost model.

The rows are those of `latchkey model`; curves that it does not print are computed by write_cost.
"""

from definition import Experiment, Plot, Run, Statement
from rows import add, median, percent, points, rises, select, series, values
from write_cost import HILL, hill, hot_writes, hylog_cost

THESIS = "Wang, Storage Management for Large Scale Systems, 2004"
RZ26 = "fixed:service_ms=15:mb_s=2.3"  # as Table 6.2 has it
DISKS = ["cheetah-x15-36lp", "atlas10k", RZ26]
YEARS = {"cheetah": 2004, "year2004": 2004, "atlas10k": 1999, "year2008": 2008, "fixed": 1991}
DENSITY = [0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.96, 0.97, 0.975, 0.98, 0.99]
KNUTHS = ("Knuth(40,20)", "Knuth(60,20)", "Knuth(80,20)")
DISTRIBUTIONS = ("uniform", *KNUTHS, HILL)
MODEL_COLUMNS = ("disk", "page_size", "segment_bytes", "eta")
KIB = 1024


def model(**flags):
    return Run("model", {name.replace("_", "-"): value for name, value in flags.items()})


def year(row):
    return next(of for name, of in YEARS.items() if row["disk"].startswith(name))


def page_ms(row):
    return row["device_time_us.page_write"] / 1e3


def transfer_ms(row):
    """Of one page: a segment takes as much longer than a page as its other pages take to transfer."""
    pages = row["segment_bytes"] / row["page_size"]
    return (row["device_time_us.segment_write"] / 1e3 - page_ms(row)) / (pages - 1)


def with_disk(rows):
    """Adds the disk's year, T_pos in ms, B in MB/s and their product in KB, from the times of pages and segments."""
    rows = add(rows, year=year, positioning_ms=lambda row: page_ms(row) - transfer_ms(row),
               megabytes_per_s=lambda row: row["page_size"] / KIB / transfer_ms(row),
               segment_kib=lambda row: row["segment_bytes"] / KIB)
    return add(rows, product_kib=lambda row: row["positioning_ms"] * row["megabytes_per_s"])


# ---- Table 6.2: disks

PARAMETERS = model(disk=DISKS, space_utilization=0.5)


def ratio_of(column, newer, older, printed, within, turn=False):
    def check(rows):
        found = median(rows, column, year=newer) / median(rows, column, year=older)
        found = 1 / found if turn else found
        return abs(found / printed - 1) < within, f"{column}: {found:.2f} times"
    return check


def ten_times_more(rows):
    shorter = median(rows, "positioning_ms", year=1991) / median(rows, "positioning_ms", year=2004)
    wider = median(rows, "megabytes_per_s", year=2004) / median(rows, "megabytes_per_s", year=1991)
    return abs(wider / shorter / 10 - 1) < 0.05, f"{wider:.1f} times the bandwidth over {shorter:.2f} times the speed"


MECHANICS = {2004: (3.6, 15_000), 1999: (5.6, 10_025), 1991: (9.8, 5400)}  # seek in ms, rpm: Tables 6.3 and 6.6


def seek_and_half_a_rotation(rows):
    found = [(of, median(rows, "positioning_ms", year=of), seek + 30_000 / rpm) for of, (seek, rpm) in MECHANICS.items()]
    return all(abs(got - wanted) < 0.1 for _, got, wanted in found), "; ".join(
        f"{of}: {got:.2f} ms, of parts {wanted:.2f}" for of, got, wanted in found)


TABLE_2 = Experiment(
    name="table-thesis-6.2", title="Table 6.2 of Wang's thesis: disk parameters",
    source=f"{THESIS}, section 6.1.1, page 119, and the chapter's introduction", sweep="the disks of three years",
    runs=(PARAMETERS,), derive=with_disk,
    columns=(*MODEL_COLUMNS, "megabytes_per_s", "product_kib"),
    plot=Plot("year", "positioning_ms", kind="bars", x_label="year of the disk", y_label="positioning time (ms)"),
    statements=(
        Statement("From 1991 to 2004 the positioning time fell 2.7-fold (within 2 %).",
                  ratio_of("positioning_ms", 2004, 1991, 2.7, 0.02, turn=True), "the disks have other parameters"),
        Statement("The bandwidth grew 27-fold (within 3 %).",
                  ratio_of("megabytes_per_s", 2004, 1991, 27, 0.03), "the disks have other parameters"),
        Statement("The bandwidth improved 10 times more than the positioning time (within 5 %).", ten_times_more,
                  "the disks have other parameters"),
        Statement("T_pos is the sum of the average seek and half a rotation of Tables 6.3 and 6.6 (within 0.1 ms).",
                  seek_and_half_a_rotation, "Table 6.3 gives the RZ26 15.36 ms, which our simulated disk has, and "
                  "Table 6.2 gives it 15.0 ms (A8)"),
    ))


# ---- Figures 6.1 and 6.3: segment I/O efficiency

SIZES = model(disk=DISKS, segment_size=[f"{2 ** power}KiB" for power in range(4, 15)], space_utilization=0.5)


def efficiency(rows, of_year):
    return series(rows, "segment_kib", "eta", year=of_year)


def rises_with_size(rows):
    found = [(of, efficiency(rows, of)) for of in values(rows, "year")]
    return all(rises(pairs) for _, pairs in found), "eta from the smallest to the largest segment: " + "; ".join(
        f"{of} {pairs[0][1]:.2f} to {pairs[-1][1]:.2f}" for of, pairs in found)


def rises_with_product(rows):
    years = sorted(values(rows, "year"), key=lambda of: median(rows, "product_kib", year=of))
    curves = [dict(efficiency(rows, of)) for of in years]
    found = all(low[size] < high[size] for low, high in zip(curves, curves[1:]) for size in low)
    return found, "T_pos B in KB: " + points([(of, median(rows, "product_kib", year=of)) for of in years], "{:.1f}")


def modern_over_old(rows):
    new, old = (median(rows, "eta", year=of, segment_kib=KIB) for of in (2004, 1991))
    return new > 5 * old, f"{new:.1f} against {old:.1f}"


def limit(row):
    return row["product_kib"] * KIB / row["page_size"] + 1


def near_limit(rows):
    size = values(rows, "segment_kib")[-1]
    found = [(row["year"], row["eta"] / limit(row)) for row in select(rows, segment_kib=size)]
    return all(abs(share - 1) < 0.03 for _, share in found), f"eta over the limit at {size:.0f} KB: " + points(found)


FIG_1 = Experiment(
    name="fig-thesis-6.1", title="Figure 6.1 of Wang's thesis: segment I/O efficiency of different disks",
    source=f"{THESIS}, section 6.1.1, page 119", sweep="segments of 16 KB to 16 MB on the disks of three years",
    runs=(SIZES,), derive=with_disk, columns=(*MODEL_COLUMNS, "product_kib"),
    plot=Plot("segment_kib", "eta", "year", x_log=True, x_label="segment size (KB)", y_label="segment I/O efficiency"),
    statements=(
        Statement("The efficiency is a monotonously increasing function of the segment size.", rises_with_size,
                  "(6.1) was not computed right"),
        Statement("At every size it increases with the disk performance product.", rises_with_product,
                  "(6.1) was not computed right"),
        Statement("Modern disks have much larger efficiency than old ones (5 times at 1 MB, 2004 against 1991).",
                  modern_over_old, "the disks have other parameters"),
        Statement("The limit for large segments is (T_pos B + P) / P (within 3 % at 16 MB).", near_limit,
                  "16 MB are not large for the fastest disk"),
    ))

SUGGESTED = {"cheetah-x15-36lp": "1368KiB", "atlas10k": "704KiB", RZ26: "136KiB"}  # 4 T_pos B, in whole pages of 8 KB
CROSSES = tuple(Run("model", {"disk": disk, "segment-size": size, "space-utilization": 0.5},
                    columns={"kind": "suggested"}) for disk, size in SUGGESTED.items())
ROUNDED = Run("model", PARAMETERS.flags, columns={"kind": "rounded"})


def with_kind(rows):
    return [{"kind": "curve", **row} for row in with_disk(rows)]


def reaches_80_percent(rows):
    found = [(row["year"], row["eta"] / limit(row)) for row in select(rows, kind="suggested")]
    return all(abs(share - 0.8) < 0.005 for _, share in found), "eta over the limit: " + points(found)


def rounded_sizes(rows):
    found = {row["year"]: row["segment_kib"] for row in select(rows, kind="rounded")}
    return found == {2004: 1024, 1999: 512, 1991: 128}, "KB: " + points(sorted(found.items()), "{:.0f}")


def at_the_knee(rows):
    """How eta changes from the rounded size to twice and to half of it."""
    found = []
    for row in select(rows, kind="rounded"):
        curve = dict(efficiency(select(rows, kind="curve"), row["year"]))
        found.append((row["year"], curve[2 * row["segment_kib"]] / row["eta"], curve[row["segment_kib"] / 2] / row["eta"]))
    return all(up < 1.15 and down < 0.85 for _, up, down in found), "; ".join(
        f"{of}: x {up:.3f}, x {down:.3f}" for of, up, down in found)


def larger_for_faster(rows):
    pairs = sorted((row["product_kib"], row["segment_kib"]) for row in select(rows, kind="rounded"))
    return rises(pairs), "segment in KB by T_pos B in KB: " + points(pairs, "{:.0f}", "{:.1f}")


FIG_3 = Experiment(
    name="fig-thesis-6.3", title="Figure 6.3 of Wang's thesis: segment sizes of different disks",
    source=f"{THESIS}, section 6.1.2.1, page 123", sweep="segments of 16 KB to 16 MB, of 4 T_pos B, and of that rounded",
    runs=(SIZES, *CROSSES, ROUNDED), derive=with_kind, columns=(*MODEL_COLUMNS, "kind", "product_kib"),
    plot=Plot("segment_kib", "eta", "kind", "year", x_log=True, x_label="segment size (KB)",
              y_label="segment I/O efficiency"),
    statements=(
        Statement("A segment of 4 T_pos B reaches 80 % of the limit (within half a point).", reaches_80_percent,
                  "(6.3) was not computed right"),
        Statement("Rounded to powers of two, the sizes are 1 MB, 512 KB and 128 KB.", rounded_sizes,
                  "another rule rounds to another power"),
        Statement("They are close to the knee: twice the size adds less than 15 %, half of it loses more.", at_the_knee,
                  "rounding moved the size away from the knee"),
        Statement("Larger segments are required for faster disks.", larger_for_faster, "rounding made two sizes equal"),
    ))


# ---- Figure 6.4: write costs

COSTS = model(disk=DISKS, space_utilization=DENSITY)
PRINTED, OWN = "LFS-plugging, u of (6.2)", "LFS-plugging, its own u"
LAYOUT_COSTS = {"Overwrite": "cost.overwrite", "LFS-cleaning": "cost.lfs_cleaning", OWN: "cost.lfs_plugging"}


def by_layout(rows):
    """One row for each layout; (6.6) with the u of (6.2), as printed, beside the program's own u of plugging."""
    rows = add(with_disk(rows), printed=lambda row: 2 + row["u"] * row["eta"])
    return [{**row, "layout": name, "cost": row[column]} for row in rows
            for name, column in {**LAYOUT_COSTS, PRINTED: "printed"}.items()]


def one_crossing(rows):
    """C' of cleaning and plugging where cleaning costs as much as Overwrite, by the u that the program found."""
    found = []
    for of in values(rows, "year"):
        eta, u = (median(rows, column, year=of) for column in ("eta", "crossing.u"))
        found.append((of, max(abs(2 / (1 - u) - eta), abs(2 + u * eta - eta), abs(u - 1 + 2 / eta))))
    return all(apart < 1e-4 for _, apart in found), "largest difference: " + points(found, "{:.1e}")


def plugging_never_cheapest(rows):
    best = [(f"{row['year']} at {row['space_utilization']}", row["cost"])
            for row in select(rows, layout=OWN) if row["cost"] < min(row["cost.overwrite"], row["cost.lfs_cleaning"])]
    return not best, f"cheapest at {len(best)} of {len(select(rows, layout=OWN))} points" + (
        f", as {best[-1][0]}" if best else "")


def crossing_of_2004(rows):
    found = [(of, median(rows, "crossing.u", year=of), median(rows, "crossing.space_utilization", year=of))
             for of in values(rows, "year")]
    newest = dict((of, (u, u_d)) for of, u, u_d in found)[2004]
    return abs(newest[0] - 0.94) < 0.005 and abs(newest[1] - 0.97) < 0.005 and rises(
        [(of, u_d) for of, _, u_d in found]), "; ".join(f"{of}: u {u:.3f}, u_d {u_d:.3f}" for of, u, u_d in found)


def cleaning_alike(rows):
    found = [max(costs) - min(costs) for u_d in values(rows, "space_utilization")
             for costs in [[row["cost"] for row in select(rows, layout="LFS-cleaning", space_utilization=u_d)]]]
    return max(found) < 1e-9, f"largest difference between disks {max(found):.1e}"


def advantage_grows(rows):
    found = [(u_d, [median(rows, "eta", year=of) / median(rows, "cost", layout="LFS-cleaning", space_utilization=u_d)
                    for of in values(rows, "year")]) for u_d in values(rows, "space_utilization")]
    ends = (found[0], found[-1])
    return all(a < b for _, row in found for a, b in zip(row, row[1:])), "Overwrite over LFS, 1991, 1999, 2004: " + (
        "; ".join(f"at {u_d} " + ", ".join(f"{v:.2f}" for v in row) for u_d, row in ends))


FIG_4 = Experiment(
    name="fig-thesis-6.4", title="Figure 6.4 of Wang's thesis: write costs of different layouts",
    source=f"{THESIS}, section 6.1.2.2, page 124", sweep="u_d from 0.5 to 0.99 on the disks of three years",
    runs=(COSTS,), derive=by_layout, columns=(*MODEL_COLUMNS, "u", "u_plugging", "crossing.u",
                                              "crossing.space_utilization"),
    plot=Plot("space_utilization", "cost", "layout", "year", y_log=True, x_label="disk space utilization",
              y_label="scaled write cost"),
    statements=(
        Statement("Overwrite, LFS-cleaning and LFS-plugging cross at one point, u = 1 - 2 / eta (as functions of u).",
                  one_crossing, "the crossing was not computed right"),
        Statement("LFS-plugging is nowhere the cheapest of the three.", plugging_never_cheapest,
                  "(6.2) does not hold for hole-plugging, whose victims are emptier at the same u_d: "
                  "1 / u_d = u - ln u (A5)"),
        Statement("The crossing is at a higher u_d for faster disks: for 2004 at u = 94 %, u_d = 97 % (half a point).",
                  crossing_of_2004, "the units of bandwidth and size are others (A1)"),
        Statement("The scaled write cost of LFS-cleaning is the same for all disks.", cleaning_alike,
                  "the cost is not scaled by T_seg / S"),
        Statement("The advantage of LFS over Overwrite increases from disk to disk.", advantage_grows,
                  "a faster disk has a smaller eta"),
    ))


# ---- Figures 6.5 and 6.6: HyLog

SHARES = [0.001, 0.005, *(step / 100 for step in range(1, 101))]


def cumulative(_quick):
    """w(h) of each distribution, as the thesis prints it"""
    return [{"distribution": name, "pages_percent": 100 * share, "as printed": share_of(name, share),
             "writes_percent": 100 * share_of(name, share)} for name in DISTRIBUTIONS for share in SHARES]


def share_of(name, share):
    return hill(share) if name == HILL else hot_writes(name, share)


def goes_to(rows):
    found = [(name, median(rows, "writes_percent", distribution=name, pages_percent=20.0)) for name in KNUTHS]
    return all(abs(got - float(name[6:8])) < 0.1 for name, got in found), "% of the writes to 20 % of the pages: " + points(
        found)


def reaches_all(rows):
    found = [(name, median(rows, "writes_percent", distribution=name, pages_percent=100.0)) for name in DISTRIBUTIONS]
    return all(abs(got - 100) < 0.05 for _, got in found), "% of the writes to all pages: " + points(found, "{:.1f}")


def ordered_by_skew(rows):
    middle = [at for at in values(rows, "pages_percent") if 1 <= at <= 50]
    curves = [dict(series(rows, "pages_percent", "writes_percent", distribution=name)) for name in DISTRIBUTIONS]
    return all(low[at] < high[at] for low, high in zip(curves, curves[1:]) for at in middle), (
        "% of the writes to 10 % of the pages: " + points([(n, c[10.0]) for n, c in zip(DISTRIBUTIONS, curves)]))


FIG_5 = Experiment(
    name="fig-thesis-6.5", title="Figure 6.5 of Wang's thesis: cumulative distribution functions",
    source=f"{THESIS}, section 6.1.3, page 127", sweep="the hottest 0.1 to 100 % of the pages, 5 distributions",
    compute=cumulative, columns=(),
    plot=Plot("pages_percent", "writes_percent", "distribution", x_label="hottest pages (%)", y_label="writes (%)"),
    statements=(
        Statement("In Knuth(a,b), a % of the references go to b % of the pages.", goes_to, "the exponent is another"),
        Statement("All are distribution functions: all pages get 100 % of the writes.", reaches_all,
                  "Hill(105,0.528,0.546) passes 100 % at the end and has to be cut there"),
        Statement("Knuth is more skewed with larger a, and Hill the most skewed (from 1 to 50 % of the pages).", ordered_by_skew,
                  "two of the curves cross"),
    ))

ETA = 32.8
POTENTIAL = model(disk=f"ratio:{ETA}", distribution=["uniform", "knuth:40:20", "knuth:60:20", "knuth:80:20", "hill"],
                  space_utilization=[0.9, 0.95, 0.97, 0.98])
HOT = [step / 100 for step in range(101)]
NAMES = {"uniform": "uniform", "hill": HILL, **{f"knuth:writes={a}:pages=20": f"Knuth({a},20)" for a in (40, 60, 80)}}


def curves(_quick):
    """C' of (6.8) for each proportion of hot pages, with u_d in (6.7)"""
    return [{"distribution": name, "space_utilization": u_d, "h": hot, "kind": "curve",
             "cost": hylog_cost(ETA, u_d, hot, hot_writes(name, hot))}
            for u_d in (0.9, 0.97) for name in DISTRIBUTIONS for hot in HOT]


def with_best(rows):
    """The program's best h as points beside the curves."""
    return [row if row.get("kind") == "curve" else
            {**row, "kind": "best", "distribution": named(row["distribution"]), "h": row["best_hot_proportion"],
             "cost": row["cost.hylog"]} for row in rows]


def named(distribution):
    return NAMES.get(distribution, distribution)


def best(rows, u_d):
    return {row["distribution"]: row for row in select(rows, kind="best", space_utilization=u_d)}


def outperforms_both(rows):
    found = [(name, row["cost"] / min(row["cost.overwrite"], row["cost.lfs_cleaning"]))
             for name, row in best(rows, 0.97).items()]
    return all(share < 1 for _, share in found), "cost over that of the better of the two at 97 %: " + points(found)


def skew_helps(rows):
    found = [(name, row["h"], row["cost"]) for name, row in best(rows, 0.97).items()]
    return all(a[1] > b[1] and a[2] > b[2] for a, b in zip(found, found[1:])), "at 97 %: " + "; ".join(
        f"{name} h {h:.3f}, cost {cost:.1f}" for name, h, cost in found)


def limited_at_90(rows):
    row = select(rows, kind="best", space_utilization=0.9)[0]
    gain = row["cost.lfs_cleaning"] / row["cost"] - 1
    return gain < 0.1, f"LFS costs {percent(gain)} more at 90 %"


def degrades(rows):
    """The ends of the curves against the program's costs of the other two layouts."""
    found = [max(abs(median(rows, "cost", kind="curve", space_utilization=u_d, distribution=name, h=hot) - row[column])
                 for hot, column in ((0.0, "cost.overwrite"), (1.0, "cost.lfs_cleaning")))
             for u_d in (0.9, 0.97) for name, row in best(rows, u_d).items()]
    return max(found) < 0.01, f"largest difference {max(found):.1e}"


FIG_6 = Experiment(
    name="fig-thesis-6.6", title="Figure 6.6 of Wang's thesis: performance potential of HyLog",
    source=f"{THESIS}, section 6.1.3, page 128", sweep="0 to 100 % hot pages, 5 distributions, u_d 0.9 and 0.97",
    compute=curves, runs=(POTENTIAL,), derive=with_best, columns=("kind", "eta", "best_hot_proportion", "hot_write_proportion"),
    plot=Plot("h", "cost", "distribution", "space_utilization", y_log=True, x_label="proportion of hot pages",
              y_label="scaled write cost of HyLog"),
    statements=(
        Statement("With the right number of hot pages HyLog outperforms both Overwrite and LFS at 97 %.",
                  outperforms_both, "one of the two is a case of HyLog and the best one"),
        Statement("The higher the skew, the fewer hot pages are required and the more benefit can be achieved.",
                  skew_helps, "a curve of more skew is less steep at its start"),
        Statement("When the disk space utilization is low (90 %), HyLog has limited benefit over LFS (less than 10 %).",
                  limited_at_90, "so skewed writes make it pay to keep pages in place already at 90 %",
                  over="distribution"),
        Statement("When h is 0 and 1, the cost of HyLog degrades to Overwrite's and LFS's.", degrades,
                  "(6.7) was taken with u, as printed, where it needs u_d (A2)"),
    ))

EXPERIMENTS = [TABLE_2, FIG_1, FIG_3, FIG_4, FIG_5, FIG_6]
