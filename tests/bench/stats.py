"""Medians, their spread, and how figures are written."""
import statistics


def median(values):
    return statistics.median(values)


def spread(values):
    """Half the distance of the quartiles, as a share of the median."""
    if len(values) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(values, n=4, method='inclusive')
    return (high - low) / 2 / middle if middle else 0.0


def ratios(values, others):
    """Round by round: what was measured side by side belongs together."""
    return [a / b for a, b in zip(values, others)]


def figure(x):
    """Three digits: 98.7, 4.81 k, 1.20 M."""
    for limit, divisor, unit in ((1e6, 1e6, ' M'), (1e4, 1e3, ' k')):
        if abs(x) >= limit:
            return digits(x / divisor) + unit
    return digits(x)


def digits(x):
    return '%.0f' % x if abs(x) >= 100 else '%.3g' % x


def with_spread(values):
    if len(values) == 1:
        return figure(values[0])
    return '%s ±%.0f %%' % (figure(median(values)), 100 * spread(values))


def decimal(n):
    """1000 as 1 kB."""
    return scaled(n, 1000, ('B', 'kB', 'MB', 'GB'))


def binary(n):
    """1024 as 1 KiB."""
    return scaled(n, 1024, ('B', 'KiB', 'MiB', 'GiB'))


def scaled(n, base, units):
    for unit in units:
        if n < base or unit == units[-1]:
            return '%g %s' % (n, unit)
        n /= base
