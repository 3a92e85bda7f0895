"""The keys that can be tuned, and what their values mean."""
import re

UNITS = {'': 1, 'k': 1 << 10, 'm': 1 << 20, 'g': 1 << 30}

BLOCK = 'input-block-size'
CHUNKS = 'outgoing-body-buffer-chunks'
SIZE = 'outgoing-body-chunk-size'

# What the server takes where the file says nothing, as narwhal.ini(5) has it.
DEFAULTS = {BLOCK: '64k', CHUNKS: '16', SIZE: '64k'}

# What is tried if the user names no values.
TRIED = {
    BLOCK: ['4k', '16k', '64k', '256k', '1m'],
    CHUNKS: ['0', '4', '16', '64', '256'],
    SIZE: ['16k', '64k', '256k', '1m'],
}

# The server refuses more than this for a response.
MOST_WAITING = 256 << 20


def number(text):
    """The number that a size or a count stands for; None if it is neither."""
    match = re.fullmatch(r'([0-9]+)([kmg]?)', text)
    return int(match.group(1)) * UNITS[match.group(2)] if match else None


def fits(settings):
    """May these be in force together?"""
    return number(settings[CHUNKS]) * number(settings[SIZE]) <= MOST_WAITING


def candidates(key, chosen, settings):
    """The values to compare, in order: those chosen, or what fits of ours.

    The one in force is always among them, as it is written in the file.
    """
    now = settings[key]
    tried = chosen or [v for v in TRIED[key] + [DEFAULTS[key]]
                       if fits({**settings, key: v})]
    by_number = {number(v): v for v in tried}
    by_number[number(now)] = now
    return [by_number[n] for n in sorted(by_number)]
