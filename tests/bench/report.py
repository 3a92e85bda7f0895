"""Where results go: progress, a markdown table, CSV, plots."""
import csv
import datetime
import os
import platform
import subprocess
import sys
import time

from servers import OUT

FOLDER = os.path.join(OUT, 'bench')


def machine():
    """The line that belongs above each table."""
    model = platform.machine()
    with open('/proc/cpuinfo') as f:
        for line in f:
            if line.startswith('model name'):
                model = line.split(':', 1)[1].strip()
                break
    return '%s, %d cores; Linux %s; Python %s; %s' % (
        model, len(os.sched_getaffinity(0)), platform.release(),
        debian_python(), datetime.date.today().isoformat())


def debian_python():
    said = subprocess.run(['/usr/bin/python3', '-V'], capture_output=True,
                          text=True, check=True)
    return said.stdout.split()[1]


def table(head, rows):
    """Markdown that can be read as it is: columns in line."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(r[i]) for r in [head] + rows) for i in range(len(head))]

    def line(cells):
        first = cells[0].ljust(widths[0])
        return '| %s |' % ' | '.join(
            [first] + [c.rjust(w) for c, w in zip(cells[1:], widths[1:])])
    rule = '|%s|' % '|'.join(
        [':' + '-' * (widths[0] + 1)] + ['-' * (w + 1) + ':'
                                         for w in widths[1:]])
    return '\n'.join([line(head), rule] + [line(r) for r in rows])


class Report:
    """Everything one script leaves in build/bench, under one name."""

    def __init__(self, name):
        os.makedirs(FOLDER, exist_ok=True)
        self.name, self.text = name, []
        self.began = time.monotonic()
        self.csv = None

    def path(self, ending):
        return os.path.join(FOLDER, self.name + ending)

    def elapsed(self):
        return time.monotonic() - self.began

    def progress(self, text):
        print('%4.0f s  %s' % (self.elapsed(), text), file=sys.stderr,
              flush=True)

    def note(self, **what):
        """A row of the CSV: one measurement, on disk at once."""
        if self.csv is None:
            self.file = open(self.path('.csv'), 'w', buffering=1, newline='')
            self.csv = csv.DictWriter(self.file, list(what))
            self.csv.writeheader()
        self.csv.writerow(what)

    def say(self, text):
        """A paragraph or table of the result."""
        print(text + '\n', flush=True)
        self.text.append(text)

    def write(self):
        with open(self.path('.md'), 'w') as f:
            f.write('\n\n'.join(self.text) + '\n')
        self.progress('written: %s.md, .csv and .svg' % self.path(''))

    # ---- plots ----

    def plot(self, ending, title, data, commands):
        """commands, for gnuplot, find the rows of `data` in $data."""
        block = '\n'.join('\t'.join(str(c) for c in row) for row in data)
        script = PREAMBLE % {
            'path': self.path(ending + '.svg'), 'title': title,
            'data': block} + commands + '\n'
        subprocess.run(['gnuplot'], input=script, text=True, check=True)

    def plot_lines(self, ending, title, x_label, y_label, x, lines, more=''):
        """lines: {name: [y or None, ...]}, over x, both logarithmic."""
        rows = [[a] + [missing(y[i]) for y in lines.values()]
                for i, a in enumerate(x)]
        drawn = ', '.join(
            '$data using 1:%d with linespoints lw 2 title "%s"' % (i + 2, n)
            for i, n in enumerate(lines))
        self.plot(ending, title, rows, '''
set xlabel "%s"
set ylabel "%s"
set logscale xy
set format x "%%.0s%%c"
%s
plot %s''' % (x_label, y_label, more, drawn))

    def plot_bars(self, ending, title, y_label, groups, bars, more=''):
        """bars: {name: [y or None for each of groups]}."""
        rows = [['"%s"' % g] + [missing(y[i]) for y in bars.values()]
                for i, g in enumerate(groups)]
        drawn = ', '.join(
            '$data using %d:xtic(1) title "%s"' % (i + 2, n)
            for i, n in enumerate(bars))
        self.plot(ending, title, rows, '''
set style data histogram
set style histogram clustered gap 1
set style fill solid 0.8
set boxwidth 0.9
set xtics rotate by -20
set yrange [0:*]
set ylabel "%s"
%s
plot %s''' % (y_label, more, drawn))


def missing(y):
    return 'NaN' if y is None else y


PREAMBLE = '''
set terminal svg size 960,540 background "white" font "sans,13"
set output "%(path)s"
set title "%(title)s" noenhanced
set key outside noenhanced
set grid y
set datafile missing "NaN"
set xtics noenhanced
$data << END
%(data)s
END
'''
