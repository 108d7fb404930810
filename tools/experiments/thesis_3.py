"""Definitions of Wang, "Storage Management for Large Scale Systems" (2004), chapter 3: the workload.

Data are the leaves of tables, index are inner pages and the two secondary trees.
"""

from definition import Experiment, Plot, Run, Statement
from nurand import needed_for, probabilities, share_of_hottest
from rows import median, percent, points, select, series, values

THESIS = "Wang, Storage Management for Large Scale Systems, 2004"
STAND_IN = ("TPC-C-lite on a B+tree in virtual time for DB2: 50 warehouses, 60 users, pages of 4 KiB; a row is in the "
            "leaf of its table's tree, where DB2 has heap pages and separate indexes; page skew stands beside id skew")
QUICK_STAND_IN = "under --quick 4 warehouses of a tenth of the size, 12 users, and fewer fixes"
RECORD = Run("tpcc-lite run",
             {"device": "fixed:disks=11", "warehouses": 50, "users": 60, "cache-size": "7.6%", "warmup": 0,
              "transactions": 300_000},
             quick={"warehouses": 4, "scale": 0.1, "users": 12, "cache-size": "10%", "transactions": 6_000})
SIZES = [1, 2, 5, 10, 20, 50, 100, 125, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000]
ONE_USER = {"users": 1, "fixes-per-user": 250_000, "size": SIZES}
ONE_QUICK = {"fixes-per-user": 25_000}
SHARES = [1, 2, 5, 10, 16, 20, 21, 30, 33, 40, 50, 60, 80, 100]
HIGH, MEDIUM, LOW = ("warehouse", "order_line"), ("item", "stock", "orders"), ("history", "customer")


def depth_run(**more):
    return Run("trace depth", {**ONE_USER, **more}, quick=ONE_QUICK, record=RECORD)


def depth_plot(line):
    return Plot("size", "hit_ratio", line, x_label="LRU stack depth (pages)", x_log=True,
                y_label="cumulative share of the references")


def depth_experiment(number, title, line, runs, statements):
    return Experiment(
        f"fig-thesis-3.{number}", f"Figure 3.{number} of Wang's thesis: {title}", f"{THESIS}, 3.2, figure 3.{number}",
        "the number of pages of an LRU cache, from one trace", depth_plot(line),
        ("tree", "object", "users", "references", "immediate", "pages", "finite"), statements, runs,
        stand_ins=(STAND_IN, QUICK_STAND_IN))


# ---- Figures 3.5 and 3.6: skew of ids

def skew_rows(of, weights):
    return [{"of": of, "hottest": share / 100, "fixes_share": share_of_hottest(weights, share / 100),
             "for_60": needed_for(weights, 0.6), "for_80": needed_for(weights, 0.8), "most": max(weights)}
            for share in SHARES]


def last_names(_quick):
    """the expected customers of each last name: each of 1000 once, 2000 more by NURand(255, 0, 999)"""
    return skew_rows("last names", [1 + 2000 * own for own in probabilities(255, 0, 999)])


def ids(_quick):
    """the probability of each item and customer, NURand(8191, 1, 100000) and NURand(1023, 1, 3000)"""
    return (skew_rows("item ids", probabilities(8191, 1, 100_000)) +
            skew_rows("customer ids", probabilities(1023, 1, 3000)))


def named_pages(rows):
    return [row if "of" in row else {**row, "of": f"pages of {row['tree']}", "for_80": row["pages_for_80_percent"]}
            for row in rows]


def near(column, of, wanted, within):
    def check(rows):
        found = median(rows, column, of=of)
        return abs(found - wanted) <= within, f"{of}: {percent(found)}"
    return check


def items_more_skewed(rows):
    item, customer = (median(rows, "for_80", of=of) for of in ("item ids", "customer ids"))
    return item < customer, f"80 % of the references are to {percent(item)} of the items, {percent(customer)} of the customers"


def pages_as_skewed(rows):
    found = {of: median(rows, "for_80", of=of) for of in ("pages of item", "item ids")}
    return (abs(found["pages of item"] - found["item ids"]) < 0.03,
            ", ".join(f"{of} with 80 %: {percent(share)}" for of, share in found.items()))


FIG_3_5 = Experiment(
    "fig-thesis-3.5", "Figure 3.5 of Wang's thesis: skew of last names", f"{THESIS}, 3.2.1, figure 3.5",
    "the share of the last names, most popular first",
    Plot("hottest", "fixes_share", "of", x_label="share of the names", y_label="share of the customers"),
    ("for_60", "most"),
    (Statement("21 % of the last names are used by 60 % of the customers.", near("for_60", "last names", 0.21, 0.01),
               "the thesis reads a drawn population, this is the expected one"),
     Statement("The most popular last name is used by 60 customers.",
               lambda rows: (40 <= median(rows, "most") <= 60, f"{median(rows, 'most'):.1f} customers on the average"),
               "the most popular name of a drawn population has more customers than it has on the average")),
    compute=last_names)

FIG_3_6 = Experiment(
    "fig-thesis-3.6", "Figure 3.6 of Wang's thesis: skew of item and customer ids", f"{THESIS}, 3.2.1, figure 3.6",
    "the share of the ids, hottest first, and of the data pages of their tables",
    Plot("hottest", "fixes_share", "of", x_label="share of the ids or pages", y_label="share of the references"),
    ("for_80",),
    (Statement("The item distribution is more skewed than that of customers.", items_more_skewed,
               "the wider mask of item ids would have to spread them"),
     Statement("16 % of the item ids get 80 % of the references.", near("for_80", "item ids", 0.16, 0.005),
               "exactly 14.5 % do, by the standard's NURand(8191, 1, 100000)"),
     Statement("33 % of the customer ids get 80 % of the references.", near("for_80", "customer ids", 0.33, 0.05),
               "Payment and Order-Status choose 60 % of their customers by last name, which this distribution leaves out"),
     Statement("Pages of the item table are as skewed as item ids.", pages_as_skewed,
               "a page has many items, hot and cold ones, for NURand scatters hot ids over the whole range")),
    (Run("trace skew", {"tree": ["item", "customer"], "object": "data", "share": SHARES}, record=RECORD),),
    compute=ids, derive=named_pages, stand_ins=(STAND_IN, QUICK_STAND_IN))


# ---- Table 3.3: what the trace records

def reads(rows):
    whole = select(rows, tree="all", object="all")[0]
    share = 1 - (whole["exclusive"] + whole["new"] + whole["upgrades"]) / whole["fixes"]
    return share > 0.7, f"{percent(share)} of {whole['fixes']} fixes stay shared"


def as_counted(rows):
    whole = select(rows, tree="all", object="all")[0]
    off = abs(whole["fixes"] - whole["pool_fixes"]) / whole["pool_fixes"]
    return off < 0.001, f"recorded {whole['fixes']}, counted by the pool {whole['pool_fixes']}"


TABLE_3_3 = Experiment(
    "table-thesis-3.3", "Table 3.3 of Wang's thesis: the fixes of a trace", f"{THESIS}, 3.2.2, table 3.3",
    "tree, index or data, and kind of fix",
    Plot("tree", "fixes_per_unit", "object", kind="bars", x_label="tree", y_label="fixes per transaction"),
    ("pages", "fixes", "share", "shared", "exclusive", "new", "upgrades", "modified_unfixes", "misses", "pool_fixes"),
    (Statement("84 % of the requests are reads (70 % or more here).", reads,
               "TPC-C-lite would have to change more pages than it reads"),
     Statement("The trace has every fix that the pool counts.", as_counted,
               "users that begin before the recording, or end after it, are counted by one of the two alone")),
    (Run("trace info", {}, record=RECORD),), stand_ins=(STAND_IN, QUICK_STAND_IN))


# ---- Figures 3.8 to 3.14: LRU stack depth

def hits(rows, size, **wanted):
    return median(rows, "hit_ratio", size=size, **wanted)


def high_at_1000(rows):
    found = hits(rows, 1000)
    return found > 0.75, f"depth below 1000: {percent(found)} of {rows[0]['references']} references to {rows[0]['pages']} pages"


def finite_85(rows):
    found = median(rows, "finite")
    return 0.8 <= found <= 0.95, f"finite: {percent(found)}"


def below_5(tree):
    def check(rows):
        found = hits(rows, 5, tree=tree)
        return found > 0.8, f"{tree}, depth below 5: {percent(found)}"
    return check


def warehouse_is_small(rows):
    pages, found = median(rows, "pages", tree="warehouse"), median(rows, "finite", tree="warehouse")
    deep = hits(rows, 50, tree="warehouse")
    return deep == found, f"{pages:.0f} pages; finite: {percent(found)}, depth below 50: {percent(deep)}"


def medium_between(rows):
    found = {tree: hits(rows, 100, tree=tree) for tree in (*HIGH, *MEDIUM, "customer")}
    low, high = found["customer"], min(found[tree] for tree in HIGH)
    return (all(low <= found[tree] <= high for tree in MEDIUM),
            "depth below 100: " + ", ".join(f"{tree} {percent(share)}" for tree, share in found.items()))


def infinite(tree, low, high):
    def check(rows):
        found = 1 - median(rows, "finite", tree=tree)
        return low <= found <= high, f"{tree}, infinite: {percent(found)}"
    return check


def knee(rows):
    found = {tree: hits(rows, 5, tree=tree) / median(rows, "finite", tree=tree) for tree in values(rows, "tree")}
    return (all(share > 0.3 for share in found.values()),
            "of the finite depths, those below 5: " + points(found.items(), "{:.2f}"))


def data_deeper(rows):
    found = series(rows, "object", "finite")
    share = dict(found)
    return share["data"] < share["index"], "finite: " + points(found, "{:.3f}")


def data_infinite(low, **wanted):
    def check(rows):
        found = 1 - median(rows, "finite", object="data", **wanted)
        return found >= low, f"data, infinite: {percent(found)}"
    return check


def similar_from_125(rows):
    one, most = min(values(rows, "users")), max(values(rows, "users"))
    apart = [(size, hits(rows, size, users=most) - hits(rows, size, users=one)) for size in values(rows, "size")
             if 125 <= size <= 10_000]
    return max(abs(by) for _, by in apart) < 0.05, f"{most} users over {one}, by pages: " + points(apart, "{:+.3f}")


def knee_moves(rows):
    one, most = min(values(rows, "users")), max(values(rows, "users"))
    found = [(users, hits(rows, 5, users=users)) for users in (one, most)]
    return found[1][1] < found[0][1], "depth below 5, by users: " + points(found, "{:.3f}")


TREES = depth_run(tree="each")
KNEE = Statement("The share rises sharply below 5 pages, by correlated references.", knee,
                 "announced keys are found, and their leaves used, without another descent")
FIGURES = [
    depth_experiment(
        8, "LRU stack depth for one user", None, (depth_run(),),
        (Statement("With 1000 pages the cumulative stack depth is about 80 % (75 % or more).", high_at_1000,
                   "the user touches more pages before it comes back to one"),
         Statement("About 85 % of the references have a finite depth (80 to 95 %).", finite_85,
                   "inner pages, which a B+tree visits in every descent, are a larger part of the fixes here"))),
    depth_experiment(
        9, "LRU stack depth of Warehouse and OrderLine", "tree", (depth_run(tree=list(HIGH)),),
        (Statement("No depth above 50 is found in Warehouse.", warehouse_is_small, "the table has more pages than 50"),
         Statement("In OrderLine more than 80 % of the references have a depth below 5.", below_5("order_line"),
                   "a user's next order is mostly of another district, ten or more pages away"))),
    depth_experiment(
        10, "LRU stack depth of Item, Stock and Order", "tree", (TREES,),
        (Statement("The skew of Item, Stock and Order is between that of OrderLine and of Customer.", medium_between,
                   "inner pages flatten the differences between the tables"),)),
    depth_experiment(
        11, "LRU stack depth of History and Customer", "tree", (depth_run(tree=list(LOW)),),
        (Statement("About 80 % of the references to History have an infinite depth (60 % or more).",
                   infinite("history", 0.6, 1), "an insert descends through the tree's inner pages to a leaf that has been used before: the "
                   "key begins with the district"),
         Statement("45 % of the references to Customer have an infinite depth (35 to 55 %).",
                   infinite("customer", 0.35, 0.55), "half of the fixes are of inner pages, which are soon used again"),
         KNEE)),
    depth_experiment(
        12, "LRU stack depth of data and indexes", "object", (depth_run(object=["data", "index"]),),
        (Statement("References to data have an infinite depth more often than those to indexes.", data_deeper,
                   "few pages of tables are used for the first time"),
         Statement("70 % of the references to data have an infinite depth (60 % or more).", data_infinite(0.6),
                   "leaves of small and of appended tables are data, too, and are used again and again"))),
    depth_experiment(
        13, "LRU stack depth of the Customer table", "object", (depth_run(tree="customer", object=["data", "index"]),),
        (Statement("Nearly all references to data of Customer have an infinite depth (80 % or more).", data_infinite(0.8),
                   "the customer's leaf is read and then changed, and other pages are fixed in between"),)),
    depth_experiment(
        14, "LRU stack depth for one user and for all", "users",
        (Run("trace depth", {"users": [1, "all"], "fixes-per-user": 100_000, "size": SIZES},
             quick={"fixes-per-user": 10_000}, record=RECORD),),
        (Statement("From 125 pages on, the hit ratio is similar for one user and for 60 (within 5 points).",
                   similar_from_125, "in total many users have more references to pages that all of them use than one has"),
         Statement("With many users correlated references need more pages.", knee_moves,
                   "users that follow one another share the upper pages of the trees"))),
]

EXPERIMENTS = [TABLE_3_3, FIG_3_5, FIG_3_6, *FIGURES]
