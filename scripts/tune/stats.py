"""Is a difference real?  The signed-rank test of Wilcoxon, exactly.

Values that were measured in the same round belong together, so what is judged
is how they differ round by round: no assumption of how times are spread, and
a round that the machine spoilt counts as one.  Estimate and interval are those
that belong to the test (Hodges and Lehmann): the interval leaves out 1 if, and
only if, the test finds a difference.
"""
import math
import statistics

LEVEL = 0.05            # 95 % confidence
WORTH = 1.02            # a smaller gain is none, however sure


def median(values):
    return statistics.median(values)


def rank_sums(n):
    """How many of the 2^n ways to sign the ranks 1..n have each sum."""
    ways = [1]
    for rank in range(1, n + 1):
        longer = ways + [0] * rank
        for i, w in enumerate(ways):
            longer[i + rank] += w
        ways = longer
    return ways


def at_most(n, limit):
    """The chance of a sum of at most `limit` if there is no difference."""
    return sum(rank_sums(n)[:limit + 1]) / 2 ** n if limit >= 0 else 0.0


def means_of_pairs(differences):
    d = sorted(differences)
    return sorted((a + b) / 2 for i, a in enumerate(d) for b in d[i:])


def chance(differences):
    """Of such a difference, in either direction, if there is none."""
    means = means_of_pairs(differences)
    above = sum(m > 0 for m in means)
    below = sum(m < 0 for m in means)
    ties = len(means) - above - below
    return min(1.0, 2 * at_most(len(differences), min(above, below) + ties))


def interval(differences, level=LEVEL):
    """(low, high), or None if so few can show nothing."""
    means, n = means_of_pairs(differences), len(differences)
    k = 0
    while 2 * at_most(n, k) <= level:
        k += 1
    return (means[k - 1], means[-k]) if k else None


def rounds_needed(comparisons):
    """Fewer can show nothing, were all of them to say the same."""
    n = 1
    while 2 * comparisons / 2 ** n > LEVEL:
        n += 1
    return n


def holm(chances):
    """Chances corrected for that many were looked at."""
    order = sorted(range(len(chances)), key=chances.__getitem__)
    corrected, worst = [0.0] * len(chances), 0.0
    for done, i in enumerate(order):
        worst = max(worst, chances[i] * (len(chances) - done))
        corrected[i] = min(1.0, worst)
    return corrected


class Comparison:
    """How many times as fast as the reference: times of the same rounds."""

    def __init__(self, reference, times):
        d = [math.log(a / b) for a, b in zip(reference, times)]
        self.rounds = len(d)
        self.ratio = math.exp(median(means_of_pairs(d)))
        bounds = interval(d)
        self.low, self.high = map(math.exp, bounds) if bounds else (None, None)
        self.chance = chance(d)

    def is_real(self):
        return self.chance <= LEVEL

    def is_worth_it(self):
        return self.is_real() and self.ratio >= WORTH

    def verdict(self):
        if self.low is None:
            return 'too few rounds'
        if not self.is_real():
            return 'no real difference'
        return 'faster' if self.ratio > 1 else 'slower'


def compare(reference, others):
    """Comparisons with one reference, corrected for their number."""
    found = [Comparison(reference, times) for times in others]
    for c, chance_ in zip(found, holm([c.chance for c in found])):
        c.chance = chance_
    return found
