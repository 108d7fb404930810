"""NURand of TPC-C (clause 2.1.6) without drawing: the exact probability of every value.

NURand(A, x, y) = (((random(0, A) | random(x, y)) + C) % (y - x + 1)) + x. C only shifts the values.
"""


def subset_sums(numbers, sign):
    """In place: of each index, the sum over the indexes whose bits are a subset; sign -1 undoes it."""
    bit = 1
    while bit < len(numbers):
        for index in range(len(numbers)):
            if index & bit:
                numbers[index] += sign * numbers[index ^ bit]
        bit <<= 1


def probabilities(mask, first, last):
    """Of each value of NURand(mask, first, last), in any order; mask + 1 is a power of two."""
    size, count = mask + 1, last - first + 1
    ways = [0] * count
    for high in range(first // size, last // size + 1):
        low = [1 if first <= high * size + bits <= last else 0 for bits in range(size)]
        subset_sums(low, +1)
        both = [own << bin(bits).count("1") for bits, own in enumerate(low)]  # times the subsets of `bits`
        subset_sums(both, -1)
        for bits, own in enumerate(both):
            ways[(high * size + bits - first) % count] += own
    return [own / (size * count) for own in ways]


def share_of_hottest(weights, share):
    """The share of the sum that the heaviest `share` of the weights have."""
    ordered = sorted(weights, reverse=True)
    return sum(ordered[:round(share * len(ordered))]) / sum(ordered)


def needed_for(weights, share):
    """The smallest share of the weights that has `share` of their sum."""
    left = share * sum(weights)
    for index, weight in enumerate(sorted(weights, reverse=True)):
        if left <= weight:
            return (index + left / weight) / len(weights)
        left -= weight
    return 1.0
