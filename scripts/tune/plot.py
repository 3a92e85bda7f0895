"""The trials as an SVG: a panel each, a dot for each round."""
import itertools
import math
from html import escape

WIDTH, HEIGHT, PANEL = 260, 300, 200    # of a panel; its plot is PANEL high
LEFT, TOP = 60, 50

HEAD = '''<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" \
font-family="sans-serif" font-size="12">
<rect width="100%%" height="100%%" fill="white"/>
<text x="%d" y="20" font-size="14">%s</text>'''


class Scale:
    """Speeds to heights, between round numbers."""

    def __init__(self, speeds):
        low, high = min(speeds + [1]), max(speeds + [1])
        self.step = next(s for s in steps() if high - low <= 5 * s)
        self.low = math.floor(low / self.step)
        self.high = math.ceil(high / self.step)
        if self.low == self.high:
            self.high += 1

    def y(self, speed):
        share = (speed / self.step - self.low) / (self.high - self.low)
        return TOP + PANEL * (1 - share)

    def marks(self):
        return [i * self.step for i in range(self.low, self.high + 1)]


def steps():
    for exponent in itertools.count(-2):
        for digit in (1, 2, 5):
            yield digit * 10.0 ** exponent


def speeds(trial, name):
    return [a / b for a, b in zip(trial.times[trial.reference],
                                  trial.times[name])]


def line(x1, y1, x2, y2, colour, width=1):
    return '<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" ' \
        'stroke-width="%g"/>' % (x1, y1, x2, y2, colour, width)


def text(x, y, what, anchor='middle'):
    return '<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>' % (
        x, y, anchor, escape(what))


def value(trial, name, x, scale):
    out = ['<circle cx="%.1f" cy="%.1f" r="2.5" fill="#88a"/>' % (
        x - 8, scale.y(s)) for s in speeds(trial, name)]
    c = trial.comparisons.get(name)
    if c is None:
        return []
    if c.low is not None:
        out.append(line(x, scale.y(c.low), x, scale.y(c.high), '#c40', 2))
    out.append(line(x - 6, scale.y(c.ratio), x + 6, scale.y(c.ratio),
                    '#c40', 3))
    return out


def panel(trial, left, scale):
    right = left + WIDTH - 30
    out = [text((left + right) / 2, TOP - 8, trial.title)]
    for mark in scale.marks():
        y = scale.y(mark)
        out += [line(left, y, right, y, '#ddd'),
                text(left - 6, y + 4, '%g' % round(mark, 2), 'end')]
    out.append(line(left, scale.y(1), right, scale.y(1), '#444'))
    for i, name in enumerate(trial.names):
        x = left + (right - left) * (i + 0.5) / len(trial.names)
        out += value(trial, name, x, scale)
        out.append(text(x, TOP + PANEL + 18, name))
    return out


def svg(title, trials):
    scale = Scale([s for t in trials for n in t.names
                   for s in speeds(t, n)])
    out = [HEAD % (LEFT + len(trials) * (WIDTH + 20), HEIGHT, 10,
                   escape(title))]
    for i, trial in enumerate(trials):
        out += panel(trial, LEFT + i * (WIDTH + 20), scale)
    out.append(text(LEFT, HEIGHT - 12, 'speed against the reference of the '
                    'panel; dots: rounds; bar: 95 % confidence', 'start'))
    return '\n'.join(out + ['</svg>\n'])
