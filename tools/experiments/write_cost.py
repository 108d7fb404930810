"""The write cost model of Wang's thesis, chapter 6, for curves that `latchkey model` does not print.

Letters: u_d = live pages over slots, u = utilization of victims, eta = segment I/O efficiency, h = proportion of
hot pages, w = their proportion of the writes.
"""

import math

from region_model import knuth

HILL = "Hill(105,0.528,0.546)"


def hill(share, most=105, k=0.528, n=0.546):
    """The proportion of updates to the hottest `share` of the pages, as printed: it passes 1 near the end."""
    power = (100 * share) ** n
    return most * power / (k + power) / 100


def hot_writes(distribution, share):
    """w(h) of "uniform", "Knuth(a,b)" or HILL, at most 1."""
    if distribution == "uniform":
        return share
    if distribution == HILL:
        return min(1.0, hill(share))
    return share ** knuth(distribution)


def victim_utilization(u_d):
    """u of (6.2): u_d = (u - 1) / ln u, by bisection."""
    low, high = 1e-12, 1 - 1e-12
    for _ in range(100):
        middle = (low + high) / 2
        if (middle - 1) / math.log(middle) < u_d:
            low = middle
        else:
            high = middle
    return low


def partition_utilization(u_d, hot):
    """(6.7), with u_d where the thesis prints u: all free pages are in the hot partition."""
    return u_d * hot / (1 - u_d + u_d * hot)


def hylog_cost(eta, u_d, hot, writes):
    """(6.8): the cold writes in place, the hot ones in a log."""
    if hot == 0:
        return eta
    return (1 - writes) * eta + 2 * writes / (1 - victim_utilization(partition_utilization(u_d, hot)))
