"""What an application finds round itself: the interpreter, processes, exits."""
import atexit
import json
import os
import random
import signal
import sys
import threading
import time

first_random = random.random()


class Made:
    """embed:Made.factory(1, 'x', k=[2]) and embed:made.app name these."""

    def __init__(self, *args, **kwargs):
        self.says = repr((args, kwargs))

    factory = classmethod(lambda cls, *args, **kw: cls(*args, **kw))

    def app(self, e, sr):
        return say(sr, self.says)

    __call__ = app


made = Made('ready')
not_callable = 5


def say(sr, text):
    out = str(text).encode()
    sr('200 OK', [('Content-Type', 'text/plain'),
                  ('Content-Length', str(len(out)))])
    return [out]


def system(e, sr):
    """sys and os as JSON."""
    return say(sr, json.dumps({
        'executable': sys.executable, 'argv': sys.argv, 'path': sys.path,
        'prefix': sys.prefix, 'base_prefix': sys.base_prefix,
        'version': list(sys.version_info[:3]), 'cwd': os.getcwd(),
        'pid': os.getpid(), 'random': first_random,
        'environ': dict(os.environ), 'threads': threading.active_count(),
        'main': threading.current_thread() is threading.main_thread(),
        'encoding': [sys.stdout.encoding, sys.getfilesystemencoding()],
        'handlers': [repr(signal.getsignal(s)) for s in (
            signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)],
    }))


def children(e, sr):
    """E05 and E08"""
    import multiprocessing as mp
    import subprocess
    what = e['PATH_INFO']
    if what == '/run':
        out = subprocess.run([sys.executable, '-c', 'print(6*7)'],
                             capture_output=True, timeout=30).stdout.decode()
    elif what == '/spawn':
        with mp.get_context('spawn').Pool(1) as p:
            out = p.map(abs, [-1])
    elif what == '/status':
        a = subprocess.run(['sh', '-c', 'exit 7']).returncode
        b = os.waitstatus_to_exitcode(os.system('exit 9'))
        p = mp.get_context('fork').Process(target=os._exit, args=(5,))
        p.start()
        p.join()
        out = (a, b, p.exitcode)
    elif what == '/fork':
        with mp.get_context('fork').Pool(2) as p:
            out = sorted(p.map(abs, [-1, -2, -3]))
    elif what == '/print':
        p = mp.get_context('fork').Process(
            target=print, args=('from the child',), kwargs={'flush': True})
        p.start()
        p.join()
        subprocess.run(['sh', '-c', 'echo from the shell; '
                        'echo and its errors >&2'])
        out = p.exitcode
    else:
        out = subprocess.run(['cat', '/proc/self/status'],
                             capture_output=True).stdout.decode()
    return say(sr, out)


def modules(e, sr):
    """Extension modules, each of another kind."""
    import ctypes
    import decimal
    import sqlite3
    import ssl
    import zlib
    db = sqlite3.connect(':memory:')
    return say(sr, json.dumps([
        db.execute('select 6*7').fetchone()[0],
        ctypes.CDLL(None).abs(-42),
        ctypes.pythonapi.Py_IsInitialized(),
        str(decimal.Decimal(1) / 3)[:4], zlib.crc32(b'x'),
        bool(ssl.OPENSSL_VERSION)]))


def numbers(e, sr):
    import numpy
    a = numpy.arange(1000, dtype=float)
    return say(sr, '%.1f %d' % (a.dot(a), os.getpid()))


def only_here(e, sr):
    import only_in_this_environment
    return say(sr, json.dumps([only_in_this_environment.__file__, sys.prefix,
                               sys.executable]))


# ---- exits ----

def exiting(e, sr):
    """Registers what must run when the worker ends; `where` is a file."""
    where = e['narwhal.options']['where']

    def note(text):
        with open(where, 'a') as f:
            f.write('%s %d\n' % (text, os.getpid()))

    def fails():
        raise ValueError('atexit fails')

    def work():
        time.sleep(0.3)
        note('thread')

    def stuck():
        while True:
            time.sleep(0.01)
    atexit.register(note, 'atexit')
    if '/fails' in e['PATH_INFO']:
        atexit.register(fails)
    if '/thread' in e['PATH_INFO']:
        threading.Thread(target=work).start()
    if '/daemon' in e['PATH_INFO']:
        threading.Thread(target=stuck, daemon=True).start()
    if '/stuck' in e['PATH_INFO']:
        threading.Thread(target=stuck).start()
    return say(sr, os.getpid())


def hang(e, sr):
    """Never answers; another thread waits beside it."""
    def waits_too():
        threading.Event().wait()
    threading.Thread(target=waits_too, daemon=True).start()
    if e['PATH_INFO'] == '/busy':
        while True:
            pass
    stuck_here()


def stuck_here():
    time.sleep(1000)


# ---- signals ----

got = []


def signals(e, sr):
    if e['PATH_INFO'] == '/install':
        signal.signal(signal.SIGUSR2, lambda *a: got.append(time.time()))
    if e['PATH_INFO'] == '/alarm':
        signal.signal(signal.SIGALRM, lambda *a: got.append(1))
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        before, end = len(got), time.monotonic() + 5
        while len(got) == before and time.monotonic() < end:
            time.sleep(0.01)
    return say(sr, json.dumps([os.getpid(), len(got)]))


def app(e, sr):
    return globals()[e.get('HTTP_X_APP', 'system')](e, sr)


application = app
