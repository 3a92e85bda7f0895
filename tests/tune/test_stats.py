"""Differences that are real and differences that are not."""
import random
import unittest
import xml.dom.minidom

from tune import plot, report, stats, values
from tune.session import Trial


def trial(title, reference, times):
    t = Trial(title, list(times), reference)
    t.times = times
    t.compare()
    return t


class SignedRank(unittest.TestCase):
    def test_exact_chances(self):
        """As in printed tables of the test."""
        self.assertEqual(stats.chance([1, 2, 3, 4, 5]), 2 / 32)
        self.assertEqual(stats.chance([1, 2, 3, 4, 5, 6]), 2 / 64)
        self.assertEqual(stats.chance([-1, 2, 3, 4, 5, 6]), 4 / 64)
        # n = 10: a sum of 8 is significant at 5 %, one of 9 is not
        self.assertLess(stats.chance([1, 2, 3, 4, 5, 6, 7, -8, 9, 10]), 0.05)
        self.assertGreater(stats.chance([1, 2, 3, 4, 5, 6, 7, 8, -9, 10]),
                           0.05)

    def test_no_difference(self):
        self.assertEqual(stats.chance([0.0] * 10), 1)
        self.assertEqual(stats.chance([1, -1] * 5), 1)

    def test_interval_agrees_with_the_test(self):
        rng = random.Random(1)
        for _ in range(300):
            d = [rng.gauss(0.7, 1) for _ in range(rng.randint(1, 12))]
            bounds = stats.interval(d)
            leaves_out_0 = bounds is not None and \
                not bounds[0] <= 0 <= bounds[1]
            self.assertEqual(leaves_out_0, stats.chance(d) <= stats.LEVEL)

    def test_alarms_are_rare(self):
        rng = random.Random(2)
        alarms = sum(stats.chance([rng.gauss(0, 1) for _ in range(10)])
                     <= stats.LEVEL for _ in range(1000))
        self.assertLess(alarms, 80)

    def test_rounds_needed(self):
        self.assertEqual(stats.rounds_needed(1), 6)
        self.assertEqual(stats.rounds_needed(4), 8)
        self.assertIsNone(stats.interval([1] * 5))

    def test_holm(self):
        self.assertEqual(stats.holm([0.01, 0.5, 0.02]), [0.03, 0.5, 0.04])


class Verdicts(unittest.TestCase):
    NOW = dict(values.DEFAULTS)

    def verdict(self, found, confirmed):
        """found: times of 4k and 64k; confirmed: those of now and found."""
        t = trial(values.BLOCK, '64k', dict(zip(['4k', '64k'], found)))
        best = {**self.NOW, values.BLOCK: t.best()}
        c = confirmed and trial('confirmation', 'now',
                                dict(zip(['now', 'found'], confirmed)))
        return report.verdict([t], c, best, self.NOW, [values.BLOCK])

    def steady(self, *times, rounds=6):
        """A little different in each round, together."""
        return [[x * (1 + r / 100) + r * i / 1e6 for r in range(rounds)]
                for i, x in enumerate(times)]

    def test_faster(self):
        text, new = self.verdict(self.steady(1, 2), self.steady(2, 1))
        self.assertEqual(new, {values.BLOCK: '4k'})
        self.assertIn('2.00 times', text)
        self.assertIn('95 % confidence', text)

    def test_luck(self):
        text, new = self.verdict(self.steady(1, 2), self.steady(1, 1.2))
        self.assertEqual(new, {})
        self.assertIn('did not win again', text)

    def test_slower(self):
        text, new = self.verdict(self.steady(2, 1), None)
        self.assertEqual(new, {})
        self.assertIn('No value is better.  Keep the default', text)

    def test_no_difference(self):
        a, _ = self.steady(1, 1)
        text, new = self.verdict((a, [a[1], a[0], a[3], a[2], a[5], a[4]]),
                                 None)
        self.assertEqual(new, {})
        self.assertIn('No real difference', text)

    def test_sure_but_not_worth_it(self):
        _, new = self.verdict(self.steady(1, 1.01), None)
        self.assertEqual(new, {})

    def test_too_few_rounds(self):
        text, new = self.verdict(self.steady(1, 2, rounds=2), None)
        self.assertEqual(new, {})
        self.assertIn('No verdict, that takes 6 rounds', text)

    def test_smallest_of_the_fastest(self):
        t = trial('x', '1', dict(zip('1234', self.steady(
            3, 1.01, 1, 1, rounds=8))))
        self.assertEqual(t.best(), '2')

    def test_fastest_though_less_sure(self):
        sure, now = self.steady(1.2, 2, rounds=8)
        shaky = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 20.0]
        t = trial('x', '1', {'1': now, '2': sure, '3': shaky})
        self.assertFalse(t.comparisons['3'].is_real())
        self.assertEqual(t.best(), '3')

    def test_plot(self):
        t = trial('<x>', '1', dict(zip('12', self.steady(3, 1))))
        svg = plot.svg('GET /?a&b', [t, t])
        xml.dom.minidom.parseString(svg)
        self.assertEqual(svg.count('<circle'), 12)


class Values(unittest.TestCase):
    def test_numbers(self):
        self.assertEqual(values.number('64k'), 65536)
        for bad in ('', 'k', '-1', '1.5k', '1 k', '1K'):
            self.assertIsNone(values.number(bad), bad)

    def test_candidates(self):
        now = {**values.DEFAULTS, values.BLOCK: '65536', values.SIZE: '16m'}
        self.assertEqual(values.candidates(values.BLOCK, ['1m', '4k'], now),
                         ['4k', '65536', '1m'])
        # 64 chunks and more of 16m would be refused
        self.assertEqual(values.candidates(values.CHUNKS, None, now),
                         ['0', '4', '16'])
