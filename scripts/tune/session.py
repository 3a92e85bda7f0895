"""The search: one key after the other, then the outcome against today's.

Every measurement has workers of its own, fresh from a reload.  Values take
turns, so that a noisy minute falls on all of them.  What the search finds best
may have been lucky; so it has to win again, in rounds of its own, and only
those are reported as its gain.
"""
import time

from tune import ini, stats, values
from tune.stop import Failed

SECTION = 'buffers'
LEAST = 3               # requests that make a measurement


class Trial:
    """Times of several settings in the same rounds."""

    def __init__(self, title, names, reference):
        """names, in order; reference is one of them."""
        self.title, self.names, self.reference = title, names, reference
        self.times = {name: [] for name in names}

    def compare(self):
        others = [n for n in self.names if n != self.reference]
        self.comparisons = dict(zip(others, stats.compare(
            self.times[self.reference], [self.times[n] for n in others])))

    def best(self):
        """The smallest of those about as fast as the fastest.

        Unless one is certainly faster, that is the reference.  Which of them
        to take needs no certainty: what is taken has to win once more.
        """
        if not any(c.is_worth_it() for c in self.comparisons.values()):
            return self.reference
        ratios = {n: c.ratio for n, c in self.comparisons.items()}
        least = max(ratios.values()) / stats.WORTH
        return next(n for n in self.names if ratios.get(n, 1) >= least)


def in_turn(names, r):
    """
    The order of round r.  Over two rounds for each name every name has had
    every place equally often, and the first half of a pair is as often second.
    """
    turn = r // 2 % len(names)
    order = names[turn:] + names[:turn]
    return order[::-1] if r % 2 else order


class Session:
    """now: what is in force today for every key; settings are like it."""

    def __init__(self, server, held, client, request, now, out):
        self.server, self.held = server, held
        self.client, self.request = client, request
        self.now, self.out = now, out
        self.loaded = False     # has the server seen a file of ours?
        self.visits = self.planned = 0
        self.began = time.monotonic()

    # ---- one measurement ----

    def put_in_force(self, settings):
        """Only what differs from today's is written."""
        new = {k: v for k, v in settings.items() if v != self.now[k]}
        self.held.put(ini.changed(self.held.original, SECTION, new))
        self.loaded = True
        for remark in self.server.reload():
            for key in new:
                if ': %s: overridden by ' % key in remark:
                    raise Failed("%s: the server's command line wins over "
                                 'the file' % remark)

    def measure(self, seconds):
        """The median time of a request, after some that do not count."""
        until = time.monotonic() + seconds / 4
        self.client.fetch(self.request)
        while time.monotonic() < until:
            self.client.fetch(self.request)
        times, until = [], time.monotonic() + seconds
        while len(times) < LEAST or time.monotonic() < until:
            times.append(self.client.fetch(self.request).seconds)
        return stats.median(times)

    # ---- rounds ----

    def run(self, trial, settings_of, rounds, seconds):
        """Every name once a round, in the places of a round by turns."""
        for r in range(rounds):
            for name in in_turn(trial.names, r):
                self.put_in_force(settings_of[name])
                taken = self.measure(seconds)
                self.server.check_calm()
                trial.times[name].append(taken)
                self.visits += 1
                self.out.step('%s: round %d of %d: %s takes %s%s' % (
                    trial.title, r + 1, rounds, name,
                    self.out.duration(taken), self.left()))
        trial.compare()
        return trial

    def plan(self, tried, rounds):
        self.planned = rounds * (2 + sum(
            len(values.candidates(key, chosen, self.now))
            for key, chosen in tried.items()))

    def left(self):
        each = (time.monotonic() - self.began) / self.visits
        seconds = each * (self.planned - self.visits)
        if seconds >= 100:
            return '; at most %.0f min left' % (seconds / 60)
        return '; at most %.0f s left' % seconds

    def search(self, tried, rounds, seconds):
        """tried: {key: values or None}.  (trials, settings that won)."""
        best, trials = dict(self.now), []
        for key, chosen in tried.items():
            names = values.candidates(key, chosen, best)
            if len(names) < 2:
                raise Failed('%s: there is nothing to compare %s with'
                             % (key, names[0]))
            settings_of = {n: {**best, key: n} for n in names}
            trial = self.run(Trial(key, names, best[key]), settings_of,
                             rounds, seconds)
            best[key] = trial.best()
            trials.append(trial)
        return trials, best

    def confirm(self, best, rounds, seconds):
        """In force today against what the search has found."""
        self.planned = self.visits + 2 * rounds
        return self.run(Trial('confirmation', ['now', 'found'], 'now'),
                        {'now': self.now, 'found': best}, rounds, seconds)
