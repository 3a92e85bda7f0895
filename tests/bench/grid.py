"""One running server, a key set to one value after the other by SIGHUP.

What is measured at each value is measured for several sizes, in rounds that
go through the values forwards and backwards; figures of a round are compared
with those of the same round.
"""
import os

from stats import figure, median, ratios, spread

TICK = os.sysconf('SC_CLK_TCK')


class Grid:
    """results[value, size]: a list of Cells, one of each round."""

    def __init__(self, server, section, key, values, sizes):
        self.server, self.section, self.key = server, section, key
        self.values, self.sizes = values, sizes
        self.results = {}

    def run(self, out, rounds, drive):
        """drive(server, size) is load.drive with what this work needs."""
        for r in range(rounds):
            for value in self.values[::-1 if r % 2 else 1]:
                self.server.reload(self.section, **{self.key: value})
                for size in self.sizes:
                    self.run_cell(out, r, value, size, drive)
                out.progress('round %d of %d: %s = %s' % (
                    r + 1, rounds, self.key.replace('_', '-'), value))

    def run_cell(self, out, r, value, size, drive):
        pid = self.server.worker()
        before = account(pid)
        done = drive(self.server, size)
        cell = Cell(done, before, account(pid))
        self.results.setdefault((value, size), []).append(cell)
        out.note(**{self.key.replace('_', '-'): value}, size=size, round=r + 1,
                 **cell.figures())

    def rates(self, value, size):
        return [c.rate for c in self.results[value, size]]

    def gains(self, value, size):
        """Against the first value, round by round."""
        return ratios(self.rates(value, size),
                      self.rates(self.values[0], size))

    def verdict(self, size, name):
        """What the key does for this size, in words."""
        best = max(self.values, key=lambda v: median(self.gains(v, size)))
        gain = self.gains(best, size)
        if median(gain) < 1.02 or median(gain) * (1 - spread(gain)) < 1:
            return 'no value is faster than %s beyond the noise' % name(
                self.values[0])
        enough = next(v for v in self.values if
                      median(self.gains(v, size)) > 0.95 * median(gain))
        text = 'fastest at %s, %sx' % (name(best), figure(median(gain)))
        if enough != best:
            text += '; %s is within 5 %% of that' % name(enough)
        return text


class Cell:
    """A measurement, and what it took of the worker's time, per request."""

    def __init__(self, done, before, after):
        counted = done['requests'] + done['warm_up']
        user, system, faults, switches = (
            (b - a) / counted for a, b in zip(before, after))
        self.rate = done['rate']
        self.wall = done['seconds'] / done['requests']
        self.user, self.system = user, system
        self.faults, self.switches = faults, switches

    def figures(self):
        return {k: '%.6g' % v for k, v in vars(self).items()}


def account(pid):
    """Seconds of user and system time, page faults, times it went to sleep."""
    with open('/proc/%d/stat' % pid) as f:
        fields = f.read().rpartition(')')[2].split()
    with open('/proc/%d/status' % pid) as f:
        switches = next(line.split()[1] for line in f
                        if line.startswith('voluntary_ctxt_switches'))
    return (int(fields[11]) / TICK, int(fields[12]) / TICK, int(fields[7]),
            int(switches))


def mean(cells, name):
    """For what is counted coarsely: ticks, faults, switches."""
    return sum(getattr(c, name) for c in cells) / len(cells)
