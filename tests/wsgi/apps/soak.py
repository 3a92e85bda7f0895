"""What the clients of the soak ask; tests/apps/soak.c answers the same."""
import os
from urllib.parse import parse_qs

PERIOD = 251
RAMP = bytes(range(PERIOD)) * (2 + 65536 // PERIOD)


def numbers(e):
    query = parse_qs(e['QUERY_STRING'])
    return lambda name, otherwise: int(query.get(name, [otherwise])[0])


def piece(at, n):
    at %= PERIOD
    return RAMP[at:at + n]


def echo(e):
    return iter(lambda: e['wsgi.input'].read(10000), b'')


def count(e):
    n, bad, salt = 0, 0, numbers(e)('salt', 0)
    for block in iter(lambda: e['wsgi.input'].read(16384), b''):
        want = piece(n + salt, len(block))
        if block != want:
            bad += sum(a != b for a, b in zip(block, want))
        n += len(block)
    return [b'%d %d' % (n, bad)]


def stream(e):
    number = numbers(e)
    n, size, salt = number('n', 1000), number('size', 1000), number('salt', 0)
    size = min(size, 65536)
    for at in range(0, n, size):
        yield piece(at + salt, min(size, n - at))


def hello(e):
    return [e['QUERY_STRING'].encode()]


def app(e, sr):
    name = e['PATH_INFO'][1:]
    fields = [('X-Pid', str(os.getpid())),
              ('X-Turn', e['narwhal.options'].get('turn', '-'))]
    if name == 'stream' and numbers(e)('length', 0):
        fields.append(('Content-Length', str(numbers(e)('n', 1000))))
    sr('200 OK', fields)
    return {'echo': echo, 'count': count, 'stream': stream}.get(
        name, hello)(e)
