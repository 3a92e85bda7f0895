"""Applications of the tests, picked by the field X-App (echo without it).

`checked` is the same with wsgiref.validate round each of them.
"""
import io
import json
import os
import sys
import tempfile
import threading
import time
from wsgiref.validate import validator

TEXT = [('Content-Type', 'text/plain')]


def say(start_response, text):
    out = text if isinstance(text, bytes) else str(text).encode()
    start_response('200 OK', TEXT + [('Content-Length', str(len(out)))])
    return [out]


def echo(e, sr):
    """What the server understood, as JSON."""
    doc = {k: v for k, v in e.items() if isinstance(v, str)}
    doc['body'] = e['wsgi.input'].read(-1).hex()
    out = json.dumps(doc).encode('ascii')
    sr('200 OK', [('Content-Type', 'application/json'),
                  ('Content-Length', str(len(out)))])
    return [out]


def deaf(e, sr):
    return say(sr, 'ok\n')


# ---- environ ----

def types(e, sr):
    """Everything about environ that JSON cannot show."""
    strings = all(type(v) is str for k, v in e.items() if '.' not in k)
    return say(sr, json.dumps({
        'dict': type(e) is dict, 'keys': all(type(k) is str for k in e),
        'strings': strings, 'version': e['wsgi.version'] == (1, 0) and
        type(e['wsgi.version']) is tuple,
        'flags': [e['wsgi.multithread'], e['wsgi.multiprocess'],
                  e['wsgi.run_once'], e['wsgi.input_terminated']],
        'settings': e['narwhal.settings'], 'options': e['narwhal.options'],
    }))


class Token:
    pass


kept = {}


def keep(e, sr):
    """Spoil environ, and keep a weak and a strong part of it."""
    import weakref
    before = {k: repr(v) for k, v in e.items()
              if k in ('HTTP_X_ONCE', 'wsgi.url_scheme', 'spoilt')}
    e['token'] = token = Token()
    e['spoilt'] = 'yes'
    e['wsgi.url_scheme'] = 'gopher'
    alive = 'weak' in kept and kept['weak']() is not None
    kept['weak'] = weakref.ref(token)
    if e['PATH_INFO'] == '/strong':
        kept['environ'], kept['start'] = e, sr
    return say(sr, json.dumps([before, alive]))


def stale(e, sr):
    """What another request's leftovers do; /strong of `keep` comes first."""
    out = []
    old = kept.pop('environ')
    for call in (lambda: kept.pop('start')('200 OK', []),
                 lambda: old['wsgi.input'].read(),
                 lambda: old['wsgi.input'].readline(),
                 lambda: old['wsgi.early_hints']([]),
                 lambda: old['narwhal.add_trailer']('a', 'b'),
                 lambda: old['narwhal.trailers']()):
        try:
            out.append(repr(call()))
        except RuntimeError as error:
            out.append(str(error))
    return say(sr, json.dumps(out + [e['wsgi.input'].read().decode()]))


# ---- start_response ----

def lazy(e, sr):
    sr('200 OK', TEXT)
    return iter([b'payload']) if e['PATH_INFO'] == '/lazy' else []


def bodiless(e, sr):
    sr({'/a': '204 No Content', '/b': '304 Not Modified'}.get(
        e['PATH_INFO'], '200 OK'),
        [('Content-Length', '5')] if e['QUERY_STRING'] else [])
    return Parts([b'hello'])


def too_much(e, sr):
    sr('200 OK', TEXT + [('Content-Length', '5')])
    return Parts([b'hel', b'loEXTRA', b'MORE'])


def too_much_written(e, sr):
    write = sr('200 OK', TEXT + [('Content-Length', '5')])
    write(b'hel')
    try:
        write(b'loEXTRA')
    except OSError as error:
        print('write refused:', error)
    return []


def exc_info(e, sr):
    sr('200 OK', [('X-Old', '1')], None)
    try:
        raise KeyError('boom')
    except KeyError:
        sr('503 Busy', [('X-New', '1'), ('Content-Length', '2')],
           sys.exc_info())
    return [b'no']


def exc_info_late(e, sr):
    sr('200 OK', TEXT)
    yield b'first'
    try:
        raise KeyError('boom')
    except KeyError:
        sr('500 X', [('Content-Length', '0')], sys.exc_info())
    yield b'unreachable'


def twice(e, sr):
    sr('200 OK', TEXT)
    sr('200 OK', TEXT)
    return []


def keywords(e, sr):
    write = sr(status='200 OK', headers=list(TEXT), exc_info=None)
    write(b'named')
    return []


STARTS = {
    'status-bytes': (b'200 OK', []),
    'status-int': (200, []),
    'status-short': ('20', []),
    'status-words': ('OK 200', []),
    'status-glued': ('200OK', []),
    'status-newline': ('200 OK\r\nX-Evil: 1', []),
    'status-100': ('100 Continue', []),
    'status-600': ('600 What', []),
    'status-euro': ('200 \u20ac', []),
    'headers-tuple': ('200 OK', (('A', 'b'),)),
    'headers-none': ('200 OK', None),
    'headers-dict': ('200 OK', {'A': 'b'}),
    'header-list': ('200 OK', [('A', 'b'), ['X-Pair', 'b']]),
    'header-triple': ('200 OK', [('X-Three', 'b', 'c')]),
    'name-bytes': ('200 OK', [(b'X-Bytes', 'b')]),
    'value-int': ('200 OK', [('X-Int', 1)]),
    'value-none': ('200 OK', [('X-None', None)]),
    'value-euro': ('200 OK', [('X-Euro', '\u20ac')]),
    'name-blank': ('200 OK', [('X Blank', 'b')]),
    'name-colon': ('200 OK', [('X-Colon:', 'b')]),
    'name-empty': ('200 OK', [('', 'b')]),
    'connection': ('200 OK', [('connection', 'close')]),
    'transfer-encoding': ('200 OK', [('Transfer-Encoding', 'chunked')]),
    'upgrade': ('200 OK', [('Upgrade', 'x')]),
    'keep-alive': ('200 OK', [('Keep-Alive', 'timeout=1')]),
    'length-word': ('200 OK', [('Content-Length', 'many')]),
    'length-minus': ('200 OK', [('Content-Length', '-1')]),
    'length-twice': ('200 OK', [('Content-Length', '2'),
                                ('Content-Length', '3')]),
    'crlf': ('200 OK', [('X-T', 'a\r\nX-Evil: 1')]),
    'lf': ('200 OK', [('X-T', 'a\nX-Evil: 1')]),
    'cr': ('200 OK', [('X-T', 'a\rX-Evil: 1')]),
    'nul': ('200 OK', [('X-T', 'a\x00b')]),
    'split': ('200 OK', [('X-T', 'a\r\n\r\nHTTP/1.1 200 OK')]),
    'exc-info': ('200 OK', [], 'no tuple'),
}


def starts(e, sr):
    """start_response with what it must refuse; /caught goes on after it."""
    case = e['QUERY_STRING']
    if e['PATH_INFO'] != '/caught':
        sr(*STARTS[case])
        return [b'body']
    try:
        sr(*STARTS[case])
    except (TypeError, ValueError, AssertionError) as error:
        return say(sr, '%s: %s' % (type(error).__name__, error))
    return [b'accepted']


def status(e, sr):
    sr(e['QUERY_STRING'].replace('+', ' '), TEXT)
    return [b'x']


def own_fields(e, sr):
    sr('200 OK', [('date', 'Tue, 01 Jan 2030 00:00:00 GMT'),
                  ('SERVER', 'mine'), ('content-LENGTH', '2'),
                  ('X-Latin', 'caf\xe9'), ('X-Tab', 'a\tb'),
                  ('Set-Cookie', 'a=1'), ('Set-Cookie', 'b=2')])
    return [b'ok']


def nothing(e, sr):
    return []


def silent_body(e, sr):
    return [b'body']


def boom(e, sr):
    raise ZeroDivisionError('secret')


def quits(e, sr):
    sys.exit(3)


def interrupted(e, sr):
    raise KeyboardInterrupt


def not_iterable(e, sr):
    sr('200 OK', TEXT)
    return None


# ---- iterables ----

class Parts:
    """An iterable whose close() is counted; None in it raises."""
    closed = 0

    def __init__(self, parts):
        self.parts = iter(parts)

    def __iter__(self):
        return self

    def __next__(self):
        p = next(self.parts)
        if p is None:
            raise RuntimeError('mid')
        return p

    def close(self):
        Parts.closed += 1


class Outer:
    """close() belongs to the object returned, not to its iterator."""

    def __iter__(self):
        return iter([b'outer'])

    def close(self):
        Parts.closed += 1


class BadClose(Parts):
    def close(self):
        raise ValueError('close failed')


def closing(e, sr):
    if e['PATH_INFO'] == '/count':
        return say(sr, Parts.closed)
    sr('200 OK', TEXT)
    return {
        '/ok': lambda: Parts([b'a']), '/err': lambda: Parts([b'a', None]),
        '/early': lambda: Parts([None]), '/none': lambda: Parts([]),
        '/big': lambda: Parts([b'x' * 65536] * 400),
        '/outer': Outer, '/bad': lambda: BadClose([b'good']),
        '/str': lambda: Parts([b'a', 'text']),
    }[e['PATH_INFO']]()


def items(e, sr):
    sr('200 OK', TEXT)
    kinds = {
        '/list': lambda p: p, '/tuple': tuple, '/iter': iter,
        '/generator': lambda p: (x for x in p), '/set': dict.fromkeys,
        '/map': lambda p: map(bytes, p), '/outer': lambda p: Outer(),
    }
    parts = [p.encode() for p in e['QUERY_STRING'].split(',')]
    return kinds[e['PATH_INFO']](parts)


def one(e, sr):
    """One item of the size in the query."""
    sr('200 OK', TEXT)
    return [b'x' * int(e['QUERY_STRING'])]


def strings(e, sr):
    sr('200 OK', TEXT)
    return {'/str': ['text'], '/mixed': [b'a', 'text'], '/bytearray':
            [bytearray(b'a')], '/int': [1], '/text': 'text'}[e['PATH_INFO']]


def writes(e, sr):
    write = sr('200 OK', TEXT)
    write(b'one ')
    write(b'')
    write(b'two ')
    return [b'three']


def half(e, sr):
    sr('200 OK', TEXT)
    yield b'half'
    raise RuntimeError('rest is missing')


def ticks(e, sr):
    """Blocks a moment apart; the query has how many and the pause."""
    n, pause = e['QUERY_STRING'].split(',')
    length = e.get('HTTP_X_LENGTH')
    sr('200 OK', [('Content-Type', 'text/event-stream')] + (
        [('Content-Length', length)] if length else []))
    for i in range(int(n)):
        yield b'data: %d %.6f\n\n' % (i, time.time())
        time.sleep(float(pause))


def big(e, sr):
    """Items of `size`, `count` of them: /bytes as they are, /same one."""
    count, size = map(int, e['QUERY_STRING'].split(','))
    sr('200 OK', TEXT)
    for i in range(count):
        yield bytes([65 + i % 26]) * size


# ---- files ----

class OnlyRead:
    def __init__(self):
        self.left = [b'in ', b'memory', b'']

    def read(self, n=-1):
        return self.left.pop(0)


def disk_file(data=b'0123456789'):
    f = tempfile.NamedTemporaryFile(delete=False)
    f.write(data)
    f.close()
    opened = open(f.name, 'rb')
    os.unlink(f.name)
    return opened


def files(e, sr):
    wrap, path = e['wsgi.file_wrapper'], e['PATH_INFO']
    headers = list(TEXT)
    if e['QUERY_STRING']:
        headers.append(('Content-Length', e['QUERY_STRING']))
    sr('200 OK', headers)
    if path == '/seek':
        f = tempfile.TemporaryFile()
        f.write(b'0123456789')
        f.seek(5)
        return wrap(f, 3)
    if path == '/dirty':
        f = tempfile.TemporaryFile()
        f.write(b'01234')
        f.seek(1)
        f.write(b'x')
        return wrap(f)
    if path == '/buffered':
        f = disk_file()
        f.read(2)
        return wrap(f)
    if path == '/named':
        f = tempfile.NamedTemporaryFile()
        f.write(b'named')
        f.flush()
        f.seek(1)
        return wrap(f)
    if path == '/raw':
        f = disk_file()
        return wrap(io.FileIO(os.dup(f.fileno())))
    if path == '/gzip':
        import gzip
        f = io.BytesIO()
        with gzip.GzipFile(fileobj=f, mode='wb') as z:
            z.write(b'unpacked')
        return wrap(gzip.GzipFile(fileobj=disk_file(f.getvalue())))
    if path == '/pipe':
        r, w = os.pipe()
        os.write(w, b'through a pipe')
        os.close(w)
        return wrap(open(r, 'rb'))
    if path == '/bytesio':
        return wrap(io.BytesIO(b'in memory'))
    if path == '/only-read':
        return wrap(OnlyRead(), 4096)
    if path == '/iterated':
        return iter(wrap(io.BytesIO(b'in memory'), 4))
    if path == '/text':
        return wrap(io.StringIO('text'))
    if path == '/large':
        f = tempfile.TemporaryFile()
        f.truncate(1 << 24)
        return wrap(f)
    raise AssertionError(path)


def wrapper_attributes(e, sr):
    f = io.BytesIO(b'abcdef')
    w = e['wsgi.file_wrapper'](f, 4)
    o = e['wsgi.file_wrapper'](OnlyRead())
    return say(sr, repr((list(w), w.filelike is f, hasattr(w, 'close'),
                         hasattr(o, 'close'), w.close() or f.closed)))


# ---- wsgi.input ----

CALLS = [
    'read()', 'read(-1)', 'read(None)', 'read(10**9)', 'read(0)',
    'readline()', 'readline(2)', 'readline(-1)', 'readlines()',
    'readlines(1)', '__iter__().__next__()', 'readline(None)',
    'readline(0)', 'readlines(None)', 'read(10**30)', 'read(3)']


def calls(e, sr):
    i = e['wsgi.input']
    r = repr(eval('i.' + CALLS[int(e['PATH_INFO'][1:])]))
    r += ' then ' + repr(i.read()) + repr(i.read(5)) + repr(i.readline())
    return say(sr, r)


def bad_calls(e, sr):
    out = []
    for call in ("read('1')", 'read(1.5)', 'read(1, 2)', "readline('x')",
                 'readlines(1, 2)', 'readinto(b"x")', 'readinto(1)'):
        try:
            out.append(repr(eval('e["wsgi.input"].' + call)))
        except (TypeError, BufferError):
            out.append('refused')
    return say(sr, ' '.join(out))


def mixed(e, sr):
    """All ways of reading, in turn; the parts are joined again."""
    i, out, n = e['wsgi.input'], [], 0
    buffer = bytearray(7)
    while True:
        n += 1
        if n % 4 == 0:
            got = i.readline(50)
        elif n % 4 == 1:
            got = i.read(100)
        elif n % 4 == 2:
            got = bytes(buffer[:i.readinto(buffer)])
        else:
            got = next(i, b'')
        if not got:
            break
        out.append(got)
    return say(sr, b''.join(out) + i.read())


def lines(e, sr):
    return say(sr, repr(list(e['wsgi.input'])))


def measure(e, sr):
    """Read the body as the path says; bytes, pieces, seconds of CPU."""
    i, path = e['wsgi.input'], e['PATH_INFO']
    began, total, pieces = time.process_time(), 0, 0
    if path == '/read':
        total, pieces = len(i.read()), 1
    elif path == '/blocks':
        for block in iter(lambda: i.read(65536), b''):
            total, pieces = total + len(block), pieces + 1
    elif path == '/small':
        for block in iter(lambda: i.read(1024), b''):
            total, pieces = total + len(block), pieces + 1
    elif path == '/readline':
        for line in iter(lambda: i.readline(65536), b''):
            total, pieces = total + len(line), pieces + 1
    else:
        for line in i:
            total, pieces = total + len(line), pieces + 1
    with open('/proc/self/status') as f:
        peak = [int(x.split()[1]) for x in f if x.startswith('VmHWM')][0]
    return say(sr, json.dumps([total, pieces, time.process_time() - began,
                               peak]))


def catches(e, sr):
    """Says in the error log which exception a body that breaks off raises."""
    import narwhal
    try:
        n = len(e['wsgi.input'].read() if e['PATH_INFO'] == '/read' else
                b''.join(e['wsgi.input']))
    except OSError as error:
        kind = type(error)
        print('caught %s %s errno=%d client=%s: %s' % (
            kind.__module__, kind.__name__, error.errno,
            isinstance(error, narwhal.ClientError), error))
        try:
            e['wsgi.input'].read(1)
        except OSError as again:
            print('again', type(again).__name__)
        return say(sr, 'caught')
    return say(sr, n)


def uncaught(e, sr):
    return say(sr, len(e['wsgi.input'].read()))


def threaded_read(e, sr):
    """Another thread of the application reads, this one waits for it."""
    got = []
    t = threading.Thread(target=lambda: got.append(e['wsgi.input'].read()))
    t.start()
    t.join()
    return say(sr, got[0])


def torn_read(e, sr):
    """Two threads at once; a line belongs to one of them."""
    got = []

    def work():
        for line in iter(e['wsgi.input'].readline, b''):
            got.append(line)
    threads = [threading.Thread(target=work) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return say(sr, b''.join(sorted(got)))


def event_loop(e, sr):
    """An event loop of the request's own, which reads in its executor."""
    import asyncio

    async def work():
        loop = asyncio.get_running_loop()
        body = await loop.run_in_executor(None, e['wsgi.input'].read)
        await asyncio.sleep(0.01)
        return body
    return say(sr, asyncio.run(work()))


# ---- threads ----

counter = []


def count_for_ever():
    while True:
        counter.append(1)
        time.sleep(0.05)


def background(e, sr):
    if not counter:
        threading.Thread(target=count_for_ever, daemon=True).start()
    if e['PATH_INFO'] == '/read':
        e['wsgi.input'].read()
    if e['PATH_INFO'] == '/slow':
        sr('200 OK', TEXT)
        return [b'x' * 65536] * 512
    return say(sr, len(counter))


# ---- errors ----

def errors(e, sr):
    w = e['wsgi.errors']
    w.write('one line\n')
    w.writelines(['two\n', 'three \u20ac\n'])
    w.flush()
    print('out line')
    print('err line', file=sys.stderr)
    print('lone \udc80 surrogate \U0001f433')
    sys.stdout.buffer.write(b'bytes\n')
    sys.stdout.flush()
    w.close()
    print('after close', w.fileno() == sys.stderr.fileno(), w.isatty())
    import logging
    logging.getLogger('x').warning('a warning')
    if e['PATH_INFO'] == '/die':
        os.kill(os.getpid(), 9)
    sr('200 OK', [('Content-Length', '0')])
    return []


# ---- hints and trailers ----

def hints(e, sr):
    send = e['wsgi.early_hints']
    send([('Link', '</a.css>; rel=preload')])
    send([('Link', '</b.js>; rel=preload'), ('X-More', '1')])
    for bad in ([('Link', 'a\r\nb')], [('Link', 1)], ['Link'], 5):
        try:
            send(bad)
        except (TypeError, ValueError) as error:
            print('hint refused', type(error).__name__)
    write = sr('200 OK', TEXT)
    write(b'x')
    send([('Link', 'too late')])
    return []


def trailers(e, sr):
    """The body back, and its trailers."""
    early = e['narwhal.trailers']()
    body = e['wsgi.input'].read()
    sr('200 OK', TEXT + [('X-Early', repr(early))])
    for name, value in e['narwhal.trailers']():
        e['narwhal.add_trailer'](name, value)
    for bad in (('a b', 'c'), ('a', 'b\nc'), ('Content-Length', '1'),
                ('\u20ac', '')):
        try:
            e['narwhal.add_trailer'](*bad)
        except ValueError:
            print('trailer refused')
    return [body]


def app(e, sr):
    return globals()[e.get('HTTP_X_APP', 'echo')](e, sr)


def checked(e, sr):
    return validator(globals()[e.get('HTTP_X_APP', 'echo')])(e, sr)
