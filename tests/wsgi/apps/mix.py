"""The requests of the soak test, and what the worker has grown by."""
import gc
import io
import json
import os
import sys
import tempfile
import weakref
from collections import deque

TEXT = [('Content-Type', 'text/plain')]
FILE = tempfile.TemporaryFile()
FILE.write(b'file' * 5000)
alive = deque(maxlen=1000)      # weak references to what requests had


class Thing:
    """Can be referred to weakly, which a dict or a list cannot."""

    def __init__(self, parts=()):
        self.parts = parts

    def __iter__(self):
        return iter(self.parts)


def remember(e):
    e['x.thing'] = thing = Thing()
    alive.append(weakref.ref(thing))


def report(e, sr):
    gc.collect()
    with open('/proc/self/statm') as f:
        rss = int(f.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')
    dead = all(ref() is None for ref in alive)
    alive.clear()
    doc = {
        'pid': os.getpid(), 'rss': rss, 'objects': len(gc.get_objects()),
        'dead': dead, 'fds': len(os.listdir('/proc/self/fd')),
        'total': getattr(sys, 'gettotalrefcount', lambda: 0)(),
        'counts': {repr(o): sys.getrefcount(o) for o in (
            None, True, False, 0, 1, 200, b'', '', 'GET', 'HTTP_HOST',
            'PATH_INFO', 'REQUEST_METHOD', 'wsgi.input', 'HTTP/1.1', (), bytes,
            dict, OSError, e['wsgi.file_wrapper'], e['wsgi.errors'])},
    }
    out = json.dumps(doc).encode()
    sr('200 OK', TEXT + [('Content-Length', str(len(out)))])
    return [out]


def empty(e, sr):
    sr('200 OK', TEXT)
    return [b'', b'', b'x', b'']


def generator(e, sr):
    sr('200 OK', TEXT)
    for i in range(5):
        yield b'part %d' % i


def large(e, sr):
    sr('200 OK', TEXT)
    return Thing([b'x' * 100000, b'y' * 5000, b'z'])


def early(e, sr):
    raise ValueError('early')


def late(e, sr):
    sr('200 OK', TEXT)
    raise ValueError('late')


def half(e, sr):
    sr('200 OK', TEXT)
    yield b'half'
    raise ValueError('half')


def again(e, sr):
    sr('200 OK', TEXT)
    try:
        raise KeyError('again')
    except KeyError:
        sr('500 Again', TEXT, sys.exc_info())
    return [b'again']


def again_late(e, sr):
    sr('200 OK', TEXT)
    yield b'x'
    try:
        raise KeyError('again')
    except KeyError:
        sr('500 Again', TEXT, sys.exc_info())


def bad_headers(e, sr):
    for headers in ([('A', 1)], [('A\n', 'b')], [('Connection', 'close')],
                    (), [('A', '\u20ac')]):
        try:
            sr('200 OK', headers)
        except (TypeError, ValueError):
            pass
    sr('200 OK', [(b'A', 'b')])
    return []


def bad_item(e, sr):
    sr('200 OK', TEXT)
    return ['text']


def wrapped(e, sr):
    FILE.seek(100)
    sr('200 OK', TEXT)
    return e['wsgi.file_wrapper'](FILE)


def wrapped_memory(e, sr):
    sr('200 OK', TEXT)
    return e['wsgi.file_wrapper'](io.BytesIO(b'm' * 20000))


def gone(e, sr):
    sr('200 OK', TEXT)
    for _ in range(400):
        yield b'x' * 65536


def unread(e, sr):
    sr('200 OK', TEXT)
    return [b'unread']


def read(e, sr):
    i = e['wsgi.input']
    n = len(i.read(10)) + len(i.readline()) + len(i.read())
    sr('200 OK', TEXT)
    return [str(n).encode()]


def lines(e, sr):
    sr('200 OK', TEXT)
    return list(e['wsgi.input'])


def broken(e, sr):
    try:
        e['wsgi.input'].read()
    except OSError:
        sr('200 OK', TEXT)
        return []
    raise AssertionError('it was whole')


def broken_uncaught(e, sr):
    list(e['wsgi.input'])
    raise AssertionError('it was whole')


def writes(e, sr):
    write = sr('200 OK', TEXT)
    write(b'a' * 5000)
    try:
        write('text')
    except TypeError:
        pass
    return [b'b']


def extras(e, sr):
    e['wsgi.early_hints']([('Link', '</a>')])
    e['wsgi.input'].read()
    sr('200 OK', TEXT)
    for name, value in e['narwhal.trailers']():
        e['narwhal.add_trailer'](name, value)
    return [b'extras']


def keeps(e, sr):
    """The objects of this request outlive it by one."""
    keeps.last = e, sr
    sr('200 OK', TEXT)
    return (b'kept',)


def app(e, sr):
    name = e['PATH_INFO'][1:]
    if name != 'keeps':
        keeps.last = None
    if name not in ('keeps', 'report'):
        remember(e)
    return globals()[name](e, sr)
