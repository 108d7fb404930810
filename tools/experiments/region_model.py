"""The analytic model of the multi-region cache: equation (5.1) of Wang's thesis, drawn at random."""

import math
import random
import statistics

SKEWS = ("Knuth(40,20)", "Knuth(60,20)", "Knuth(80,20)")
CACHE_OF_DATA = 0.01
REGIONS = (10, 100, 1000)
HOT_PAGES = 2000  # drawn one by one; the rest spreads as its mean


def miss(proportion):
    """The miss ratio of a cache of so much of its data (production workloads, thesis page 106)."""
    return 0.102 * (100 * proportion + 0.208) ** -0.511


def knuth(skewness):
    """The exponent theta of Knuth(a, b): a % of the references go to b % of the pages."""
    a, b = skewness[len("Knuth("):-1].split(",")
    return math.log(float(a) / 100) / math.log(float(b) / 100)


def hot_shares(theta, pages):
    """The shares of references of the most popular pages."""
    count = min(HOT_PAGES, pages)
    return [(rank ** theta - (rank - 1) ** theta) / pages ** theta for rank in range(1, count + 1)]


def pages_of_regions(generator, pages, regions):
    """How many pages each region gets: a binomial number, by its normal approximation."""
    mean, deviation = pages / regions, math.sqrt(pages / regions * (1 - 1 / regions))
    return [max(1.0, generator.gauss(mean, deviation)) for _ in range(regions)]


def joint_shares(generator, shares, regions):
    """Every page goes to one region: the shares sum to 1."""
    found = [(1 - sum(shares)) / regions] * regions
    for share in shares:
        found[generator.randrange(regions)] += share
    return found


def independent_shares(generator, shares, regions):
    """Every region by itself gets each page with probability 1/regions: the shares need not sum to 1."""
    found = [(1 - sum(shares)) / regions] * regions
    scale = math.log(1 - 1 / regions)
    for region in range(regions):
        at = int(math.log(1 - generator.random()) / scale)
        while at < len(shares):
            found[region] += shares[at]
            at += 1 + int(math.log(1 - generator.random()) / scale)
    return found


def miss_ratio_distribution(pages, draws):
    """Rows of mean and standard deviation: one region, then for each model, skewness, number of regions."""
    common = {"pages": pages, "draws": draws}
    rows = [{"model": "one region", "skewness": "any", "regions": 1, "mean": miss(CACHE_OF_DATA), "deviation": 0.0,
             **common}]
    for model, shares_of in (("as printed", independent_shares), ("joint", joint_shares)):
        for skewness in SKEWS:
            shares = hot_shares(knuth(skewness), pages)
            for regions in REGIONS:
                generator = random.Random(f"{model} {skewness} {regions}")
                found = [one_draw(generator, pages, regions, shares, shares_of) for _ in range(draws)]
                rows.append({"model": model, "skewness": skewness, "regions": regions, "mean": statistics.fmean(found),
                             "deviation": statistics.stdev(found), **common})
    return rows


def one_draw(generator, pages, regions, shares, shares_of):
    """The overall miss ratio of one cache: the sum of L_i * miss(C / (n * D_i))."""
    cache = CACHE_OF_DATA * pages
    sizes = pages_of_regions(generator, pages, regions)
    return sum(share * miss(cache / (regions * size))
               for share, size in zip(shares_of(generator, shares, regions), sizes))
