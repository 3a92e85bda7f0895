"""What the user reads: progress on stderr, tables and a verdict on stdout."""
import sys
import time

from tune import stats, values


class Out:
    """Progress must not fail: the terminal may be gone when we clean up."""

    def __init__(self):
        self.began = time.monotonic()
        self.live = sys.stderr.isatty()
        self.shown = 0          # columns of the line that is overwritten

    def write(self, text):
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError):
            pass

    def clear(self):
        if self.shown:
            self.write('\r%s\r' % (' ' * self.shown))
            self.shown = 0

    def step(self, text):
        """One of many; a terminal shows the last one only."""
        text = '%4.0f s  %s' % (time.monotonic() - self.began, text)
        if not self.live:
            self.write(text + '\n')
            return
        self.clear()
        self.write(text)
        self.shown = len(text)

    def note(self, text):
        self.clear()
        self.write('narwhal-tune: %s\n' % text)

    @staticmethod
    def duration(seconds):
        for unit, factor in (('s', 1), ('ms', 1e3)):
            if seconds * factor >= 1:
                return '%.3g %s' % (seconds * factor, unit)
        return '%.3g us' % (seconds * 1e6)


def interval(c):
    if c.low is None:
        return ''
    return '%.2f to %.2f' % (c.low, c.high)


def table(head, rows):
    widths = [max(len(r[i]) for r in [head] + rows) for i in range(len(head))]
    return '\n'.join('  '.join(
        [cell.rjust(w) for cell, w in zip(row[:-1], widths)] + [row[-1]]
    ).rstrip() for row in [head] + rows)


def trial_table(trial, bytes_moved):
    rows = []
    for name in trial.names:
        taken = stats.median(trial.times[name])
        c = trial.comparisons.get(name)
        rows.append([name, Out.duration(taken),
                     '%.3g' % (bytes_moved / taken / 1e6)] + (
            ['%.2f' % c.ratio, interval(c), '%.3f' % c.chance, c.verdict()]
            if c else ['1', '', '', 'reference']))
    return '%s\n%s' % (trial.title, table(
        ['value', 'time', 'MB/s', 'speed', '95 % sure', 'p', ''], rows))


def settings_lines(settings):
    return '\n'.join('\t%s = %s' % item for item in settings.items())


RECOMMENDED = '''Recommended:
%s
A request is %.2f times as fast with it, %s with 95 %% confidence
(%d rounds side by side after the search, signed-rank test, p = %.3f).'''

LUCK = '''
(The best of several always looks a little better than it is.)'''


def keep(now, tried, why):
    kept = {k: now[k] for k in tried}
    are_defaults = all(values.number(v) == values.number(values.DEFAULTS[k])
                       for k, v in kept.items())
    return '%s.  Keep %s:\n%s' % (
        why, 'the default' if are_defaults else 'what is in force',
        settings_lines(kept))


def why_keep(trials):
    rounds = len(trials[0].times[trials[0].reference])
    needed = max(stats.rounds_needed(len(t.names) - 1) for t in trials)
    if rounds < needed:
        return 'No verdict, that takes %d rounds' % needed
    if any(c.is_real() for t in trials for c in t.comparisons.values()):
        return 'No value is better'
    return 'No real difference'


def verdict(trials, confirmation, best, now, tried):
    """(text, the settings to change: none if it is better to keep them)."""
    new = {k: v for k, v in best.items() if v != now[k]}
    if not new:
        return keep(now, tried, why_keep(trials)), {}
    c = confirmation.comparisons['found']
    if not c.is_worth_it():
        return keep(now, tried, 'No real difference: what the search found '
                    'did not win again') + LUCK, {}
    return RECOMMENDED % (settings_lines(new), c.ratio, interval(c), c.rounds,
                          c.chance), new
